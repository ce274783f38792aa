//! A model file of any format, told apart by what is in it.

use std::path::Path;

use crate::mapping::Mapping;
use crate::{Error, Result, TensorSource, gguf, llama2c, safetensors};

/// Opens a model, whatever its format: the name of the file does not matter.
///
/// Known are GGUF, the models of Hugging Face (by their folder, a `.safetensors` file or the list
/// of shards) and the checkpoints of llama2.c. Of anything else the error says what it looks like.
pub fn open(path: &Path) -> Result<Box<dyn TensorSource>> {
    if safetensors::is_model_folder(path) {
        return Ok(Box::new(safetensors::Model::open(path)?));
    }
    let bytes = Mapping::open(path)?;
    if bytes.starts_with(gguf::MAGIC) {
        return Ok(Box::new(gguf::File::open(path)?));
    }
    if safetensors::is_one(&bytes) || is_list_of_shards(&bytes) {
        return Ok(Box::new(safetensors::Model::open(path)?));
    }
    if llama2c::is_one(&bytes) {
        return Ok(Box::new(llama2c::File::open(path)?));
    }
    let kind = looks_like(&bytes);
    Err(Error::unsupported(format!("not a supported model file; {kind}")).in_file(path))
}

/// Whether this is JSON that says which tensor is in which file.
fn is_list_of_shards(bytes: &[u8]) -> bool {
    #[derive(serde::Deserialize)]
    struct List {
        #[serde(rename = "weight_map")]
        _weight_map: serde::de::IgnoredAny,
    }
    bytes.first() == Some(&b'{') && serde_json::from_slice::<List>(bytes).is_ok()
}

/// What a file that is not a model seems to be, and what to do about it.
fn looks_like(bytes: &[u8]) -> &'static str {
    let begins = |start: &[u8]| bytes.starts_with(start);
    let head = &bytes[..bytes.len().min(4096)];
    let text = std::str::from_utf8(head).is_ok_and(|text| !text.contains('\0'));
    let first = head.iter().copied().find(|byte| !byte.is_ascii_whitespace());
    match () {
        () if bytes.is_empty() => "it is empty",
        () if begins(b"version https://git-lfs") => "it is a Git LFS pointer; `git lfs pull` fetches the file",
        () if begins(b"PK\x03\x04") => "it looks like a PyTorch checkpoint or another ZIP archive; convert it to GGUF",
        () if begins(&[0x80, 2]) || begins(&[0x80, 4]) => "it looks like a Python pickle; convert it to GGUF",
        () if [b"lmgg", b"tjgg", b"fmgg", b"algg"].iter().any(|magic| begins(*magic)) => {
            "it looks like a GGML file from before GGUF; convert the model again"
        }
        () if begins(b"\x89HDF") => "it looks like an HDF5 file, as Keras writes them; convert it to GGUF",
        () if begins(&[0x1f, 0x8b]) => "it looks like gzip; unpack it",
        () if begins(&[0x28, 0xb5, 0x2f, 0xfd]) => "it looks like Zstandard; unpack it",
        () if bytes.get(4..8) == Some(b"TFL3") => "it looks like a TensorFlow Lite model; convert it to GGUF",
        () if begins(b"\x7fELF") => "it is a program",
        () if head.iter().all(|byte| *byte == 0) => "it starts with zeros only, like an unfinished download",
        () if llama2c::may_be_cut_off(bytes) => "it looks like a truncated llama2.c checkpoint",
        () if text && first == Some(b'<') => "it is a web page, perhaps an error page instead of the download",
        () if text && first == Some(b'{') => "it looks like JSON",
        () if text => "it looks like text",
        () => "unknown content",
    }
}
