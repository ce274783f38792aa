//! Checkpoints of llama2.c: a header of seven numbers, then the weights in a fixed order.
//!
//! Version 0 begins with the seven numbers themselves; a negative size of the vocabulary says that
//! the output has weights of its own. Versions 1 and 2 have a header of 256 bytes that begins with
//! a magic number. Version 2 holds matrices as bytes, with an f32 scale for each group; they are
//! passed on as f32, which loses nothing. The tokens come from `tok<size>.bin` or `tokenizer.bin`
//! beside the file, where one has as many as the model.

mod layout;
mod tokens;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::catalogue::Catalogue;
use crate::mapping::Mapping;
use crate::{Error, FileInUse, KeptBytes, Metadata, Result, Tensor, TensorInfo, TensorSource};
use layout::{Header, Weights};

/// A checkpoint, mapped.
#[derive(Debug)]
pub struct File {
    path: Option<PathBuf>,
    bytes: Arc<Mapping>,
    metadata: Metadata,
    tensors: Catalogue<Weights>,
}

/// Whether these are the bytes of a checkpoint. Version 0 has no magic number: header and length have to fit together.
pub(crate) fn is_one(bytes: &[u8]) -> bool {
    layout::has_magic(bytes) || Header::read(bytes).is_ok_and(|header| header.bytes() == Some(bytes.len() as u64))
}

/// Whether this may be the beginning of a checkpoint of version 0.
pub(crate) fn may_be_cut_off(bytes: &[u8]) -> bool {
    let header = Header::read(bytes);
    header.is_ok_and(|header| header.is_plausible() && header.bytes().is_some_and(|all| all > bytes.len() as u64))
}

impl File {
    /// Opens a checkpoint, and the tokens beside it.
    pub fn open(path: &Path) -> Result<Self> {
        let named = |error: Error| error.in_file(path);
        let mut file = Self::new(Mapping::open(path)?).map_err(named)?;
        if let Some(vocabulary) = file.metadata.count("llama.vocab_size").map_err(named)? {
            tokens::add(path, vocabulary, &mut file.metadata)?;
        }
        file.path = Some(path.to_owned());
        Ok(file)
    }

    /// A checkpoint that is in memory already; it has no tokens.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self> {
        Self::new(Mapping::Memory(bytes))
    }

    fn new(bytes: Mapping) -> Result<Self> {
        let header = Header::read(&bytes)?;
        let entries = header.tensors(bytes.len())?;
        let tensors = Catalogue::new(entries).map_err(|(error, _)| error)?;
        Ok(Self { path: None, bytes: Arc::new(bytes), metadata: header.metadata(), tensors })
    }
}

impl TensorSource for File {
    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn names(&self) -> Vec<&str> {
        self.tensors.names()
    }

    fn tensor(&self, name: &str) -> Result<Option<Tensor<'_>>> {
        Ok(self.tensors.get(name).map(|(info, weights)| Tensor {
            name: Cow::Borrowed(&info.name),
            format: info.format,
            shape: info.shape.clone(),
            data: weights.read(&self.bytes),
        }))
    }

    fn info(&self, name: &str) -> Result<Option<TensorInfo>> {
        Ok(self.tensors.info(name))
    }

    fn file(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    fn files(&self) -> Vec<FileInUse> {
        vec![FileInUse::new(&self.bytes)]
    }

    fn keep(&self, name: &str) -> Result<Option<KeptBytes>> {
        if let Some((_, Weights::Plain(range))) = self.tensors.get(name) {
            return Ok(Some(KeptBytes::new(self.bytes.clone(), range.clone())));
        }
        Ok(self.tensor(name)?.map(|tensor| tensor.data.into_owned().into()))
    }

    fn release(&self, name: &str) {
        if let Some((_, weights)) = self.tensors.get(name) {
            self.bytes.release(weights.range());
        }
    }
}
