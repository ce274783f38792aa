//! Checkpoints of trainings: the bytes are the file without its checksum, which is added, because a fuzzer cannot guess it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use training::checkpoint::Checkpoint;

fuzz_target!(init: fuzz::plant(fuzz::sound::checkpoint), |bytes: &[u8]| {
    let file = fuzz::written("checkpoint.safetensors", &[bytes, blake3::hash(bytes).as_bytes()].concat());
    let Ok(checkpoint) = Checkpoint::open(&file) else { return };
    fuzz::read_all(&checkpoint);
    // Either is fine.
    checkpoint.parameters().ok();
});
