//! The tensors of a model, wherever they come from.

use std::borrow::Cow;
use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

use kernels::quant::Format;

use crate::{Metadata, Result};

/// Rows of weights as a file has them.
#[derive(Debug, Clone)]
pub struct Tensor<'a> {
    /// The name in the words of GGUF: `blk.0.attn_q.weight`.
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

/// Something that has the metadata and the tensors of a model: files, or a recipe for random weights.
pub trait TensorSource {
    /// What it says about itself.
    fn metadata(&self) -> &Metadata;

    /// The names of its tensors, in the order of the file.
    fn names(&self) -> Vec<String>;

    /// One tensor; nothing where there is none of that name.
    fn tensor(&self, name: &str) -> Result<Option<Tensor<'_>>>;

    /// How many bytes a tensor has; nothing where there is none of that name.
    fn size(&self, name: &str) -> Result<Option<usize>>;

    /// The bytes of a tensor for longer than the source lives: a copy, unless there is a better way.
    fn keep(&self, name: &str) -> Result<Option<KeptBytes>> {
        Ok(self.tensor(name)?.map(|tensor| tensor.data.into_owned().into()))
    }

    /// Says that the bytes of that tensor will not be read again soon: pages of a file can go.
    fn release(&self, name: &str) {
        let _ = name;
    }
}
