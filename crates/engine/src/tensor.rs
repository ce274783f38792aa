//! The tensors of a model, wherever they come from.

use std::borrow::Cow;
use std::fmt;
use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::Arc;

use kernels::quant::Format;

use crate::error::Escaped;
use crate::{Error, FileInUse, Metadata, Result};

/// Rows of weights as a file has them.
#[derive(Debug, Clone)]
pub struct Tensor<'a> {
    /// The name as in GGUF: `blk.0.attn_q.weight`.
    pub name: Cow<'a, str>,
    /// How its numbers are written.
    pub format: Format,
    /// Its lengths in the order of GGUF: the first is that of a row, which lies in one piece.
    pub shape: Vec<usize>,
    /// Its bytes: as many as shape and format ask for.
    pub data: Cow<'a, [u8]>,
}

/// Bytes that stay where they are as long as somebody needs them: part of a mapped file, or a copy.
#[derive(Clone)]
pub struct KeptBytes {
    owner: Arc<dyn AsRef<[u8]> + Send + Sync>,
    range: Range<usize>,
}

impl KeptBytes {
    /// Part of what `owner` has.
    ///
    /// # Panics
    /// Where it has less than that.
    pub fn new(owner: Arc<dyn AsRef<[u8]> + Send + Sync>, range: Range<usize>) -> Self {
        assert!(owner.as_ref().as_ref().get(range.clone()).is_some(), "bytes {range:?} of fewer");
        Self { owner, range }
    }
}

impl From<Vec<u8>> for KeptBytes {
    fn from(bytes: Vec<u8>) -> Self {
        let range = 0..bytes.len();
        Self { owner: Arc::new(bytes), range }
    }
}

impl Deref for KeptBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.owner.as_ref().as_ref()[self.range.clone()]
    }
}

impl fmt::Debug for KeptBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeptBytes").field("range", &self.range).finish_non_exhaustive()
    }
}

/// What a tensor is, without its numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorInfo {
    /// The name as in GGUF.
    pub name: String,
    /// How its numbers are written.
    pub format: Format,
    /// Its lengths, that of a row first.
    pub shape: Vec<usize>,
}

/// Something that has the metadata and the tensors of a model: files, or a recipe for random weights.
pub trait TensorSource {
    /// What it says about itself.
    fn metadata(&self) -> &Metadata;

    /// The names of its tensors, in the order of the file.
    fn names(&self) -> Vec<&str>;

    /// One tensor; nothing where there is none of that name.
    fn tensor(&self, name: &str) -> Result<Option<Tensor<'_>>>;

    /// What a tensor is; where its bytes have to be made, this need not make them.
    fn info(&self, name: &str) -> Result<Option<TensorInfo>> {
        let tensor = self.tensor(name)?;
        Ok(tensor.map(|tensor| TensorInfo { name: name.to_owned(), format: tensor.format, shape: tensor.shape }))
    }

    /// The file that errors should name.
    fn file(&self) -> Option<&Path> {
        None
    }

    /// The files that its bytes come from.
    fn files(&self) -> Vec<FileInUse> {
        Vec::new()
    }

    /// The bytes of a tensor for longer than the source lives: a copy, unless there is a better way.
    fn keep(&self, name: &str) -> Result<Option<KeptBytes>> {
        Ok(self.tensor(name)?.map(|tensor| tensor.data.into_owned().into()))
    }

    /// Says that the bytes of that tensor will not be read again soon: pages of a file can go.
    fn release(&self, name: &str) {
        let _ = name;
    }
}

impl TensorInfo {
    /// The most lengths that a tensor has.
    pub const MAX_DIMENSIONS: usize = 4;

    /// How many bytes it takes. An error says why there can be no such tensor, without its name.
    pub fn bytes(&self) -> Result<usize> {
        let (dimensions, most) = (self.shape.len(), Self::MAX_DIMENSIONS);
        if !(1..=most).contains(&dimensions) {
            return Err(Error::malformed(format!("{dimensions} dimensions; 1 to {most} are supported")));
        }
        if let Some(empty) = self.shape.iter().position(|length| *length == 0) {
            return Err(Error::malformed(format!("dimension {empty} of {:?} is empty", self.shape)));
        }
        let row = self.format.row_bytes(self.shape[0]).ok_or_else(|| {
            let (cols, block, name) = (self.shape[0], self.format.block_len(), self.format.gguf_name());
            Error::malformed(format!("rows of {cols} are not whole blocks of {block}, which {name} needs"))
        })?;
        let rows = self.shape[1..].iter().try_fold(1usize, |rows, length| rows.checked_mul(*length));
        let bytes = rows.and_then(|rows| rows.checked_mul(row)).filter(|bytes| isize::try_from(*bytes).is_ok());
        bytes.ok_or_else(|| Error::malformed(format!("the size {:?} exceeds any memory", self.shape)))
    }

    /// How errors call it.
    pub(crate) fn shown(&self) -> String {
        shown(&self.name)
    }
}

/// The key that says how rotary models pair the values of a head, where that is not the pairing of
/// the architecture's GGUF files: [`PAIRING_HALVES`] or [`PAIRING_ADJACENT`].
pub const PAIRING_KEY: &str = "hotloop.rope.pairing";

/// A pair is element i of the first half of a head and element i of the second, as in the files of Hugging Face.
pub const PAIRING_HALVES: &str = "halves";

/// A pair is two neighbours, as in GGUF files of LLaMA models.
pub const PAIRING_ADJACENT: &str = "adjacent";

/// How errors call a tensor.
pub(crate) fn shown(name: &str) -> String {
    format!("tensor {}", Escaped(name))
}
