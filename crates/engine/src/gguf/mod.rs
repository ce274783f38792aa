//! GGUF, the file format of llama.cpp: metadata and tensors, versions 2 and 3, little-endian, in one file or in shards.
//!
//! A file is: `GGUF`, version, number of tensors, number of keys; the keys with their values; for
//! each tensor its name, lengths, type and offset; then, from the next multiple of the alignment,
//! the data. Nothing a file claims is believed before it was compared with the bytes that are
//! there, and no more is allocated than a small multiple of those.

mod read;
mod shards;
mod write;

use std::borrow::Cow;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::catalogue::Catalogue;
use crate::mapping::Mapping;
use crate::{Error, FileInUse, KeptBytes, Metadata, Result, Tensor, TensorInfo, TensorSource};
use read::Header;

pub use write::Writer;

/// What a file begins with.
pub(crate) const MAGIC: &[u8; 4] = b"GGUF";
/// The newest version, which is what we write; 2 differs only in that it cannot be big-endian.
const VERSION: u32 = 3;
/// Where `general.alignment` is not given.
const DEFAULT_ALIGNMENT: usize = 32;
const ALIGNMENT_KEY: &str = "general.alignment";
/// Beyond the largest page: a file that asks for more is damaged, and would make a small file large.
const MAX_ALIGNMENT: usize = 1 << 20;
/// The longest key.
const MAX_KEY: usize = 65_535;

/// The number of each type of value.
mod kind {
    pub(super) const U8: u32 = 0;
    pub(super) const I8: u32 = 1;
    pub(super) const U16: u32 = 2;
    pub(super) const I16: u32 = 3;
    pub(super) const U32: u32 = 4;
    pub(super) const I32: u32 = 5;
    pub(super) const F32: u32 = 6;
    pub(super) const BOOL: u32 = 7;
    pub(super) const TEXT: u32 = 8;
    pub(super) const ARRAY: u32 = 9;
    pub(super) const U64: u32 = 10;
    pub(super) const I64: u32 = 11;
    pub(super) const F64: u32 = 12;
}

/// A model file, mapped: its tensors are read where they lie.
#[derive(Debug)]
pub struct File {
    /// One, or all shards in their order.
    parts: Vec<Shard>,
    metadata: Metadata,
    tensors: Catalogue<ShardBytes>,
}

#[derive(Debug)]
struct Shard {
    path: Option<PathBuf>,
    bytes: Arc<Mapping>,
}

/// Which bytes of which part.
#[derive(Debug)]
struct ShardBytes {
    part: usize,
    range: Range<usize>,
}

impl File {
    /// Opens a file; where it is one of several shards, all of them.
    pub fn open(path: &Path) -> Result<Self> {
        let (part, header) = Shard::open(path)?;
        match shards::of(path, &header.metadata).map_err(|error| error.in_file(path))? {
            None => Self::assemble(vec![(part, header)]),
            Some(shards) => Self::assemble(shards.open()?),
        }
    }

    /// A file that is in memory already. Shards cannot be found from there.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self> {
        Self::in_memory(Mapping::Memory(bytes))
    }

    /// A file that is part of the program: its tensors are read where they lie, as those of a mapped file.
    pub fn from_program(bytes: &'static [u8]) -> Result<Self> {
        Self::in_memory(Mapping::Program(bytes))
    }

    fn in_memory(bytes: Mapping) -> Result<Self> {
        let header = read::header(&bytes)?;
        Self::assemble(vec![(Shard { path: None, bytes: Arc::new(bytes) }, header)])
    }

    fn assemble(read: Vec<(Shard, Header)>) -> Result<Self> {
        let (mut parts, mut metadata, mut entries) = (Vec::new(), Metadata::default(), Vec::new());
        for (number, (part, header)) in read.into_iter().enumerate() {
            if number == 0 {
                metadata = header.metadata;
            }
            let place = |range| ShardBytes { part: number, range };
            entries.extend(header.tensors.into_iter().map(|(info, range)| (info, place(range))));
            parts.push(part);
        }
        let tensors = Catalogue::new(entries).map_err(|(error, place)| match &parts[place.part].path {
            Some(path) => error.in_file(path),
            None => error,
        })?;
        Ok(Self { parts, metadata, tensors })
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
        Ok(self.tensors.get(name).map(|(info, place)| Tensor {
            name: Cow::Borrowed(&info.name),
            format: info.format,
            shape: info.shape.clone(),
            data: Cow::Borrowed(&self.parts[place.part].bytes[place.range.clone()]),
        }))
    }

    fn info(&self, name: &str) -> Result<Option<TensorInfo>> {
        Ok(self.tensors.info(name))
    }

    fn file(&self) -> Option<&Path> {
        self.parts.first()?.path.as_deref()
    }

    fn files(&self) -> Vec<FileInUse> {
        self.parts.iter().map(|part| FileInUse::new(&part.bytes)).collect()
    }

    fn keep(&self, name: &str) -> Result<Option<KeptBytes>> {
        Ok(self.tensors.get(name).map(|(_, place)| {
            let mapping = Arc::clone(&self.parts[place.part].bytes);
            KeptBytes::new(mapping, place.range.clone())
        }))
    }

    fn release(&self, name: &str) {
        if let Some((_, place)) = self.tensors.get(name) {
            self.parts[place.part].bytes.release(place.range.clone());
        }
    }
}

impl Shard {
    fn open(path: &Path) -> Result<(Self, Header)> {
        let bytes = Arc::new(Mapping::open(path)?);
        let header = read::header(&bytes).map_err(|error| error.in_file(path))?;
        Ok((Self { path: Some(path.to_owned()), bytes }, header))
    }
}

/// The alignment that the metadata ask for.
fn alignment(metadata: &Metadata) -> Result<usize> {
    let alignment = metadata.count(ALIGNMENT_KEY)?.unwrap_or(DEFAULT_ALIGNMENT);
    if alignment.is_power_of_two() && alignment <= MAX_ALIGNMENT {
        return Ok(alignment);
    }
    Err(Error::malformed(format!("key {ALIGNMENT_KEY}: {alignment} is not a power of two up to {MAX_ALIGNMENT}")))
}
