//! Small files with a little of everything.

use engine::gguf::Writer;
use engine::{Array, Metadata, TensorInfo, Value};
use kernels::quant::Format;
use serde_json::{Value as Json, json};

/// Every type of value and every format of weights.
pub fn gguf() -> Vec<u8> {
    let texts = ["a", "", "日本"].map(str::to_owned).to_vec();
    let values = [
        ("general.alignment", Value::Unsigned(8)),
        ("u64", Value::Unsigned(1 << 40)),
        ("i32", Value::Signed(-7)),
        ("f64", Value::Float(0.1)),
        ("f32", Value::Float(0.5)),
        ("bool", Value::Bool(true)),
        ("text", Value::Text("words".to_owned())),
        ("u32s", Value::Array(Array::Unsigned(vec![1, 2, 3]))),
        ("f32s", Value::Array(Array::Float(vec![1.0, 2.0]))),
        ("bools", Value::Array(Array::Bool(vec![true, false]))),
        ("texts", Value::Array(Array::Text(texts))),
    ];
    let metadata = values.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    let info = |format: &Format| TensorInfo {
        name: format.name().to_owned(),
        format: *format,
        shape: vec![format.block_len(), 2],
    };
    write(&metadata, Format::ALL.iter().map(info).collect())
}

fn write(metadata: &Metadata, infos: Vec<TensorInfo>) -> Vec<u8> {
    let path =
        std::env::temp_dir().join(format!("hotloop-hostile-{}-{:?}", std::process::id(), std::thread::current().id()));
    let sizes: Vec<usize> = infos.iter().map(|info| info.bytes().unwrap()).collect();
    let mut writer = Writer::create(&path, true, metadata, infos).unwrap();
    for size in sizes {
        writer.write(&vec![0x11; size]).unwrap();
    }
    writer.finish().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    bytes
}

/// The smallest model of each version: dimension 2, hidden 1, 2 layers, 1 head, 3 tokens, 2 positions.
pub fn llama2c(version: i32) -> Vec<u8> {
    let sizes = [2, 1, 2, 1, 1, if version == 0 { -3 } else { 3 }, 2];
    let header = if version == 0 { sizes.to_vec() } else { [&[0x616b_3432, version], sizes.as_slice()].concat() };
    let mut bytes: Vec<u8> = header.iter().flat_map(|field: &i32| field.to_le_bytes()).collect();
    if version > 0 {
        bytes.push(0);
        bytes.extend(2i32.to_le_bytes());
        bytes.resize(256, 0);
    }
    let (norms, matrices) = (2 * (2 + 2) + 2, 2 * (4 * 4 + 3 * 2) + 2 * 6);
    let weights = match version {
        0 => 4 * (norms + matrices + 2 * 2),
        1 => 4 * (norms + matrices),
        _ => 4 * norms + matrices + 4 * matrices / 2,
    };
    bytes.extend((0..weights).map(|i| (i % 60) as u8));
    bytes
}

/// A LLaMA of two layers.
pub fn config() -> Vec<u8> {
    let config = json!({
        "model_type": "llama", "hidden_size": 4, "intermediate_size": 3, "num_hidden_layers": 2,
        "num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 8, "vocab_size": 5,
        "rms_norm_eps": 1e-5, "hidden_act": "silu", "tie_word_embeddings": false, "bos_token_id": 1, "eos_token_id": [2],
        "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8},
    });
    config.to_string().into_bytes()
}

pub fn tokenizer() -> Vec<u8> {
    let tokenizer = json!({
        "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b", ["b", "a"]]},
        "pre_tokenizer": {"type": "ByteLevel"},
        "added_tokens": [{"id": 3, "content": "<s>", "special": true}],
        "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>"}}]},
        "bos_token": {"content": "<s>"}, "chat_template": "x",
    });
    tokenizer.to_string().into_bytes()
}

pub fn safetensors() -> Vec<u8> {
    weights(&[
        ("model.embed_tokens.weight", "BF16", &[5, 4]),
        ("model.layers.0.self_attn.q_proj.weight", "F16", &[4, 4]),
        ("model.layers.1.mlp.down_proj.weight", "F32", &[4, 3]),
        ("model.norm.weight", "F32", &[4]),
        ("lm_head.weight", "BF16", &[5, 4]),
    ])
}

fn weights(parts: &[(&str, &str, &[usize])]) -> Vec<u8> {
    let (mut header, mut end) = (serde_json::Map::new(), 0);
    for (name, dtype, shape) in parts {
        let start = end;
        end += shape.iter().product::<usize>() * if *dtype == "F32" { 4 } else { 2 };
        header.insert((*name).to_owned(), json!({"dtype": dtype, "shape": shape, "data_offsets": [start, end]}));
    }
    let header = Json::Object(header).to_string();
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &vec![0; end]].concat()
}

/// The beginning of a GGUF file.
fn header(tensors: usize, keys: usize) -> Vec<u8> {
    let mut bytes = b"GGUF\x03\0\0\0".to_vec();
    bytes.extend((tensors as u64).to_le_bytes());
    bytes.extend((keys as u64).to_le_bytes());
    bytes
}

fn text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend((text.len() as u64).to_le_bytes());
    bytes.extend(text.as_bytes());
}

pub fn many_tensors(count: usize) -> Vec<u8> {
    let mut bytes = header(count, 0);
    for number in 0..count {
        text(&mut bytes, &number.to_string());
        bytes.extend(1u32.to_le_bytes());
        bytes.extend(1u64.to_le_bytes());
        bytes.extend(0u32.to_le_bytes());
        bytes.extend((number as u64 * 32).to_le_bytes());
    }
    // The data are missing: all of the list is read before that is found.
    bytes
}

pub fn many_keys(count: usize) -> Vec<u8> {
    let mut bytes = header(0, count);
    for number in 0..count {
        text(&mut bytes, &number.to_string());
        bytes.extend([0, 0, 0, 0, 1]);
    }
    bytes
}

/// An array of the type of this number.
fn array(kind: u32, count: usize) -> Vec<u8> {
    let mut bytes = header(0, 1);
    text(&mut bytes, "list");
    bytes.extend(9u32.to_le_bytes());
    bytes.extend(kind.to_le_bytes());
    bytes.extend((count as u64).to_le_bytes());
    bytes
}

pub fn many_texts(count: usize) -> Vec<u8> {
    let mut bytes = array(8, count);
    bytes.resize(bytes.len() + 8 * count, 0);
    bytes
}

pub fn many_bytes(count: usize) -> Vec<u8> {
    let mut bytes = array(0, count);
    bytes.resize(bytes.len() + count, 1);
    bytes
}

pub fn many_layers(layers: i32) -> Vec<u8> {
    let mut bytes: Vec<u8> = [2, 1, layers, 1, 1, 1, 1].iter().flat_map(|field: &i32| field.to_le_bytes()).collect();
    let floats = layers as usize * (2 + 2 + 4 * 4 + 3 * 2) + 2 + 2 + 2;
    bytes.resize(bytes.len() + 4 * floats, 0);
    bytes
}

pub fn narrow_embedding(rows: usize) -> Vec<u8> {
    weights(&[("model.embed_tokens.weight", "BF16", &[rows, 1])])
}
