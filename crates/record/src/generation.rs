//! The document that `hotloop generate --json` prints.

use serde::{Deserialize, Serialize};

use crate::Tool;

/// The schema of the document.
pub const GENERATION_SCHEMA: &str = "hotloop-generation";
/// Increased when a field changes its meaning or is removed, not when fields are added.
pub const GENERATION_VERSION: u32 = 1;

/// Text that a model generated, and what that took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Generation {
    /// [`GENERATION_SCHEMA`].
    pub schema: String,
    /// [`GENERATION_VERSION`] of the program that wrote it.
    pub version: u32,
    /// The program that wrote it.
    pub tool: Tool,
    /// What generated it.
    pub model: GeneratingModel,
    /// How it was told to.
    pub settings: GenerationSettings,
    /// What was generated, one for each sequence of the batch.
    pub sequences: Vec<GeneratedText>,
    /// How long that took, and how fast it was.
    pub speed: GenerationSpeed,
    /// The memory it took.
    pub memory: GenerationMemory,
}

/// A model, as far as its speed depends on it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GeneratingModel {
    /// The file, or the recipe of random weights.
    pub name: String,
    /// The family.
    pub architecture: String,
    /// Numbers that every token is multiplied with.
    pub active_parameters: u64,
    /// How its largest matrices are written.
    pub format: String,
    /// Its layers.
    pub layers: u64,
    /// The width of its residual stream.
    pub width: u64,
    /// The vocabulary size.
    pub vocab: u64,
}

/// What decides the text and the speed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GenerationSettings {
    /// Threads.
    pub threads: u64,
    /// The instruction set of the kernels.
    pub isa: String,
    /// Positions that a sequence has room for.
    pub context: u64,
    /// How the cache keeps its numbers.
    pub cache: String,
    /// Whether weights were used as they lie in the file.
    pub in_place: bool,
    /// Whether quantised weights were made f32.
    pub exact: bool,
    /// Whether keys and values were kept.
    pub kv_cache: bool,
    /// Whether scratch memory was kept.
    pub pooling: bool,
    /// 0: always the likeliest token.
    pub temperature: f64,
    /// Of how many of the likeliest tokens one is chosen; 0: of all.
    pub top_k: u64,
    /// Of the likeliest tokens that have this share together.
    pub top_p: f64,
    /// Of tokens that are at least so likely, measured by the likeliest.
    pub min_p: f64,
    /// What makes tokens less likely that were there just now; 1: nothing.
    pub repetition_penalty: f64,
    /// What the first sequence was chosen by; the others by the numbers that follow.
    pub seed: u64,
}

/// What one sequence became.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GeneratedText {
    /// The tokens of the prompt.
    pub prompt_tokens: Vec<u32>,
    /// The tokens that were generated.
    pub tokens: Vec<u32>,
    /// The text that was generated.
    pub text: String,
    /// Why it ended: `end` (the model said so), `stop` (a stop sequence), `limit`, `context`, or `interrupted`.
    pub ended: String,
}

/// How long a generation took. Rates are absent where nothing was computed that they could be of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GenerationSpeed {
    /// Opening the file, and packing its weights.
    pub load_s: f64,
    /// From the beginning of the prompt to the first token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_token_s: Option<f64>,
    /// Tokens of prompts per second, until all prompts were computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_tokens_per_s: Option<f64>,
    /// Tokens of all sequences per second, after that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_per_s: Option<f64>,
}

/// Memory by purpose, in bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GenerationMemory {
    /// Packed weights; those that stayed in the file are not among them.
    pub weights: u64,
    /// Keys and values.
    pub cache: u64,
    /// Keys and values of one token.
    pub cache_per_token: u64,
    /// What a pass writes.
    pub scratch: u64,
    /// Cosines and sines of positions.
    pub positions: u64,
    /// The most that the process had in memory, where the system tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_rss: Option<u64>,
}
