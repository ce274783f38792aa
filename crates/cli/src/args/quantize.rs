//! The arguments of `hotloop quantize`.

use std::path::PathBuf;

use clap::Args;
use kernels::quant::Format;

use super::{MAX_THREADS, whole_number};

/// What to convert, and to what.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    about = "Write a model in another format, as GGUF: smaller, or ready for other engines",
    after_help = "Formats: f32, f16, bf16, q8_0, q4_0, q4_1, q5_0, q5_1, q4_k, q5_k, q6_k. With q4_k and q5_k the output is q6_k. Rows that\n\
        are no whole blocks of the format get the next one that fits; norms, biases and positions are f32.\n\n\
        Examples:\n  hotloop quantize model-f16.gguf model-q4_k.gguf --type q4_k\n\n\
        The target appears when it is whole. Environment:\n  HOTLOOP_ISA=NAME   compute with these instructions: scalar, avx2, \
        avx512, neon"
)]
pub struct Quantize {
    /// What to read.
    #[arg(value_name = "IN", help = "the model: GGUF, a folder or file of safetensors, or llama2.c")]
    pub source: PathBuf,
    /// What to write.
    #[arg(value_name = "OUT", help = "the GGUF file to write")]
    pub target: PathBuf,
    /// The format.
    #[arg(long = "type", value_name = "TYPE", value_parser = format, help = "the format of the matrices, such as q8_0")]
    pub format: Format,
    /// Threads.
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = whole_number("--threads", 1, MAX_THREADS),
        help = "threads (default: one for each CPU that this process may use)")]
    pub threads: Option<usize>,
    /// Whether to overwrite.
    #[arg(long, help = "replace OUT where it is there already")]
    pub force: bool,
    /// Whether to print for programs.
    #[arg(long, help = "print JSON: sizes, time, and what became of every tensor")]
    pub json: bool,
}

fn format(value: &str) -> Result<Format, String> {
    Format::from_name(value).ok_or_else(|| {
        let names: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
        format!("--type takes one of {}, not `{value}`", names.join(", "))
    })
}
