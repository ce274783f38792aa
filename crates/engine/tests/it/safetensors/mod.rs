//! Models of Hugging Face.

mod damaged;
mod tokens;

use std::path::PathBuf;

use engine::safetensors::{Model, SideFiles};
use engine::{ErrorKind, QuantiseOptions, TensorSource, gguf, open, quantise};
use kernels::Pool;
use kernels::quant::{Format, f32_to_bf16};
use serde_json::{Value as Json, json};

use crate::folder::{Folder, shared};
use crate::memory::{waves, weights};

/// A tensor of a file: name, type, lengths as PyTorch has them, bytes.
pub type Part = (String, &'static str, Vec<usize>, Vec<u8>);

/// The bytes of a file with these tensors.
pub fn file(parts: &[Part]) -> Vec<u8> {
    let (mut header, mut data) = (serde_json::Map::new(), Vec::new());
    header.insert("__metadata__".to_owned(), json!({"format": "pt"}));
    for (name, dtype, shape, bytes) in parts {
        let offsets = [data.len(), data.len() + bytes.len()];
        header.insert(name.clone(), json!({"dtype": dtype, "shape": shape, "data_offsets": offsets}));
        data.extend(bytes);
    }
    raw(&Json::Object(header).to_string(), &data)
}

/// The bytes of a file with this header.
pub fn raw(header: &str, data: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), data].concat()
}

pub fn f32s(name: &str, shape: &[usize], values: &[f32]) -> Part {
    (name.to_owned(), "F32", shape.to_vec(), values.iter().flat_map(|value| value.to_le_bytes()).collect())
}

fn bf16s(name: &str, shape: &[usize]) -> Part {
    let values = waves(shape.iter().product(), name.len() as f32);
    let bytes = values.iter().flat_map(|value| f32_to_bf16(*value).to_le_bytes()).collect();
    (name.to_owned(), "BF16", shape.to_vec(), bytes)
}

/// The configuration of a LLaMA of one layer.
pub fn llama() -> Json {
    json!({
        "model_type": "llama", "hidden_size": 8, "intermediate_size": 12, "num_hidden_layers": 1,
        "num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 64, "vocab_size": 6,
        "rms_norm_eps": 1e-5, "rope_theta": 5e5, "hidden_act": "silu", "tie_word_embeddings": true,
        "bos_token_id": 1, "eos_token_id": [2, 3],
    })
}

/// Its tensors.
pub fn llama_parts() -> Vec<Part> {
    vec![
        bf16s("model.embed_tokens.weight", &[6, 8]),
        bf16s("model.layers.0.input_layernorm.weight", &[8]),
        bf16s("model.layers.0.self_attn.q_proj.weight", &[8, 8]),
        bf16s("model.layers.0.self_attn.q_proj.bias", &[8]),
        bf16s("model.layers.0.self_attn.k_proj.weight", &[4, 8]),
        bf16s("model.layers.0.self_attn.v_proj.weight", &[4, 8]),
        bf16s("model.layers.0.self_attn.o_proj.weight", &[8, 8]),
        bf16s("model.layers.0.self_attn.rotary_emb.inv_freq", &[2]),
        bf16s("model.layers.0.post_attention_layernorm.weight", &[8]),
        bf16s("model.layers.0.mlp.gate_proj.weight", &[12, 8]),
        bf16s("model.layers.0.mlp.up_proj.weight", &[12, 8]),
        bf16s("model.layers.0.mlp.down_proj.weight", &[8, 12]),
        bf16s("model.norm.weight", &[8]),
        bf16s("lm_head.weight", &[6, 8]),
    ]
}

pub fn beside(config: &Json) -> SideFiles {
    SideFiles { config: config.to_string().into_bytes(), ..SideFiles::default() }
}

#[test]
fn a_llama_is_told_in_the_words_of_gguf() {
    let model = Model::from_bytes(file(&llama_parts()), &beside(&llama())).unwrap();
    let metadata = model.metadata();
    assert_eq!(metadata.text("general.architecture"), Ok(Some("llama")));
    assert_eq!(metadata.text("hotloop.rope.pairing"), Ok(Some("halves")));
    for (key, value) in [
        ("context_length", 64.0),
        ("embedding_length", 8.0),
        ("block_count", 1.0),
        ("feed_forward_length", 12.0),
        ("attention.head_count", 2.0),
        ("attention.head_count_kv", 1.0),
        ("rope.dimension_count", 4.0),
        ("rope.freq_base", 5e5),
        ("attention.layer_norm_rms_epsilon", f64::from(1e-5f32)),
    ] {
        assert_eq!(metadata.number(&format!("llama.{key}")), Ok(Some(value)), "{key}");
    }
    for (theirs, dtype, shape, bytes) in llama_parts() {
        let ours = match theirs.as_str() {
            "model.embed_tokens.weight" => "token_embd.weight",
            "model.layers.0.self_attn.q_proj.bias" => "blk.0.attn_q.bias",
            "model.layers.0.self_attn.o_proj.weight" => "blk.0.attn_output.weight",
            "model.layers.0.mlp.down_proj.weight" => "blk.0.ffn_down.weight",
            "model.norm.weight" => "output_norm.weight",
            _ => continue,
        };
        let tensor = model.tensor(ours).unwrap().unwrap();
        assert_eq!((tensor.format.gguf_name(), &tensor.data[..]), (dtype, bytes.as_slice()), "{theirs}");
        assert_eq!(tensor.shape, shape.into_iter().rev().collect::<Vec<_>>());
    }
    // The output is the embedding, and the frequencies are computed.
    assert_eq!(model.names().len(), llama_parts().len() - 2);
}

#[test]
fn models_are_found_by_folder_file_and_list() {
    let folder = Folder::new();
    folder.write("config.json", llama().to_string());
    let parts = llama_parts();
    let whole = folder.write("model.safetensors", file(&parts));
    let names = open(&whole).unwrap().names().len();
    assert_eq!(open(&folder.path("")).unwrap().names().len(), names);

    std::fs::remove_file(&whole).unwrap();
    let first = folder.write("model-00001-of-00002.safetensors", file(&parts[..5]));
    folder.write("model-00002-of-00002.safetensors", file(&parts[5..]));
    let map: serde_json::Map<String, Json> = (0..)
        .zip(&parts)
        .map(|(i, part)| (part.0.clone(), json!(format!("model-0000{}-of-00002.safetensors", 1 + usize::from(i >= 5)))))
        .collect();
    let list = folder.write("model.safetensors.index.json", json!({"metadata": {}, "weight_map": map}).to_string());
    for path in [first.clone(), list.clone(), folder.path("")] {
        let model = open(&path).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(model.names().len(), names);
        assert_eq!(model.file(), Some(path.as_path()));
        model.names().iter().for_each(|name| model.release(name));
    }
    let refused = |path: &PathBuf, kind: ErrorKind, part: &str| {
        let error = open(path).err().unwrap();
        assert!(error.kind() == kind && error.to_string().contains(part), "{error}");
    };
    std::fs::remove_file(folder.path("model-00002-of-00002.safetensors")).unwrap();
    refused(&list, ErrorKind::Io, "model-00002-of-00002.safetensors: ");
    folder.write("model.safetensors.index.json", json!({"weight_map": {"x": "../model"}}).to_string());
    refused(&list, ErrorKind::Malformed, "tensor x: not in any file of this folder");
    std::fs::remove_file(folder.path("config.json")).unwrap();
    refused(&first, ErrorKind::Refused, "no config.json next to it");
}

#[test]
fn gpt2_has_its_matrices_turned() {
    let config = json!({"model_type": "gpt2", "n_embd": 40, "n_head": 2, "n_layer": 1, "n_positions": 16, "layer_norm_epsilon": 1e-5});
    let matrix = waves(40 * 120, 0.5);
    for prefix in ["", "transformer."] {
        let parts = [
            f32s(&format!("{prefix}wte.weight"), &[3, 40], &waves(120, 0.1)),
            f32s(&format!("{prefix}wpe.weight"), &[16, 40], &waves(640, 0.2)),
            f32s(&format!("{prefix}h.0.attn.c_attn.weight"), &[40, 120], &matrix),
            f32s(&format!("{prefix}h.0.attn.c_attn.bias"), &[120], &waves(120, 0.3)),
            f32s(&format!("{prefix}h.0.attn.bias"), &[1, 1, 16, 16], &waves(256, 0.3)),
            f32s(&format!("{prefix}ln_f.bias"), &[40], &waves(40, 0.3)),
        ];
        let model = Model::from_bytes(file(&parts), &beside(&config)).unwrap();
        assert_eq!(model.metadata().text("general.architecture"), Ok(Some("gpt2")));
        assert_eq!(model.metadata().count("gpt2.feed_forward_length"), Ok(Some(160)));
        assert_eq!(model.metadata().get("hotloop.rope.pairing"), None);
        let mut names = model.names();
        names.sort_unstable();
        let expected = [
            "blk.0.attn_qkv.bias",
            "blk.0.attn_qkv.weight",
            "output_norm.bias",
            "position_embd.weight",
            "token_embd.weight",
        ];
        assert_eq!(names, expected);
        let qkv = model.tensor("blk.0.attn_qkv.weight").unwrap().unwrap();
        assert_eq!((qkv.shape.as_slice(), qkv.format), ([40, 120].as_slice(), Format::F32));
        assert_eq!(model.info("blk.0.attn_qkv.weight").unwrap().unwrap().shape, qkv.shape);
        for (i, weight) in weights(&qkv).into_iter().enumerate() {
            let (row, col) = (i / 40, i % 40);
            assert_eq!(weight, matrix[col * 120 + row], "{row} {col}");
        }
    }
}

/// Heads of their own width and norms, and no key that says how values are paired: GGUF files of Qwen3 have halves too.
#[test]
fn qwen3_has_norms_of_heads() {
    let mut config = llama();
    config["model_type"] = json!("qwen3");
    config["head_dim"] = json!(6);
    let name = |part: &str| format!("model.layers.0.self_attn.{part}.weight");
    let parts = [
        bf16s("model.embed_tokens.weight", &[6, 8]),
        bf16s(&name("q_proj"), &[12, 8]),
        bf16s(&name("q_norm"), &[6]),
        bf16s(&name("k_norm"), &[6]),
    ];
    let model = Model::from_bytes(file(&parts), &beside(&config)).unwrap();
    assert_eq!(model.metadata().text("general.architecture"), Ok(Some("qwen3")));
    assert_eq!(model.metadata().count("qwen3.attention.key_length"), Ok(Some(6)));
    assert_eq!(model.metadata().get("hotloop.rope.pairing"), None);
    let names =
        ["token_embd", "blk.0.attn_q", "blk.0.attn_q_norm", "blk.0.attn_k_norm"].map(|it| format!("{it}.weight"));
    for name in names {
        assert!(model.tensor(&name).unwrap().is_some(), "{name}");
    }
}

#[test]
fn positions_of_llama_3_are_stretched() {
    let mut config = llama();
    config["head_dim"] = json!(64);
    config["rope_scaling"] = json!({
        "rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192
    });
    let model = Model::from_bytes(file(&llama_parts()), &beside(&config)).unwrap();
    let factors = weights(&model.tensor("rope_freqs.weight").unwrap().unwrap());
    // Those of LLaMA 3.2 1B, whose base is that of `llama()` too.
    assert_eq!(factors.len(), 32);
    assert_eq!(factors[..14], [1.0; 14]);
    assert!(factors[14..].iter().is_sorted() && factors[15] > 1.0 && factors[17] < 32.0, "{factors:?}");
    assert_eq!(factors[18..], [32.0; 14]);
    assert_eq!(model.metadata().count("llama.attention.key_length"), Ok(Some(64)));

    config["rope_scaling"] = json!({"type": "linear", "factor": 2.0});
    let model = Model::from_bytes(file(&llama_parts()), &beside(&config)).unwrap();
    assert_eq!(model.metadata().number("llama.rope.scaling.factor"), Ok(Some(2.0)));
    config["rope_scaling"] = json!({"rope_type": "yarn", "factor": 2.0});
    let error = Model::from_bytes(file(&llama_parts()), &beside(&config)).unwrap_err();
    assert!(error.kind() == ErrorKind::Unsupported && error.to_string().contains("`yarn`"), "{error}");
}

/// A trained model, told as Hugging Face would tell it, becomes what it was.
#[test]
fn a_real_model_comes_back() {
    let Some(path) = shared("models/stories260K-f32.gguf") else { return };
    let real = gguf::File::open(&path).unwrap();
    let parts: Vec<Part> = real.names().into_iter().filter_map(|name| theirs(&real, name)).collect();
    let folder = Folder::new();
    let config = json!({
        "model_type": "llama", "hidden_size": 64, "intermediate_size": 172, "num_hidden_layers": 5,
        "num_attention_heads": 8, "num_key_value_heads": 4, "max_position_embeddings": 512, "vocab_size": 512,
        "rms_norm_eps": 1e-5, "tie_word_embeddings": !real.names().contains(&"output.weight"),
    });
    folder.write("config.json", config.to_string());
    let model = open(&folder.write("model.safetensors", file(&parts))).unwrap();
    let (target, pool) = (folder.path("again.gguf"), Pool::new(2));
    let options = QuantiseOptions { format: Format::F32, pool: &pool, overwrite: false };
    quantise(&*model, &target, &options, &mut |_, _| std::ops::ControlFlow::Continue(())).unwrap();
    let again = gguf::File::open(&target).unwrap();
    for name in real.names() {
        let (ours, theirs) = (again.tensor(name).unwrap().unwrap(), real.tensor(name).unwrap().unwrap());
        assert!(ours.data == theirs.data && ours.shape == theirs.shape, "{name}");
    }
    for (key, value) in real.metadata().iter().filter(|(key, _)| key.starts_with("llama.")) {
        let ours = again.metadata().number(key).unwrap();
        assert!(ours.is_none() || ours == real.metadata().number(key).unwrap(), "{key}: {value:?} {ours:?}");
    }
}

/// A tensor of a GGUF file as Hugging Face names and orders it.
fn theirs(real: &gguf::File, name: &str) -> Option<Part> {
    let tensor = real.tensor(name).unwrap().unwrap();
    let part = name.strip_prefix("blk.").map_or(name, |rest| rest.split_once('.').unwrap().1);
    let layer = name.strip_prefix("blk.").map(|rest| rest.split_once('.').unwrap().0);
    let (renamed, heads) = match part {
        "token_embd.weight" => ("embed_tokens", 0),
        "output_norm.weight" => ("norm", 0),
        "output.weight" => return Some(f32s("lm_head.weight", &[512, 64], &weights(&tensor))),
        "attn_norm.weight" => ("input_layernorm", 0),
        "attn_q.weight" => ("self_attn.q_proj", 8),
        "attn_k.weight" => ("self_attn.k_proj", 4),
        "attn_v.weight" => ("self_attn.v_proj", 0),
        "attn_output.weight" => ("self_attn.o_proj", 0),
        "ffn_norm.weight" => ("post_attention_layernorm", 0),
        "ffn_gate.weight" => ("mlp.gate_proj", 0),
        "ffn_up.weight" => ("mlp.up_proj", 0),
        "ffn_down.weight" => ("mlp.down_proj", 0),
        _ => return None,
    };
    let name =
        layer.map_or(format!("model.{renamed}.weight"), |layer| format!("model.layers.{layer}.{renamed}.weight"));
    let (cols, values) = (tensor.shape[0], weights(&tensor));
    let mut rows: Vec<&[f32]> = values.chunks_exact(cols).collect();
    if let Some(head) = rows.len().checked_div(heads) {
        // From pairs side by side to halves of a head.
        rows = (0..rows.len())
            .map(|row| rows[row - row % head + row % head % (head / 2) * 2 + row % head / (head / 2)])
            .collect();
    }
    let shape: Vec<usize> = tensor.shape.iter().rev().copied().collect();
    Some(f32s(&name, &shape, &rows.concat()))
}
