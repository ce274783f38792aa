//! Models of Hugging Face: `.safetensors` files with a `config.json` beside them, with the keys and names of GGUF.
//!
//! The weights are read where they lie; only GPT-2's matrices, which stand the other way round, are
//! transposed when they are asked for. Rows keep their order, in which rotated pairs are halves of
//! a head: [`PAIRING_KEY`](crate::PAIRING_KEY) says so. The tokens come from `tokenizer.json` where
//! it is a byte-level BPE of a known kind; else the model has none.

mod config;
mod files;
mod header;
mod names;
mod tokens;

use std::borrow::Cow;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kernels::quant::Format;

use crate::catalogue::Catalogue;
use crate::mapping::Mapping;
use crate::{Error, FileInUse, KeptBytes, Metadata, Result, Tensor, TensorInfo, TensorSource};
use config::Config;
use names::TensorMapping;

pub(crate) use files::is_model_folder;
pub(crate) use header::is_one;
pub use tokens::tokens;

/// A model, mapped: one file or all its shards.
#[derive(Debug)]
pub struct Model {
    path: Option<PathBuf>,
    parts: Vec<Shard>,
    metadata: Metadata,
    tensors: Catalogue<Bytes>,
}

#[derive(Debug)]
struct Shard {
    path: Option<PathBuf>,
    bytes: Arc<Mapping>,
}

/// Where the bytes of a tensor come from.
#[derive(Debug)]
enum Bytes {
    /// As they are in a part.
    Plain { part: usize, range: Range<usize> },
    /// From a part, with rows and columns exchanged; elements of so many bytes.
    Transposed { part: usize, range: Range<usize>, width: usize },
    /// Computed from the configuration.
    Made(Vec<u8>),
}

/// The texts that lie beside the weights, as bytes that nobody has looked at.
#[derive(Debug, Default)]
pub struct SideFiles {
    /// `config.json`
    pub config: Vec<u8>,
    /// `tokenizer.json`
    pub tokenizer: Option<Vec<u8>>,
    /// `tokenizer_config.json`
    pub tokenizer_config: Option<Vec<u8>>,
}

impl Model {
    /// Opens a model by its folder, by a file of weights or by the list of its shards.
    pub fn open(path: &Path) -> Result<Self> {
        let files = files::find(path)?;
        let beside = files.beside()?;
        let parts = files.weights.iter().map(|path| Shard::open(path)).collect::<Result<Vec<_>>>()?;
        let mut model = Self::assemble(parts, &beside).map_err(|error| error.in_file(&files.config))?;
        model.path = Some(path.to_owned());
        Ok(model)
    }

    /// A model that is in memory already, in one piece.
    pub fn from_bytes(weights: Vec<u8>, beside: &SideFiles) -> Result<Self> {
        Self::assemble(vec![Shard { path: None, bytes: Arc::new(Mapping::Memory(weights)) }], beside)
    }

    fn assemble(parts: Vec<Shard>, beside: &SideFiles) -> Result<Self> {
        let config = Config::read(&beside.config)?;
        let mut entries = Vec::new();
        for (number, part) in parts.iter().enumerate() {
            let found = header::read(&part.bytes).map_err(|error| part.named(error))?;
            for (info, range) in found {
                let about = |error: Error| part.named(error.about(info.shown()));
                if let Some(entry) = translate(&config, &info, number, range).map_err(about)? {
                    entries.push(entry);
                }
            }
        }
        if let Some((info, bytes)) = config.rope_factors() {
            entries.push((info, Bytes::Made(bytes)));
        }
        let tensors = Catalogue::new(entries).map_err(|(error, bytes)| match bytes.part() {
            Some((part, _)) => parts[part].named(error),
            None => error,
        })?;
        let mut metadata = config.metadata();
        let vocabulary = tensors.info("token_embd.weight").and_then(|info| info.shape.get(1).copied());
        tokens::add(beside, &config, vocabulary, &mut metadata)?;
        Ok(Self { path: None, parts, metadata, tensors })
    }
}

/// A tensor of the file as GGUF names it; nothing for what GGUF does not have.
fn translate(
    config: &Config,
    info: &TensorInfo,
    part: usize,
    range: Range<usize>,
) -> Result<Option<(TensorInfo, Bytes)>> {
    let (name, transposed) = match names::mapping(config, &info.name)? {
        TensorMapping::Unused => return Ok(None),
        TensorMapping::Plain(name) => (name, false),
        TensorMapping::Transposed(name) => (name, true),
    };
    let mut info = TensorInfo { name, ..info.clone() };
    if !transposed {
        return Ok(Some((info, Bytes::Plain { part, range })));
    }
    if info.shape.len() != 2 {
        return Err(Error::malformed(format!("{} dimensions, expected a matrix", info.shape.len())));
    }
    info.shape.reverse();
    Ok(Some((info.clone(), Bytes::Transposed { part, range, width: info.format.block_bytes() })))
}

impl Shard {
    fn open(path: &Path) -> Result<Self> {
        Ok(Self { path: Some(path.to_owned()), bytes: Arc::new(Mapping::open(path)?) })
    }

    fn named(&self, error: Error) -> Error {
        match &self.path {
            Some(path) => error.in_file(path),
            None => error,
        }
    }
}

impl Bytes {
    /// The part that they come from, and where they are in it.
    fn part(&self) -> Option<(usize, Range<usize>)> {
        match self {
            Self::Plain { part, range } | Self::Transposed { part, range, .. } => Some((*part, range.clone())),
            Self::Made(_) => None,
        }
    }
}

impl TensorSource for Model {
    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn names(&self) -> Vec<&str> {
        self.tensors.names()
    }

    fn tensor(&self, name: &str) -> Result<Option<Tensor<'_>>> {
        let Some((info, bytes)) = self.tensors.get(name) else { return Ok(None) };
        let data = match bytes {
            Bytes::Plain { part, range } => Cow::Borrowed(&self.parts[*part].bytes[range.clone()]),
            Bytes::Transposed { part, range, width } => {
                Cow::Owned(transposed(&self.parts[*part].bytes[range.clone()], info.shape[1] * width, *width))
            }
            Bytes::Made(bytes) => Cow::Borrowed(bytes.as_slice()),
        };
        Ok(Some(Tensor { name: Cow::Borrowed(&info.name), format: info.format, shape: info.shape.clone(), data }))
    }

    fn info(&self, name: &str) -> Result<Option<TensorInfo>> {
        Ok(self.tensors.info(name))
    }

    fn file(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    fn files(&self) -> Vec<FileInUse> {
        self.parts.iter().map(|part| FileInUse::new(&part.bytes)).collect()
    }

    fn keep(&self, name: &str) -> Result<Option<KeptBytes>> {
        if let Some((_, Bytes::Plain { part, range })) = self.tensors.get(name) {
            return Ok(Some(KeptBytes::new(self.parts[*part].bytes.clone(), range.clone())));
        }
        Ok(self.tensor(name)?.map(|tensor| tensor.data.into_owned().into()))
    }

    fn release(&self, name: &str) {
        if let Some((part, range)) = self.tensors.get(name).and_then(|(_, bytes)| bytes.part()) {
            self.parts[part].bytes.release(range);
        }
    }
}

/// A matrix with rows and columns exchanged; rows and elements of so many bytes.
fn transposed(matrix: &[u8], row_bytes: usize, width: usize) -> Vec<u8> {
    /// Columns that are gathered together, so that every line of the cache is used whole.
    const TOGETHER: usize = 32;
    let mut transposed = vec![0; matrix.len()];
    let rows = matrix.len() / row_bytes;
    for (stripe, out) in transposed.chunks_mut(rows * width * TOGETHER).enumerate() {
        for (row, from) in matrix.chunks_exact(row_bytes).enumerate() {
            let from = &from[stripe * TOGETHER * width..];
            for (element, out) in from.chunks_exact(width).zip(out.chunks_exact_mut(rows * width)) {
                out[row * width..(row + 1) * width].copy_from_slice(element);
            }
        }
    }
    transposed
}

/// The formats of safetensors that we have too.
fn format(dtype: &str) -> Option<Format> {
    match dtype {
        "F32" => Some(Format::F32),
        "F16" => Some(Format::F16),
        "BF16" => Some(Format::BF16),
        _ => None,
    }
}
