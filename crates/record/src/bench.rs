//! The document that `hotloop bench --format json` prints.

use serde::{Deserialize, Serialize};

use crate::Tool;

/// What kind of document it is.
pub const BENCH_SCHEMA: &str = "hotloop-bench";
/// Raised when the meaning of a field changes or one goes away; new fields alone do not raise it.
pub const BENCH_VERSION: u32 = 1;
/// What kind of document a line of `hotloop bench --format jsonl` is: one row with the settings it was measured with.
pub const BENCH_ROW_SCHEMA: &str = "hotloop-bench-row";

/// The speed of models in tokens per second, a row for each model, number of threads, depth and test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bench {
    /// [`BENCH_SCHEMA`].
    pub schema: String,
    /// [`BENCH_VERSION`] of the program that wrote it.
    pub version: u32,
    /// How it was measured.
    #[serde(flatten)]
    pub settings: BenchSettings,
    /// Whether somebody ended it: rows may be missing, or have fewer repeats than `repeat`.
    pub interrupted: bool,
    /// What was measured, in the order of the models, numbers of threads, depths and tests.
    pub rows: Vec<BenchRow>,
    /// What was asked for and not measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<SkippedTest>,
}

/// What all rows have in common.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BenchSettings {
    /// The program that measured.
    pub tool: Tool,
    /// The commit it was built from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Whether the program was built without optimisation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub debug_build: bool,
    /// When it began, in UTC by RFC 3339.
    pub created: String,
    /// The name of the CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<String>,
    /// The instruction set of the kernels.
    pub isa: String,
    /// The number format of the KV cache.
    pub cache: String,
    /// Whether weights were used as they lie in the file.
    pub in_place: bool,
    /// Whether quantised weights were expanded to f32.
    pub exact: bool,
    /// Rounds before those that count.
    pub warmup: u64,
    /// Repeats of each test that were asked for.
    pub repeat: u64,
}

/// One test of one model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BenchRow {
    /// The model: a file, the recipe of random weights, or the bundled model.
    pub model: String,
    /// Its architecture.
    pub architecture: String,
    /// How most of its weights are written.
    pub format: String,
    /// The number of its weights.
    pub parameters: u64,
    /// The bytes of all its tensors, as they are written.
    pub model_bytes: u64,
    /// Threads.
    pub threads: u64,
    /// The test as llama-bench calls it: `pp512`, `tg128`, `pp512+tg128`; with a depth `tg128 @ d1024`.
    pub test: String,
    /// Tokens of the prompt, which are computed in blocks.
    pub prompt_tokens: u64,
    /// Tokens computed one by one.
    pub generated_tokens: u64,
    /// Tokens that were in the KV cache before.
    pub depth: u64,
    /// Tokens per second: the mean of all repeats.
    pub tokens_per_s: f64,
    /// The standard deviation of the repeats; absent where there is only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_per_s_stddev: Option<f64>,
    /// The seconds of each repeat.
    pub samples_s: Vec<f64>,
}

/// A test that was asked for and not measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SkippedTest {
    /// The model.
    pub model: String,
    /// The test; absent where the whole model could not be measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<String>,
    /// Why.
    pub reason: String,
}

/// A row together with all that it was measured with, for a line of JSON.
#[derive(Serialize)]
struct BenchLine<'a> {
    schema: &'static str,
    version: u32,
    #[serde(flatten)]
    settings: &'a BenchSettings,
    #[serde(flatten)]
    row: &'a BenchRow,
}

impl Bench {
    /// A line of JSON for each row, with the settings in each of them.
    pub fn to_json_lines(&self) -> String {
        let line = |row| BenchLine { schema: BENCH_ROW_SCHEMA, version: BENCH_VERSION, settings: &self.settings, row };
        let lines = self.rows.iter().map(|row| serde_json::to_string(&line(row)).expect("plain data has a JSON form"));
        lines.map(|line| line + "\n").collect()
    }
}
