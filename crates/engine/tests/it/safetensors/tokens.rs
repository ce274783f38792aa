//! `tokenizer.json` as in GGUF.

use engine::safetensors::{Model, SideFiles};
use engine::{Array, Result, TensorSource, Value};
use serde_json::{Value as Json, json};

use super::{beside, file, llama, llama_parts};

const LLAMA3: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

fn tokenizer(words: Json) -> Json {
    json!({
        "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]},
        "pre_tokenizer": words,
        "added_tokens": [{"id": 3, "content": "<s>", "special": true}, {"id": 4, "content": "<x>", "special": false}],
        "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {}}]},
    })
}

fn open(tokenizer: &Json, settings: Option<Json>) -> Result<Model> {
    let beside = SideFiles {
        tokenizer: Some(tokenizer.to_string().into_bytes()),
        tokenizer_config: settings.map(|settings| settings.to_string().into_bytes()),
        ..beside(&llama())
    };
    Model::from_bytes(file(&llama_parts()), &beside)
}

/// The way of cutting words that was found.
fn words(tokenizer: &Json) -> Option<String> {
    open(tokenizer, None).unwrap().metadata().text("tokenizer.ggml.pre").unwrap().map(str::to_owned)
}

fn split(pattern: &str) -> Json {
    json!({"type": "Sequence", "pretokenizers": [
        {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated"},
        {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false},
    ]})
}

#[test]
fn tokens_and_merges_are_there() {
    let settings = json!({"bos_token": {"content": "<s>"}, "eos_token": "ab", "chat_template": "{{ x }}"});
    let model = open(&tokenizer(json!({"type": "ByteLevel"})), Some(settings)).unwrap();
    let metadata = model.metadata();
    assert_eq!(metadata.text("tokenizer.ggml.model"), Ok(Some("gpt2")));
    assert_eq!(metadata.texts("tokenizer.ggml.tokens").unwrap().unwrap(), ["a", "b", "ab", "<s>", "<x>", "[PAD5]"]);
    let kinds = Value::Array(Array::Signed(vec![1, 1, 1, 3, 4, 5]));
    assert_eq!(metadata.get("tokenizer.ggml.token_type"), Some(&kinds));
    assert_eq!(metadata.texts("tokenizer.ggml.merges").unwrap().unwrap(), ["a b"]);
    assert_eq!(metadata.count("tokenizer.ggml.bos_token_id"), Ok(Some(3)));
    assert_eq!(metadata.count("tokenizer.ggml.eos_token_id"), Ok(Some(2)));
    assert_eq!(metadata.bool("tokenizer.ggml.add_bos_token"), Ok(Some(true)));
    assert_eq!(metadata.text("tokenizer.chat_template"), Ok(Some("{{ x }}")));
    // Without settings the configuration of the model tells.
    let model = open(&tokenizer(json!({"type": "ByteLevel"})), None).unwrap();
    assert_eq!(model.metadata().count("tokenizer.ggml.bos_token_id"), Ok(Some(1)));
    assert_eq!(model.metadata().count("tokenizer.ggml.eos_token_id"), Ok(Some(2)));
}

#[test]
fn ways_of_cutting_words_have_names() {
    assert_eq!(words(&tokenizer(json!({"type": "ByteLevel"}))).as_deref(), Some("gpt-2"));
    assert_eq!(words(&tokenizer(split(LLAMA3))).as_deref(), Some("llama-bpe"));
    assert_eq!(words(&tokenizer(split(&LLAMA3.replace("{1,3}", "")))).as_deref(), Some("qwen2"));
    let digits = json!({"type": "Sequence", "pretokenizers": [
        {"type": "Digits", "individual_digits": true}, {"type": "ByteLevel", "add_prefix_space": false}
    ]});
    assert_eq!(words(&tokenizer(digits)).as_deref(), Some("smollm"));
    let pairs = {
        let mut pairs = tokenizer(split(LLAMA3));
        pairs["model"]["merges"] = json!([["a", "b"]]);
        open(&pairs, None).unwrap()
    };
    assert_eq!(pairs.metadata().texts("tokenizer.ggml.merges").unwrap().unwrap(), ["a b"]);
}

#[test]
fn what_has_no_name_is_left_out() {
    let mut others =
        vec![tokenizer(split("x")), tokenizer(json!({"type": "Metaspace"})), tokenizer(json!(null)), json!([])];
    let mut fallback = tokenizer(json!({"type": "ByteLevel"}));
    fallback["model"]["byte_fallback"] = json!(true);
    others.push(fallback);
    let mut unigram = tokenizer(json!({"type": "ByteLevel"}));
    unigram["model"]["type"] = json!("Unigram");
    others.push(unigram);
    for other in others {
        let model = open(&other, None).unwrap();
        assert!(model.metadata().iter().all(|(key, _)| !key.starts_with("tokenizer")), "{other}");
    }
}

#[test]
fn damaged_ones_are_refused() {
    let mut far = tokenizer(json!({"type": "ByteLevel"}));
    far["model"]["vocab"]["far"] = json!(4_000_000_000u64);
    let error = open(&far, None).unwrap_err().to_string();
    assert!(error.contains("tokenizer.json") && error.contains("token far: its number is not below 6"), "{error}");
    let beside = SideFiles { tokenizer: Some(b"{".to_vec()), ..beside(&llama()) };
    let error = Model::from_bytes(file(&llama_parts()), &beside).unwrap_err().to_string();
    assert!(error.contains("its tokenizer.json: not JSON"), "{error}");
}
