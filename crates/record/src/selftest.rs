//! The document that `hotloop selftest --json` prints.

use serde::{Deserialize, Serialize};

use crate::{Design, Environment, Tool, Verdict};

/// The schema of the document.
pub const SELF_TEST_SCHEMA: &str = "hotloop-selftest";
/// Increased when a field changes its meaning or is removed, not when fields are added.
pub const SELF_TEST_VERSION: u32 = 1;

/// How often verdicts were right about work whose truth is known, on one machine at one time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SelfTest {
    /// [`SELF_TEST_SCHEMA`].
    pub schema: String,
    /// [`SELF_TEST_VERSION`] of the program that wrote it.
    pub version: u32,
    /// The program that wrote it.
    pub tool: Tool,
    /// When it began, by RFC 3339 in UTC.
    pub created: String,
    /// How long it took, in seconds.
    pub duration_s: f64,
    /// How each duel was fought; its gates are those of the trials, each judged alone.
    pub design: Design,
    /// The environment of the measurement.
    pub environment: Environment,
    /// What was tried, by metric and by how much more work there was.
    pub trials: Vec<Trial>,
    /// Whether it was broken off, or its time was up, so that there are fewer duels than asked for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
}

/// Duels of which the truth is known, judged by one metric.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Trial {
    /// The metric.
    pub metric: String,
    /// The change that mattered, as a share.
    pub threshold: f64,
    /// How much more work the candidate had, as a share; 0 where both sides were the same.
    pub more: f64,
    /// Duels.
    pub duels: u64,
    /// Those that were called: a change where there was none, or a regression where there was one.
    pub called: u64,
    /// The share of those among endless many is not below, with 95 % confidence.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
    /// What was said, and how often; the most frequent first.
    pub words: Vec<WordCount>,
    /// The middle of what the duels took for the change, as a share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<f64>,
    /// The middle of the smallest changes that they could have seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visible: Option<f64>,
}

/// How often a word was said.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct WordCount {
    /// The word.
    pub verdict: Verdict,
    /// How often to repeat it.
    pub count: u64,
}
