//! The document that `hotloop quantize --json` prints.

use serde::{Deserialize, Serialize};

use crate::Tool;

/// The schema of the document.
pub const QUANTISATION_SCHEMA: &str = "hotloop-quantisation";
/// Increased when a field changes its meaning or is removed, not when fields are added.
pub const QUANTISATION_VERSION: u32 = 1;

/// A model that was written in another format.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Quantisation {
    /// [`QUANTISATION_SCHEMA`].
    pub schema: String,
    /// [`QUANTISATION_VERSION`] of the program that wrote it.
    pub version: u32,
    /// The program that wrote it.
    pub tool: Tool,
    /// The file that was read.
    pub source: String,
    /// The file that was written.
    pub target: String,
    /// The format that was asked for.
    pub format: String,
    /// Threads.
    pub threads: u64,
    /// How long that took.
    pub duration_s: f64,
    /// The bytes of all tensors before.
    pub source_bytes: u64,
    /// The bytes of all tensors after.
    pub tensor_bytes: u64,
    /// The bytes of the file that was written.
    pub file_bytes: u64,
    /// Every tensor, in the order of the file.
    pub tensors: Vec<QuantisedTensor>,
}

/// What became of a tensor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QuantisedTensor {
    /// Its name.
    pub name: String,
    /// Its lengths, that of a row first.
    pub shape: Vec<u64>,
    /// The format it had.
    pub from: String,
    /// The format it has.
    pub to: String,
    /// Its rows are no whole blocks of the format that was meant for it, so that it has another one.
    pub fallback: bool,
}
