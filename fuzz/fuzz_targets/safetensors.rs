//! Models of Hugging Face: configuration, tokenizer and weights, with a zero byte between them.
#![no_main]

use engine::safetensors::{SideFiles, Model};
use libfuzzer_sys::fuzz_target;

fuzz_target!(init: fuzz::plant(fuzz::sound::safetensors), |bytes: &[u8]| {
    let mut parts = bytes.splitn(3, |byte| *byte == 0);
    let mut next = || parts.next().unwrap_or_default().to_vec();
    let (config, tokenizer, weights) = (next(), next(), next());
    let beside = SideFiles { config, tokenizer_config: Some(tokenizer.clone()), tokenizer: Some(tokenizer) };
    if let Ok(model) = Model::from_bytes(weights, &beside) {
        fuzz::read_all(&model);
    }
});
