//! The document that `hotloop models --json` prints: models beside each other.

use serde::{Deserialize, Serialize};

use crate::{Environment, Model, Subject, Tool};

/// The schema of the document.
pub const MODELS_SCHEMA: &str = "hotloop-models";
/// Increased when a field changes its meaning or is removed, not when fields are added.
pub const MODELS_VERSION: u32 = 1;

/// Models beside each other: speed, memory, quality, and how they scale. It is computed from runs, which have the samples.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Models {
    /// [`MODELS_SCHEMA`].
    pub schema: String,
    /// [`MODELS_VERSION`] of the program that wrote it.
    pub version: u32,
    /// The program that wrote it.
    pub tool: Tool,
    /// When the first of the runs began, by RFC 3339 in UTC.
    pub created: String,
    /// Whether all were measured in one measurement, in turns: only then differences of speed are those of the models.
    pub one_sitting: bool,
    /// What was measured, where all runs are of the same program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Subject>,
    /// Where that happened, where all runs are of one measurement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<Environment>,
    /// The models, in the order in which they were named.
    pub models: Vec<MeasuredModel>,
    /// Which model decodes faster, where all were measured in one measurement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranking: Option<Ranking>,
    /// Models of the same sizes, in another format: what is won and what it costs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trades: Vec<Trade>,
    /// How time per token grows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scaling: Vec<Scaling>,
    /// What more threads bring.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<ThreadScaling>,
    /// Whether a run was broken off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// Remarks that help to understand the figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A value, with the interval that its true value lies in with 95 % confidence.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Figure {
    /// The value: a median, where it comes from several samples.
    pub value: f64,
    /// Not below; absent where there are too few samples to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// The upper bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// How many samples.
    pub samples: u64,
}

/// Figures of one model. What was not measured is absent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct MeasuredModel {
    /// The model.
    pub model: Model,
    /// The run they come from, where it is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// When that began.
    pub created: String,
    /// Threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u64>,
    /// Tokens of the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_tokens: Option<u64>,
    /// Tokens that were generated behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Reading the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefill: Option<ModelSpeed>,
    /// One token after the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decode: Option<ModelSpeed>,
    /// Tokens per second of CPU time after the first one, where CPU time decides which model is faster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decode_cpu: Option<Figure>,
    /// Seconds from the prompt to the first token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_token_s: Option<Figure>,
    /// Seconds of each token after the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_s: Option<TokenTimes>,
    /// Its memory.
    #[serde(default)]
    pub memory: ModelMemory,
    /// What a text costs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quality: Option<ModelQuality>,
    /// The first model with the same file contents, where this is a copy of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_as: Option<String>,
    /// Whether no other is shown to be faster while it takes no more memory and has no worse quality. Absent where one of the three
    /// was not measured, or not in one measurement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pareto: Option<bool>,
    /// Which model is that, where it is not on the front.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beaten_by: Option<String>,
    /// What it can be used for, by the rules of `compare::models`.
    #[serde(default)]
    pub fit: Fitness,
}

/// Tokens per second, and what of the machine they use.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ModelSpeed {
    /// By the median time.
    pub tokens_per_s: Figure,
    /// Of the limit of arithmetic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arithmetic: Option<LimitShare>,
    /// Of the limit of reading.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<LimitShare>,
}

/// A part of what the machine can do.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LimitShare {
    /// `f32`, `int8`, or where bytes come from: `L2`, `DRAM`.
    pub by: String,
    /// The limit per second: operations or bytes.
    pub per_second: f64,
    /// Work for each token: operations or bytes.
    pub per_token: f64,
    /// Tokens per second × work of a token ÷ the limit.
    pub share: f64,
    /// Whether even the slow end of the interval lies above the limit: then something was counted or measured wrongly.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub impossible: bool,
}

/// Times of single tokens, in seconds.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TokenTimes {
    /// Half took no longer.
    pub p50: Figure,
    /// 90 % took no longer; absent where there are too few to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p90: Option<Figure>,
    /// 99 % took no longer; absent where there are too few to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99: Option<Figure>,
    /// The slowest of them.
    pub slowest: f64,
}

/// The memory of a model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ModelMemory {
    /// All that it needs for one generation: weights, cache, activations, scratch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Its weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight_bytes: Option<u64>,
    /// Whether those are mapped from a file.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub weights_mapped: bool,
    /// Bytes of the cache for each position, as they follow from the model's sizes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_per_token_formula: Option<f64>,
    /// The same as measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_per_token_measured: Option<f64>,
    /// The most that a process had which worked with this model alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_rss_bytes: Option<u64>,
    /// Allocations for each token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocs_per_token: Option<f64>,
    /// Bytes allocated for each token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alloc_bytes_per_token: Option<f64>,
}

/// How well a model knows a text.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ModelQuality {
    /// As if every token had been one of so many that are equally likely. Models with other tokens cannot be compared by it.
    pub perplexity: f64,
    /// The 95 % interval of the perplexity; neighbouring tokens are not taken as independent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub perplexity_interval: Option<[f64; 2]>,
    /// What a byte of the text costs, in bits: models with other tokens can be compared by it.
    pub bits_per_byte: f64,
    /// How many tokens were scored.
    pub tokens: u64,
    /// How many bytes those stand for.
    pub bytes: u64,
    /// The text.
    pub text: String,
    /// BLAKE3 of it.
    pub text_blake3: String,
    /// The largest context that a token was scored with.
    pub window: u64,
}

/// Which model decodes faster. Intervals cover launches and rounds, and hold for all pairs together.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Ranking {
    /// The metric that decides: `cpu_s` where one thread works from memory, otherwise `wall_s`.
    pub metric: String,
    /// The smallest difference that counts, as a share.
    pub threshold: f64,
    /// Fresh processes of each model, at least.
    pub launches: u64,
    /// Rounds of each model in all launches together, at least.
    pub rounds: u64,
    /// The speed of a second copy of one model as a multiple of the first copy's: 1 but for what the machine adds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placebo: Option<Figure>,
    /// Whether the two copies differ by more than chance allows: then only larger differences count.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disturbed: bool,
    /// Each pair of different models once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<SpeedComparison>,
}

/// How fast one model decodes beside another.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SpeedComparison {
    /// The model.
    pub model: String,
    /// The one it is compared with.
    pub base: String,
    /// Its speed as a multiple of the base's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<Figure>,
    /// What follows from that.
    pub verdict: SpeedVerdict,
}

/// What may be said of two speeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpeedVerdict {
    /// Faster than the base by more than the threshold.
    Faster,
    /// Slower than the base by more than the threshold.
    Slower,
    /// No difference beyond the threshold.
    NoDifference,
    /// The interval allows more than one of these.
    #[default]
    CannotTell,
}

/// What a model can be used for, in words that rules decide.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Fitness {
    /// `interactive`, `reading` or `batch`, by the slow end of its decode speed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pace: Option<String>,
    /// `at_once`, `short_wait` or `long_wait`, by the time to the first token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// What would make decoding faster: `reading` (fewer bytes), `arithmetic` (fewer operations), `overhead` (better code).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<String>,
}

/// A model beside one of the same sizes with larger weights.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Trade {
    /// The model.
    pub model: String,
    /// The one with larger weights.
    pub base: String,
    /// Its decode speed as a multiple of the base's, round by round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed: Option<Figure>,
    /// Whether that is a difference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<SpeedVerdict>,
    /// Its memory as a part of the other's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<f64>,
    /// The perplexity of the base and its own, where both are of the same text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub perplexity: Option<[f64; 2]>,
    /// What that changed by, as a part of the base's: token by token, where they have the same tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub perplexity_change: Option<Figure>,
}

/// How the time of a token grows with something, as the slope of its logarithm over that of the other.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Scaling {
    /// `parameters` or `context`.
    pub over: String,
    /// Of what: the format of models of several sizes, or a model.
    pub of: String,
    /// What was measured.
    pub points: Vec<ScalingPoint>,
    /// The slope: 1 means twice as much takes twice as long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slope: Option<Figure>,
    /// The slope of the least times that the limits of the machine allow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ideal_slope: Option<f64>,
    /// Why there is no slope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

/// The time of a token at one size.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ScalingPoint {
    /// Parameters, or positions.
    pub at: f64,
    /// The model.
    pub model: String,
    /// The median time of a token.
    pub seconds: f64,
    /// The least that the limits of the machine allow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ideal_s: Option<f64>,
}

/// What more threads bring to a model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ThreadScaling {
    /// The model.
    pub model: String,
    /// From the fewest threads to the most.
    pub points: Vec<ThreadPoint>,
    /// The part of the work that does not get faster with threads, by Amdahl's law; turn by turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial_share: Option<Figure>,
    /// Why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

/// The speed with so many threads.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ThreadPoint {
    /// How many.
    pub threads: u64,
    /// Decode.
    pub tokens_per_s: Figure,
    /// How many times as fast as with the fewest threads, turn by turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speedup: Option<Figure>,
    /// That, divided by how many times as many threads it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub efficiency: Option<Figure>,
    /// How many times as fast the limits of the machine allow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ideal_speedup: Option<f64>,
}
