//! GGUF files, sound ones and damaged ones.

mod build;
mod damaged;
mod shards;
pub mod write;

use engine::gguf::File;
use engine::{Array, TensorSource, Value};
use kernels::quant::Format;

use crate::folder::shared;

#[test]
fn real_files_say_what_they_are() {
    let Some(path) = shared("models/stories260K-q8_0.gguf") else { return };
    let file = File::open(&path).unwrap();
    let metadata = file.metadata();
    assert_eq!(metadata.count("llama.embedding_length"), Ok(Some(64)));
    assert_eq!(metadata.count("llama.block_count"), Ok(Some(5)));
    assert_eq!(metadata.texts("tokenizer.ggml.tokens").unwrap().unwrap().len(), 512);
    assert!(
        matches!(metadata.get("tokenizer.ggml.scores"), Some(Value::Array(Array::Float(scores))) if scores.len() == 512)
    );
    assert!(matches!(metadata.get("tokenizer.ggml.token_type"), Some(Value::Array(Array::Signed(_)))));
    let q = file.tensor("blk.0.attn_q.weight").unwrap().unwrap();
    assert_eq!((q.format, q.shape.as_slice(), q.data.len()), (Format::Q8_0, [64, 64].as_slice(), 64 * 68));
    assert_eq!(file.info("blk.0.ffn_down.weight").unwrap().unwrap().format, Format::F16);
    assert!(file.tensor("blk.5.attn_q.weight").unwrap().is_none());
    assert_eq!(file.names().len(), 5 * 9 + 2 + usize::from(file.names().contains(&"output.weight")));
}

#[test]
fn vocabularies_are_files_without_tensors() {
    for (name, tokens, merges) in [("gpt-2", 50257, 50000), ("llama-bpe", 128256, 280147), ("llama-spm", 32000, 0)] {
        let Some(path) = shared(&format!("vocab/ggml-vocab-{name}.gguf")) else { return };
        let file = File::open(&path).unwrap();
        assert!(file.names().is_empty());
        assert_eq!(file.metadata().texts("tokenizer.ggml.tokens").unwrap().unwrap().len(), tokens, "{name}");
        let found = file.metadata().texts("tokenizer.ggml.merges").unwrap().map_or(0, <[String]>::len);
        assert_eq!(found, merges, "{name}");
    }
}

#[test]
fn a_real_file_written_again_is_the_same() {
    let Some(path) = shared("models/stories260K-f16.gguf") else { return };
    let folder = crate::folder::Folder::new();
    let file = File::open(&path).unwrap();
    let copy = write::copy(&file, &folder.path("copy.gguf"));
    assert_eq!(copy.metadata(), file.metadata());
    assert_eq!(copy.names(), file.names());
    for name in file.names() {
        let (copied, real) = (copy.tensor(name).unwrap().unwrap(), file.tensor(name).unwrap().unwrap());
        assert!(copied.format == real.format && copied.shape == real.shape && copied.data == real.data, "{name}");
    }
}

/// The bytes of a program are read where they lie, as those of a file are.
#[test]
fn a_file_that_is_part_of_the_program_is_not_copied() {
    let Some(path) = shared("models/stories260K-f16.gguf") else { return };
    let bytes: &'static [u8] = std::fs::read(&path).unwrap().leak();
    let (embedded, file) = (File::from_program(bytes).unwrap(), File::open(&path).unwrap());
    assert_eq!(embedded.metadata(), file.metadata());
    assert_eq!(embedded.file(), None);
    for name in file.names() {
        let (own, real) = (embedded.tensor(name).unwrap().unwrap(), file.tensor(name).unwrap().unwrap());
        assert!(own.data == real.data, "{name}");
        assert!(bytes.as_ptr_range().contains(&own.data.as_ptr()), "{name} was copied");
        let kept = embedded.keep(name).unwrap().unwrap();
        assert!(bytes.as_ptr_range().contains(&kept.as_ptr()), "{name} was copied");
    }
    assert!(File::from_program(&bytes[..1000]).is_err());
}
