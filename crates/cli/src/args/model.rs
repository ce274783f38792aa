//! The options that say which model.

use std::path::PathBuf;

use clap::Args;

/// What somebody asked for: a file, random weights, or nothing.
#[derive(Debug, Clone, PartialEq, Default, Args)]
pub struct Named {
    /// The file.
    #[arg(long, value_name = "FILE", conflicts_with = "synthetic", help = "the model: GGUF, safetensors or llama2.c")]
    pub model: Option<PathBuf>,
    /// Random weights.
    #[arg(
        long,
        value_name = "SIZES",
        help = "random weights: small, medium, or sizes such as d=768,layers=12,type=q4_0"
    )]
    pub synthetic: Option<String>,
}
