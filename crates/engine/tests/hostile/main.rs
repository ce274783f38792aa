//! Sound files, damaged in every way that can be thought of: each is read or refused, without a
//! panic, without an end that does not come, and without memory that only the file claims.
//!
//! A program of its own, because it counts what is allocated. Every damage follows from a number,
//! and is named when it kills.

mod damage;
mod sound;

use std::panic::{AssertUnwindSafe, catch_unwind};

use engine::safetensors::{Model, SideFiles};
use engine::{TensorSource, check_finite, gguf, llama2c};

use damage::Damage;

#[global_allocator]
static ALLOCATOR: hotloop::Allocator = hotloop::Allocator::system();

/// How many files are damaged at random, per kind of file.
const RANDOM: u64 = 20_000;

/// What reading one of these files may have in memory at most. They are of some KiB; what is read
/// from them is a small multiple.
const MEMORY: u64 = 1 << 20;

/// Reads all that there is.
fn read_all(source: &dyn TensorSource) {
    assert!(source.metadata().iter().count() > 0);
    for name in source.names() {
        let info = source.info(name).expect("it was read before").expect("it is named");
        let tensor = source.tensor(name).expect("it was read before").expect("it is named");
        assert_eq!(Ok(tensor.data.len()), info.bytes());
        assert!(tensor.shape == info.shape && tensor.format == info.format);
        let kept = source.keep(name).expect("it was read before").expect("it is named");
        assert!(*kept == *tensor.data);
        // Either is fine.
        check_finite(&tensor).ok();
        source.release(name);
    }
}

/// Reads one file; whether it was taken as sound.
fn read(kind: Kind, bytes: &[u8]) -> bool {
    match kind {
        Kind::Gguf => gguf::File::from_bytes(bytes.to_vec()).map(|file| read_all(&file)).is_ok(),
        Kind::Llama2c => llama2c::File::from_bytes(bytes.to_vec()).map(|file| read_all(&file)).is_ok(),
        Kind::Safetensors => {
            let beside =
                SideFiles { config: sound::config(), tokenizer: Some(sound::tokenizer()), ..SideFiles::default() };
            Model::from_bytes(bytes.to_vec(), &beside).map(|model| read_all(&model)).is_ok()
        }
        Kind::Config => {
            let beside = SideFiles { config: bytes.to_vec(), ..SideFiles::default() };
            Model::from_bytes(sound::safetensors(), &beside).map(|model| read_all(&model)).is_ok()
        }
        Kind::Tokenizer => {
            let beside = SideFiles {
                config: sound::config(),
                tokenizer: Some(bytes.to_vec()),
                tokenizer_config: Some(bytes.to_vec()),
            };
            Model::from_bytes(sound::safetensors(), &beside).map(|model| read_all(&model)).is_ok()
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Gguf,
    Llama2c,
    Safetensors,
    Config,
    Tokenizer,
}

/// Damages a sound file in every way, and reads what becomes of it; how many of how many were still sound.
fn trial(kind: Kind, sound: &[u8]) -> [u64; 2] {
    assert!(read(kind, sound), "{kind:?}: the file should be sound");
    let mut counts = [0; 2];
    for damage in Damage::every(sound.len()).chain((0..RANDOM).map(Damage::Random)) {
        let bytes = damage.to(sound);
        let result = catch_unwind(AssertUnwindSafe(|| {
            hotloop::scope!("read");
            read(kind, &bytes)
        }));
        let sound = result.unwrap_or_else(|_| panic!("{kind:?}, {} bytes: {damage:?}", sound.len()));
        counts[0] += u64::from(sound);
        counts[1] += 1;
    }
    counts
}

#[test]
fn damaged_files_are_read_or_refused() {
    hotloop::Config::new().budget(None).start();
    for (kind, sound) in [
        (Kind::Gguf, sound::gguf()),
        (Kind::Llama2c, sound::llama2c(0)),
        (Kind::Llama2c, sound::llama2c(1)),
        (Kind::Llama2c, sound::llama2c(2)),
        (Kind::Safetensors, sound::safetensors()),
        (Kind::Config, sound::config()),
        (Kind::Tokenizer, sound::tokenizer()),
    ] {
        let [still_sound, all] = trial(kind, &sound);
        // Damaged weights are sound too; but were all refused, or none, then nothing would have been tried.
        assert!(still_sound > 0 && still_sound < all, "{kind:?}: {still_sound} of {all}");
    }
    let scope = hotloop::snapshot().find("hostile::read").expect("something was read");
    assert!(scope.calls > 7 * RANDOM && scope.peak_live_bytes > 0, "{} calls", scope.calls);
    assert!(scope.peak_live_bytes < MEMORY, "{} bytes were in memory at once", scope.peak_live_bytes);
}

/// A large file that is nothing but claims, or nothing but the smallest things there can be.
#[test]
fn large_files_take_memory_in_proportion() {
    hotloop::Config::new().budget(None).start();
    let check = |name: &str, kind: Kind, bytes: Vec<u8>, times: u64| {
        let before = hotloop::snapshot().find("hostile::large").map_or(0, |scope| scope.allocs_total.alloc_bytes);
        {
            hotloop::scope!("large");
            read(kind, &bytes);
        }
        let after = hotloop::snapshot().find("hostile::large").expect("it was read").allocs_total.alloc_bytes;
        let (used, allowed) = (after - before, bytes.len() as u64 * times);
        assert!(used < allowed, "{name}: {used} bytes for a file of {}", bytes.len());
    };
    check("tensors of one weight", Kind::Gguf, sound::many_tensors(20_000), 32);
    check("keys of one letter", Kind::Gguf, sound::many_keys(20_000), 32);
    check("empty texts", Kind::Gguf, sound::many_texts(100_000), 32);
    check("bytes in an array", Kind::Gguf, sound::many_bytes(1_000_000), 32);
    check("layers of few weights", Kind::Llama2c, sound::many_layers(2_000), 32);
    check("an embedding of narrow rows", Kind::Safetensors, sound::narrow_embedding(100_000), 128);
}
