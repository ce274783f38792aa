//! Each way in which such a model can be wrong has its own words.

use engine::ErrorKind::{self, Malformed, Unsupported};
use engine::safetensors::{Model, SideFiles};
use serde_json::json;

use super::{beside, f32s, file, llama, llama_parts, raw};

#[track_caller]
fn refused(weights: Vec<u8>, beside: &SideFiles, kind: ErrorKind, parts: &[&str]) {
    let error = Model::from_bytes(weights, beside).expect_err("it is damaged");
    assert_eq!(error.kind(), kind, "{error}");
    for part in parts {
        assert!(error.to_string().contains(part), "`{part}` is not in: {error}");
    }
}

#[test]
fn every_cut_is_noticed() {
    let whole = file(&llama_parts());
    for length in 0..whole.len() {
        refused(whole[..length].to_vec(), &beside(&llama()), Malformed, &[]);
    }
}

#[test]
fn headers() {
    let of =
        |header: &str, kind: ErrorKind, parts: &[&str]| refused(raw(header, &[0; 64]), &beside(&llama()), kind, parts);
    let entry = |dtype: &str, shape: &str, offsets: &str| {
        format!("{{\"model.norm.weight\":{{\"dtype\":\"{dtype}\",\"shape\":{shape},\"data_offsets\":{offsets}}}}}")
    };
    of("[]", Malformed, &["invalid header at byte 8"]);
    of("{\"a\":", Malformed, &["invalid header at byte 8"]);
    of(&"[".repeat(100_000), Malformed, &["invalid header"]);
    of(&format!("{{\"__metadata__\":{}", "[".repeat(100_000)), Malformed, &["invalid header"]);
    of(&entry("F64", "[4]", "[0,32]"), Unsupported, &["tensor model.norm.weight: its type F64 is not supported"]);
    of(&entry("F32", "[4]", "[0,15]"), Malformed, &["15 bytes, but shape [4] needs 16"]);
    of(&entry("F32", "[4]", "[16,0]"), Malformed, &["its bytes are 16 to 0"]);
    of(&entry("F32", "[17]", "[0,68]"), Malformed, &["0 to 68 from byte", "ends after"]);
    of(&entry("F32", "[4]", "[18446744073709551600,18446744073709551615]"), Malformed, &["its bytes are"]);
    of(&entry("F32", "[-1]", "[0,4]"), Malformed, &["invalid header"]);
    of(&entry("F32", "[0]", "[0,0]"), Malformed, &["is empty"]);
    of(&entry("F32", "[1,1,1,1,1]", "[0,4]"), Malformed, &["5 dimensions"]);
    of(&entry("F32", "[4294967296,4294967296]", "[0,4]"), Malformed, &["exceeds any memory"]);
    let mut long = raw("{}", &[]);
    long[..8].copy_from_slice(&u64::MAX.to_le_bytes());
    refused(long, &beside(&llama()), Malformed, &["18446744073709551615 bytes"]);
}

#[test]
fn tensors_that_share_a_name_or_bytes() {
    let entry = |name: &str, from: usize| {
        format!("\"{name}\":{{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[{from},{}]}}", from + 16)
    };
    let two = |a: String, b: String| raw(&format!("{{{a},{b}}}"), &[0; 32]);
    let norm = "model.norm.weight";
    refused(
        two(entry(norm, 0), entry(norm, 16)),
        &beside(&llama()),
        Malformed,
        &["output_norm.weight: duplicate name"],
    );
    let shared = two(entry(norm, 0), entry("lm_head.weight", 12));
    refused(
        shared,
        &beside(&llama()),
        Malformed,
        &["lm_head.weight: it begins at byte", "inside tensor model.norm.weight"],
    );
}

#[test]
fn names_that_mean_nothing() {
    for (name, kind, part) in [
        ("model.layers.0.mlp.gate_proj.qweight", Unsupported, "llama models have no such tensor"),
        ("model.layers.1.mlp.gate_proj.weight", Malformed, "layer 1 does not exist: the configuration has 1"),
        ("model.layers.00.mlp.gate_proj.weight", Unsupported, "no such tensor"),
        ("model.layers.99999999999999999999.x", Unsupported, "no such tensor"),
        ("visual.patch", Unsupported, "tensor visual.patch"),
        ("", Unsupported, "no such tensor"),
    ] {
        refused(file(&[f32s(name, &[1], &[0.0])]), &beside(&llama()), kind, &[part]);
    }
    let gpt2 = json!({"model_type": "gpt2", "n_embd": 4, "n_head": 1, "n_layer": 1, "n_ctx": 8});
    let flat = file(&[f32s("h.0.mlp.c_fc.weight", &[4], &[0.0; 4])]);
    refused(flat, &beside(&gpt2), Malformed, &["1 dimensions, expected a matrix"]);
}

#[test]
fn configurations() {
    let with = |field: &str, value: serde_json::Value| {
        let mut config = llama();
        config[field] = value;
        beside(&config)
    };
    let weights = || file(&llama_parts());
    refused(weights(), &SideFiles::default(), Malformed, &["not JSON"]);
    refused(weights(), &beside(&json!([])), Malformed, &["not a model configuration"]);
    refused(weights(), &with("model_type", json!("bert")), Unsupported, &["`model_type` bert", "qwen2"]);
    refused(weights(), &with("hidden_act", json!("gelu")), Unsupported, &["`hidden_act` gelu"]);
    refused(
        weights(),
        &with("quantization_config", json!({"bits": 4})),
        Unsupported,
        &["quantised by Hugging Face tools"],
    );
    refused(weights(), &with("hidden_size", json!(null)), Malformed, &["`hidden_size` is missing"]);
    refused(weights(), &with("hidden_size", json!(-8)), Malformed, &["`hidden_size` is -8"]);
    refused(
        weights(),
        &with("num_hidden_layers", json!(1u64 << 40)),
        Malformed,
        &["`num_hidden_layers` is 1099511627776"],
    );
    refused(weights(), &with("num_attention_heads", json!(3)), Malformed, &["8 is not divisible by 3 heads"]);
    refused(weights(), &with("rope_theta", json!("high")), Malformed, &["`rope_theta`"]);
    refused(weights(), &with("rope_scaling", json!({"rope_type": "llama3"})), Malformed, &["`factor`"]);
}
