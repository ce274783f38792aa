//! A small, fast transformer engine for CPUs, which profiles itself step by step.
//!
//! Three types: a `Config` says what a model is, `Weights` hold its numbers, a `State` holds what one generation writes.

mod error;
mod metadata;
mod tensor;

mod catalogue;
mod finite;
pub mod gguf;
pub mod llama2c;
mod mapping;
mod open;
mod quantise;
pub mod safetensors;

pub use error::{Error, ErrorKind, Result};
pub use finite::check_finite;
pub use metadata::{Array, Metadata, Value};
pub use open::open;
pub use quantise::{Converted, QuantiseOptions, Summary, quantise};
pub use tensor::{PAIRING_HALVES, PAIRING_KEY, Tensor, TensorInfo, TensorSource};
