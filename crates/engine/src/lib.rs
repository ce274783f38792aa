//! A small, fast transformer engine for CPUs, which profiles itself step by step.
//!
//! Three types: a `Config` says what a model is, `Weights` hold its numbers, a `State` holds what one generation writes.

mod error;
mod metadata;
mod tensor;
mod tokenizer;

pub use error::{Error, ErrorKind, Result};
pub use metadata::{Array, Metadata, Value};
pub use tensor::{Tensor, TensorSource};
pub use tokenizer::{Encode, Stream, Tokenizer};
