//! Two stored runs side by side, and what can be said of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::document::{self, DocumentError};
use crate::{Difference, Judgement, Metric, Tool, Verdict, Waterfall};

/// The schema of the document.
pub const COMPARISON_SCHEMA: &str = "hotloop-comparison";
/// Increased when a field changes its meaning or is removed, not when fields are added.
pub const COMPARISON_VERSION: u32 = 1;

/// Two runs of different measurements. What was measured in turns is a [`Duel`](crate::Duel), and says more.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Comparison {
    /// [`COMPARISON_SCHEMA`].
    pub schema: String,
    /// [`COMPARISON_VERSION`] of the program that wrote it.
    pub version: u32,
    /// The program that wrote it.
    pub tool: Tool,
    /// The run before.
    pub base: ComparedRun,
    /// The run after.
    pub candidate: ComparedRun,
    /// How sure intervals are, as a share.
    pub confidence: f64,
    /// The overall verdict.
    pub verdict: Verdict,
    /// The same as a sentence.
    pub sentence: String,
    /// Why the two cannot be compared; empty where they can.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<Difference>,
    /// Whether both are of the same program with the same settings, so that only the machine or chance can have changed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub same_subject: bool,
    /// Whether both put out the same; absent where one does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_output: Option<bool>,
    /// What is known of both, whether or not it is the same.
    pub facts: Vec<Difference>,
    /// The time of all that no other is a part of; absent where nothing was timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub totals: Option<Totals>,
    /// What the names of metrics mean.
    #[serde(default)]
    pub metrics: BTreeMap<String, Metric>,
    /// What was repeated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<RowChange>,
    /// The call trees, laid over each other: parents before children.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<ScopeChange>,
    /// Where the change of the roots comes from: the own times of all paths, indices taken together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Waterfall>,
    /// The models.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<ModelChange>,
    /// What declares its work: rows without a model, and scopes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernels: Vec<KernelChange>,
    /// The words of a command that would settle it; empty where none is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settle: Vec<String>,
    /// Remarks that help to understand the figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// One of the two.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ComparedRun {
    /// Its name, as the user gave it.
    pub name: String,
    /// Its id in the store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// When it began.
    pub created: String,
}

/// Whether something is there on both sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Presence {
    /// Before and after.
    #[default]
    Kept,
    /// After only.
    Added,
    /// Before only.
    Removed,
    /// Before and after, by another name.
    Renamed,
}

/// Sums over roots, which nothing is counted twice in.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Totals {
    /// What they are sums of: `scopes` or `rows`.
    pub of: String,
    /// Before; absent where nothing was timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<Total>,
    /// After.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidate: Option<Total>,
}

/// The sums of one side.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Total {
    /// How many roots there are.
    pub roots: u64,
    /// Their time.
    pub seconds: f64,
    /// What they allocated; absent where that was not counted for each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alloc_bytes: Option<f64>,
    /// How many there are with all that is nested.
    pub all: u64,
    /// The sum of the times of all of them, in which nested time counts again and again: no total, though some tools print it.
    pub nested_s: f64,
}

/// A row on both sides.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RowChange {
    /// Its name.
    pub name: String,
    /// The row that it is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part_of: Option<String>,
    /// The model, where it is work of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Where it is.
    pub presence: Presence,
    /// Samples before that count.
    pub base_samples: u64,
    /// And after.
    pub candidate_samples: u64,
    /// How fast it was before; absent where it declares no work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<WorkRate>,
    /// And after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidate: Option<WorkRate>,
    /// Every metric, for one call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub judgements: Vec<Judgement>,
}

/// What a call does in its time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct WorkRate {
    /// The time of one call.
    pub call_s: f64,
    /// The rate.
    pub per_second: f64,
    /// What is counted: `tok`, `FLOP`, `OP`, `B`.
    pub unit: String,
    /// The part of what the machine can do, where that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// What limits it: `f32`, `L2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
}

/// A path of the call tree on both sides.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ScopeChange {
    /// Its name; after, where it was renamed.
    pub name: String,
    /// What it was called before, where it was renamed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<String>,
    /// By what that was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    /// What tells it from others of the same name below the same parent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u64>,
    /// Its parent's place in the list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<usize>,
    /// Where it is.
    pub presence: Presence,
    /// Before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<ScopeFigures>,
    /// After. Where more was repeated than before, as much of it as before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidate: Option<ScopeFigures>,
}

/// What a path took.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct ScopeFigures {
    /// Calls.
    pub calls: f64,
    /// Time in it and all below it.
    pub total_s: f64,
    /// Standard error of the total, where it was estimated and the run tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_se_s: Option<f64>,
    /// Time in it and not in any scope below it.
    pub self_s: f64,
    /// Standard error of the self time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub self_se_s: Option<f64>,
    /// Allocations in it and all below it; absent where none were counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocs: Option<f64>,
    /// Bytes of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alloc_bytes: Option<f64>,
    /// Floating-point operations declared.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub flops: f64,
    /// Bytes declared.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bytes: f64,
    /// Tokens declared.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tokens: f64,
    /// Whether times are estimates from some of the calls.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_estimate: bool,
}

/// A model on both sides.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ModelChange {
    /// Its name.
    pub name: String,
    /// Before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<StoredModel>,
    /// After.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidate: Option<StoredModel>,
}

/// What a model's speed and memory are told by; medians.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct StoredModel {
    /// How its largest matrices are written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// Generations that were measured.
    pub samples: u64,
    /// Tokens generated per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_per_s: Option<f64>,
    /// Seconds to the first token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_token_s: Option<f64>,
    /// Tokens of the prompt per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefill_tokens_per_s: Option<f64>,
    /// Bytes allocated for each token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alloc_bytes_per_token: Option<f64>,
    /// Bytes of the cache for each position.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_bytes_per_token: Option<f64>,
    /// Bytes of its weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight_bytes: Option<u64>,
    /// The most bytes live at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_live_bytes: Option<u64>,
}

/// Declared work on both sides, by its name.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct KernelChange {
    /// Its name.
    pub name: String,
    /// Where the figures are from: `row` or `scope`.
    pub of: String,
    /// Before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<WorkRate>,
    /// After.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidate: Option<WorkRate>,
}

fn is_zero(number: &f64) -> bool {
    *number == 0.0
}

impl Comparison {
    /// Reads it from JSON.
    ///
    /// # Errors
    /// What is wrong and where, for another document or one of a later version.
    pub fn from_json(text: &str) -> Result<Self, DocumentError> {
        let comparison: Self = document::read(text, COMPARISON_SCHEMA, COMPARISON_VERSION)?;
        let mut scopes = comparison.scopes.iter().enumerate();
        match scopes.find(|(at, scope)| scope.parent.is_some_and(|parent| parent >= *at)) {
            Some((at, scope)) => {
                let message = format!("scopes[{at}]: `{}` comes before its parent", scope.name);
                Err(DocumentError::Invalid(message))
            }
            None => Ok(comparison),
        }
    }
}
