//! The tensors of a model, wherever they come from.

use std::borrow::Cow;

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

/// Something that has the metadata and the tensors of a model: files, or a recipe for random weights.
pub trait TensorSource {
    /// What it says about itself.
    fn metadata(&self) -> &Metadata;

    /// The names of its tensors, in the order of the file.
    fn names(&self) -> Vec<&str>;

    /// One tensor; nothing where there is none of that name.
    fn tensor(&self, name: &str) -> Result<Option<Tensor<'_>>>;

    /// Says that the bytes of that tensor will not be read again soon: pages of a file can go.
    fn release(&self, name: &str) {
        let _ = name;
    }
}
