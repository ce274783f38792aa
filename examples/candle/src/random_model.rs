//! A LLaMA with random weights, written as GGUF into memory: the example runs without any file.

use std::io::Cursor;

use candle_core::quantized::gguf_file::{self, Value};
use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{Device, Result, Tensor};

const VOCABULARY: usize = 512;
const WIDTH: usize = 64;
const HEADS: u32 = 8;
const KV_HEADS: u32 = 4;
const KV_WIDTH: usize = WIDTH * KV_HEADS as usize / HEADS as usize;
const FFN_WIDTH: usize = 192;
const LAYERS: u32 = 5;

/// The bytes of the file.
pub fn gguf() -> Result<Vec<u8>> {
    let metadata = metadata();
    let metadata: Vec<_> = metadata.iter().map(|(key, value)| (*key, value)).collect();
    let tensors = tensors()?;
    let tensors: Vec<_> = tensors.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();

    let mut file = Cursor::new(Vec::new());
    gguf_file::write(&mut file, &metadata, &tensors)?;
    Ok(file.into_inner())
}

fn metadata() -> Vec<(&'static str, Value)> {
    vec![
        ("general.architecture", Value::String("llama".to_owned())),
        ("llama.context_length", Value::U32(256)),
        ("llama.block_count", Value::U32(LAYERS)),
        ("llama.embedding_length", Value::U32(WIDTH as u32)),
        ("llama.attention.head_count", Value::U32(HEADS)),
        ("llama.attention.head_count_kv", Value::U32(KV_HEADS)),
        ("llama.rope.dimension_count", Value::U32(WIDTH as u32 / HEADS)),
        ("llama.attention.layer_norm_rms_epsilon", Value::F32(1e-5)),
    ]
}

fn tensors() -> Result<Vec<(String, QTensor)>> {
    let mut tensors = vec![
        ("token_embd.weight".to_owned(), matrix(VOCABULARY, WIDTH)?),
        ("output_norm.weight".to_owned(), ones(WIDTH)?),
    ];
    for layer in 0..LAYERS {
        let mut add = |name, tensor| tensors.push((format!("blk.{layer}.{name}.weight"), tensor));
        add("attn_norm", ones(WIDTH)?);
        add("attn_q", matrix(WIDTH, WIDTH)?);
        add("attn_k", matrix(KV_WIDTH, WIDTH)?);
        add("attn_v", matrix(KV_WIDTH, WIDTH)?);
        add("attn_output", matrix(WIDTH, WIDTH)?);
        add("ffn_norm", ones(WIDTH)?);
        add("ffn_gate", matrix(FFN_WIDTH, WIDTH)?);
        add("ffn_up", matrix(FFN_WIDTH, WIDTH)?);
        add("ffn_down", matrix(WIDTH, FFN_WIDTH)?);
    }
    Ok(tensors)
}

fn matrix(rows: usize, columns: usize) -> Result<QTensor> {
    let deviation = 1.0 / (columns as f32).sqrt();
    let weights = Tensor::randn(0f32, deviation, (rows, columns), &Device::Cpu)?;
    QTensor::quantize(&weights, GgmlDType::Q8_0)
}

fn ones(width: usize) -> Result<QTensor> {
    let weights = Tensor::ones(width, candle_core::DType::F32, &Device::Cpu)?;
    QTensor::quantize(&weights, GgmlDType::F32)
}
