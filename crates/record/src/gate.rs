//! A gate: the duels of several cells, and whether a change may pass.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Finding, GateMetric, Metric, Tool, Verdict};

/// What kind of document it is.
pub const GATE_SCHEMA: &str = "hotloop-gate";
/// Raised when the meaning of a field changes or one goes away; new fields alone do not raise it.
pub const GATE_VERSION: u32 = 1;

/// Several cells that were measured, what was asked of them, and what follows.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Gate {
    /// [`GATE_SCHEMA`].
    pub schema: String,
    /// [`GATE_VERSION`] of the program that wrote it.
    pub version: u32,
    /// The program that wrote it.
    pub tool: Tool,
    /// When it began, by RFC 3339 in UTC.
    pub created: String,
    /// The file that it was asked for in, as it was named.
    pub config: String,
    /// What was there before; absent where no cell compares revisions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<Revision>,
    /// What is to pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<Revision>,
    /// The commits of the head that the base has not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commits: Vec<String>,
    /// Whether what cannot be told fails.
    pub fail_on_unresolved: bool,
    /// What was measured, in the order of the file.
    pub cells: Vec<GateCell>,
    /// Regressions that somebody accepted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepted: Vec<Acceptance>,
    /// What moved all cells alike; of several the largest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<Drift>,
    /// The others that moved all cells alike.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_drifts: Vec<Drift>,
    /// What the file has and this measurement left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_measured: Vec<String>,
    /// All that counts in one word: what is advisory or accepted is not in it. Absent where nothing counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Whether the change may pass.
    pub passed: bool,
    /// What the program ends with.
    pub exit_code: u8,
    /// Why it does not pass, the gravest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<Reason>,
    /// What should be looked at, and fails nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Reason>,
    /// Whether it was broken off, so that less was measured than asked for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
}

/// Why a change does not pass, or should be looked at.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Reason {
    /// The exit code that it leads to, or would lead to.
    pub code: u8,
    /// What it is about.
    pub about: ReasonSubject,
    /// The cell; absent where it is about all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<String>,
    /// The metric; absent where it is about all of the cell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    /// What is the matter.
    pub sentence: String,
}

/// What a reason is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReasonSubject {
    /// The whole gate.
    #[default]
    All,
    /// A cell, with all its metrics.
    Cell,
    /// How a metric changed.
    Metric,
    /// A limit for a metric.
    Budget,
    /// An acceptance whose day is over.
    Acceptance,
}

/// A state of the source.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Revision {
    /// As it was asked for, or how it was found.
    pub name: String,
    /// The commit.
    pub commit: String,
}

/// Something that was compared.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct GateCell {
    /// Its name.
    pub name: String,
    /// Whether its speed fails nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub advisory: bool,
    /// What was to be judged, declared beforehand.
    pub gates: Vec<GateMetric>,
    /// Those of them that fail nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub advisory_metrics: Vec<String>,
    /// What was there before.
    pub base: String,
    /// What is to pass.
    pub candidate: String,
    /// `quick`, `standard`, `thorough`.
    pub mode: String,
    /// The file of the duel with all its samples, beside this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// What the names of metrics mean.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metrics: BTreeMap<String, Metric>,
    /// What was found out; empty where nothing could be measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// Limits that the candidate has to keep, whatever the base does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub budgets: Vec<Budget>,
    /// Why it could not be measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// What it took, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// All that counts in one word; absent where nothing does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// What follows for the change.
    pub standing: CellState,
}

/// What follows from a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CellState {
    /// Nothing stands against the change.
    #[default]
    Passed,
    /// It should be looked at.
    Warned,
    /// The change does not pass.
    Failed,
}

/// A limit that holds whatever was there before.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Budget {
    /// The metric.
    pub metric: String,
    /// Which of the values has to keep it: 0.95 is what 95 of 100 stay below.
    pub quantile: f64,
    /// The most that it may be, in the metric's unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<f64>,
    /// The least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<f64>,
    /// Whether it was kept.
    pub state: BudgetState,
    /// Why the values that were measured say nothing about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// The quantile of the values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// How many values there are.
    pub values: u64,
    /// How many of them are beyond the limit.
    pub beyond: u64,
    /// Values that are needed before anything can be said, where there are fewer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needed: Option<u64>,
}

/// Whether a limit was kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BudgetState {
    /// It is kept.
    Kept,
    /// It is not.
    Broken,
    /// The values do not tell.
    Unresolved,
    /// There are no values.
    #[default]
    NotMeasured,
}

/// A regression that somebody accepted.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Acceptance {
    /// The cell.
    pub cell: String,
    /// The metric.
    pub metric: String,
    /// The commit, or its first digits, where it is for one alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Why.
    pub reason: String,
    /// The last day, such as `2026-12-31`.
    pub until: String,
    /// What became of it.
    pub state: AcceptanceState,
}

/// What became of an acceptance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AcceptanceState {
    /// Nothing had to be accepted here.
    #[default]
    NotNeeded,
    /// A regression passed by it.
    Used,
    /// Its last day is over.
    Expired,
}

/// What moved cells that have nothing to do with one another.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Drift {
    /// The metric.
    pub metric: String,
    /// Cells that have it.
    pub cells: u64,
    /// Cells that moved alike.
    pub moved: u64,
    /// By how much, as a share of the value before.
    pub estimate: f64,
}

impl Gate {
    /// As indented JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("documents are plain data") + "\n"
    }

    /// Reads it from JSON.
    ///
    /// # Errors
    /// What is wrong and where, if it is no gate or one of a later version.
    pub fn from_json(text: &str) -> Result<Self, String> {
        crate::check_version(text, GATE_SCHEMA, GATE_VERSION)?;
        serde_json::from_str(text).map_err(|error| error.to_string())
    }
}
