//! The options that name a model.

use std::path::{Path, PathBuf};

use clap::Args;

/// Endings of model files.
const MODEL_ENDINGS: [&str; 3] = ["gguf", "safetensors", "bin"];

/// Which model: a file, random weights, or the bundled one.
#[derive(Debug, Clone, PartialEq, Default, Args)]
pub struct ModelOptions {
    /// Model file: GGUF, safetensors or llama2.c
    #[arg(long, short, value_name = "FILE", conflicts_with = "synthetic")]
    pub model: Option<PathBuf>,
    /// Random weights: small, medium, or sizes such as d=768,layers=12,type=q4_0
    #[arg(long, value_name = "SIZES")]
    pub synthetic: Option<String>,
}

impl ModelOptions {
    /// Takes a model that was named without `--model`.
    ///
    /// # Errors
    /// If another one was named.
    pub fn set_positional(&mut self, file: PathBuf) -> Result<(), String> {
        let other = self.model.as_ref().map(|model| format!("--model {}", model.display()));
        match other.or_else(|| self.synthetic.as_ref().map(|sizes| format!("--synthetic {sizes}"))) {
            Some(other) => Err(format!("'{}' and '{other}' name two models", file.display())),
            None => {
                self.model = Some(file);
                Ok(())
            }
        }
    }
}

/// Whether a word names a model file: by its ending, or because there is such a file or folder.
pub fn is_model_path(word: &str) -> bool {
    let path = Path::new(word);
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    MODEL_ENDINGS.iter().any(|known| ending.eq_ignore_ascii_case(known)) || path.exists()
}
