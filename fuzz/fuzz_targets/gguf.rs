//! GGUF files: the bytes are the file.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(init: fuzz::plant(fuzz::sound::gguf), |bytes: &[u8]| {
    if let Ok(file) = engine::gguf::File::from_bytes(bytes.to_vec()) {
        fuzz::read_all(&file);
    }
});
