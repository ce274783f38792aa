//! A gate: the duels of several cells, and whether a change passes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Finding, GateMetric, Metric, Tool, Verdict};

/// The schema of the document.
pub const GATE_SCHEMA: &str = "hotloop-gate";
/// Increased when a field changes its meaning or is removed, not when fields are added.
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
    /// The candidate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<Revision>,
    /// The commits of the head that the base has not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commits: Vec<String>,
    /// Whether an unresolved verdict fails the gate.
    pub fail_on_unresolved: bool,
    /// What was measured, in the order of the file.
    pub cells: Vec<GateCell>,
    /// Accepted regressions.
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
    /// Whether it was interrupted, so that less was measured than requested.
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
    /// The reason as a sentence.
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
    /// An expired acceptance.
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
    /// Whether its speed is advisory: it never fails the gate.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub advisory: bool,
    /// What was to be judged, declared beforehand.
    pub gates: Vec<GateMetric>,
    /// The advisory ones, which never fail the gate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub advisory_metrics: Vec<String>,
    /// The base.
    pub base: String,
    /// The candidate.
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
    /// The duration in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// All that counts in one word; absent where nothing does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// What follows for the change.
    pub standing: CellState,
}

/// The result of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CellState {
    /// Passed.
    #[default]
    Passed,
    /// Passed with a warning.
    Warned,
    /// Failed.
    Failed,
}

/// An absolute limit.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Budget {
    /// The metric.
    pub metric: String,
    /// The quantile that has to keep it: 0.95 is the 95th percentile.
    pub quantile: f64,
    /// The maximum, in the metric's unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<f64>,
    /// The minimum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<f64>,
    /// Whether it was kept.
    pub state: BudgetState,
    /// Why the measured values cannot decide it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// The quantile of the values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// How many values there are.
    pub values: u64,
    /// How many of them exceed the limit.
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
    /// The values are not conclusive.
    Unresolved,
    /// There are no values.
    #[default]
    NotMeasured,
}

/// An accepted regression.
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
    /// Its state.
    pub state: AcceptanceState,
}

/// The state of an acceptance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AcceptanceState {
    /// There was no regression to accept.
    #[default]
    NotNeeded,
    /// It accepted a regression.
    Used,
    /// Its last day is over.
    Expired,
}

/// A change that unrelated cells have in common.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Drift {
    /// The metric.
    pub metric: String,
    /// Cells that have it.
    pub cells: u64,
    /// Cells that changed in the same way.
    pub moved: u64,
    /// By how much, as a share of the value before.
    pub estimate: f64,
}
