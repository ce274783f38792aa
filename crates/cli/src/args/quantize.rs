//! The arguments of `hotloop quantize`.

use std::path::PathBuf;

use clap::Args;
use kernels::quant::Format;

use super::values::{one_of, threads};

/// Convert a model to another weight format, as GGUF
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "\
With q4_k and q5_k, the output matrix is q6_k. Rows that are not whole blocks of
the format use the next format that fits. Norms, biases and positions are f32.
OUT appears only when it is complete.

Environment:
  HOTLOOP_ISA=NAME   compute with these instructions: scalar, avx2, avx512, neon

Examples:
  hotloop quantize model-f16.gguf model-q4_k.gguf --type q4_k
  hotloop quantize model-f16.gguf model-q8_0.gguf --type q8_0 --force")]
pub struct Quantize {
    /// Model to read: GGUF, a file or folder of safetensors, or llama2.c
    #[arg(value_name = "IN")]
    pub source: PathBuf,
    /// GGUF file to write
    #[arg(value_name = "OUT")]
    pub target: PathBuf,
    /// Format of the matrices
    #[arg(long = "type", value_name = "TYPE", ignore_case = true,
        value_parser = one_of(Format::ALL.iter().map(|format| format.name()), Format::from_name))]
    pub format: Format,
    /// Threads [default: one per available CPU]
    #[arg(long, short, value_name = "N", value_parser = threads())]
    pub threads: Option<usize>,
    /// Replace OUT if it exists
    #[arg(long)]
    pub force: bool,
    /// Print JSON: sizes, time, and the format of every tensor
    #[arg(long)]
    pub json: bool,
}
