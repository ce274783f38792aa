//! The arguments of `hotloop generate`.

use std::path::{Path, PathBuf};

use clap::Args;

use super::values::{cache_type, count, number_f32, threads};
use super::{ModelOptions, is_model_path};

/// Generate text with a model, and show its speed and memory
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "\
The text goes to standard output, the figures to standard error. Without a model
it is the bundled one, which tells little stories and knows nothing else. Random
weights write nonsense.

Without a prompt, one is read from standard input if that is a pipe or a file.
`--prompt -` and `--prompt-file -` always read it.

Sizes of --synthetic: small and medium (the models of SmallMind's profiler), or
d=WIDTH,layers=N and any of arch=llama|gpt2|qwen2, heads=N, kv_heads=N, ffn=N,
vocab=N, ctx=N, tied=true, type=q4_0 (any type of `quantize`), seed=N.

Environment:
  HOTLOOP_ISA=NAME   compute with these instructions: scalar, avx2, avx512, neon

Examples:
  hotloop generate                                    the bundled model
  hotloop generate --seed 7 \"One windy day Mia\"
  hotloop generate stories15M-q8_0.gguf \"Once upon a time\" -n 100
  hotloop generate smollm2.gguf --chat \"What is the capital of France?\"
  cat article.txt | hotloop generate model.gguf -n 64
  hotloop generate --synthetic d=768,layers=12,type=q4_0 x --tokens 64 --json")]
pub struct Generate {
    /// Model file (as --model), prompt (as --prompt), or both in this order
    #[arg(value_name = "MODEL|PROMPT", num_args = 0..=2)]
    pub words: Vec<String>,
    #[command(flatten)]
    pub model: ModelOptions,
    /// Text to continue; `-` reads standard input
    #[arg(long, short, value_name = "TEXT", conflicts_with = "prompt_file", allow_hyphen_values = true)]
    pub prompt: Option<String>,
    /// File with that text; `-` reads standard input
    #[arg(long, value_name = "FILE")]
    pub prompt_file: Option<PathBuf>,
    /// The prompt is a user's message: apply the model's chat template
    #[arg(long)]
    pub chat: bool,
    /// System message of the chat
    #[arg(long, value_name = "TEXT", requires = "chat", allow_hyphen_values = true)]
    pub system: Option<String>,
    /// Maximum number of tokens to generate
    #[arg(long, short = 'n', value_name = "N", default_value_t = 128, value_parser = count(1..=1 << 24))]
    pub tokens: usize,
    #[command(flatten)]
    pub sampling: GenerateSampling,
    #[command(flatten)]
    pub machine: GenerateMachine,
    /// Print JSON: the text, its tokens, the settings and the figures
    #[arg(long)]
    pub json: bool,
}

/// How tokens are chosen.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(next_help_heading = "Sampling")]
pub struct GenerateSampling {
    /// Sampling temperature; 0 always takes the most likely token
    #[arg(long, value_name = "T", default_value_t = 0.8, value_parser = number_f32(0.0..=100.0))]
    pub temperature: f32,
    /// Sample from the N most likely tokens; 0 from all
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = count(0..=1 << 24))]
    pub top_k: usize,
    /// Sample from the most likely tokens with a total probability of P
    #[arg(long, value_name = "P", default_value_t = 0.95, value_parser = number_f32(0.001..=1.0))]
    pub top_p: f32,
    /// Drop tokens less than P times as likely as the most likely one
    #[arg(long, value_name = "P", default_value_t = 0.05, value_parser = number_f32(0.0..=1.0))]
    pub min_p: f32,
    /// Make the last 64 tokens less likely (above 1)
    #[arg(long, value_name = "F", default_value_t = 1.0, value_parser = number_f32(0.01..=100.0))]
    pub repetition_penalty: f32,
    /// RNG seed: the same seed gives the same text
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Stop before this text; repeat for several
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub stop: Vec<String>,
    /// Continue after the model's end-of-text token
    #[arg(long)]
    pub ignore_end: bool,
}

/// What computes, and with what memory.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(next_help_heading = "Machine and memory")]
pub struct GenerateMachine {
    /// Threads [default: one per available CPU]
    #[arg(long, short, value_name = "N", value_parser = threads())]
    pub threads: Option<usize>,
    /// Number of texts to generate at the same time, each with its own seed
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = count(1..=engine::MOST_SEQUENCES as u64))]
    pub batch: usize,
    /// Context length: tokens of prompt and text [default: as many as needed, up
    /// to the model's]
    #[arg(long, value_name = "N", value_parser = count(1..=1 << 24))]
    pub context: Option<usize>,
    /// When the context is full, continue with its later half instead of stopping
    #[arg(long)]
    pub context_shift: bool,
    /// Format of the KV cache
    #[arg(long, value_name = "TYPE", default_value = "f16", value_parser = cache_type())]
    pub cache: engine::CacheType,
    /// Refuse a KV cache larger than this many MiB
    #[arg(long, value_name = "MIB", value_parser = count(1..=1 << 24))]
    pub cache_budget: Option<usize>,
    /// Use the weights as they are in the file: starts at once, computes slower
    #[arg(long)]
    pub in_place: bool,
    /// Convert quantised weights to f32: exact, larger and slower
    #[arg(long, conflicts_with = "in_place")]
    pub exact: bool,
    /// No KV cache: every token computes all tokens before it again
    #[arg(long)]
    pub no_kv_cache: bool,
    /// Keep no scratch memory between tokens
    #[arg(long)]
    pub no_pooling: bool,
    /// Plain loops instead of vector instructions
    #[arg(long)]
    pub naive: bool,
}

impl Generate {
    /// Turns the words into a model and a prompt. A single word is the model if it names one, and none was named.
    pub fn check(&mut self) -> Result<(), String> {
        let mut words = std::mem::take(&mut self.words).into_iter();
        match (words.next(), words.next()) {
            (Some(model), Some(prompt)) => {
                self.model.set_positional(PathBuf::from(model))?;
                self.set_prompt(prompt)
            }
            (Some(word), None) if self.model == ModelOptions::default() && is_model_path(&word) => {
                self.model.set_positional(PathBuf::from(word))
            }
            (Some(prompt), None) => self.set_prompt(prompt),
            (None, _) => Ok(()),
        }
    }

    fn set_prompt(&mut self, prompt: String) -> Result<(), String> {
        let file = self.prompt_file.as_deref().map(Path::display);
        let other = self.prompt.as_ref().map(|text| format!("--prompt {text}"));
        match other.or_else(|| file.map(|file| format!("--prompt-file {file}"))) {
            Some(other) => Err(format!("'{prompt}' and '{other}' are two prompts")),
            None => {
                self.prompt = Some(prompt);
                Ok(())
            }
        }
    }
}
