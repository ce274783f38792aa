//! What a subject was asked to do, where, and whether it did it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Limits, Machine, Noise};

/// What a subject was asked to do. Runs can be compared where all of this is the same.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Workload {
    /// `standard`, `deep`, `enhanced`, `memory`; `command` for any program.
    pub name: String,
    /// What kind of work it is; absent in records of earlier programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<WorkloadKind>,
    /// What decides the work: tokens, threads, seed, cache and the like, by name.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
    /// Repeats of each row that were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<u64>,
    /// Repeats before the first that counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup: Option<u64>,
    /// The most seconds that it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_budget_s: Option<f64>,
    /// BLAKE3 of the ids of the prompt's tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_blake3: Option<String>,
}

/// What kind of work a workload is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WorkloadKind {
    /// Any program, run as it is.
    Command,
    /// Text generation by the bundled engine, as a side of a duel.
    Generate,
    /// Repeated text generation.
    Standard,
    /// Matrix products, and text generation from a longer prompt.
    Deep,
    /// Kernels, operations on tensors and models of several sizes.
    Enhanced,
    /// The same work with and without the means that save memory.
    Memory,
    /// Several models measured in turns.
    Models,
    /// Training of a model.
    Training,
    /// Work of another tool, which only its name describes.
    Import,
    /// Anything else, such as a kind that a later program added.
    #[serde(other)]
    Other,
}

/// Where a run happened.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Environment {
    /// The machine.
    pub machine: Machine,
    /// What it can do, as measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// What disturbed the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<Noise>,
    /// Variables of the environment that change what is measured, as they were set.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, String>,
}

/// What tells whether two runs computed the same.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Correctness {
    /// BLAKE3 of the ids of all tokens that were generated, those of each inference one after the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_blake3: Option<String>,
    /// How many tokens that were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Whether every repeat generated the same; absent where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats_agree: Option<bool>,
    /// The prompt and what was generated behind it the first time, up to where the model would have ended, or its beginning; absent where
    /// it says nothing, as with random weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}
