//! What was repeated, and what every repeat took.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What a value in a sample means.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Metric {
    /// What exactly was measured: other tools use the same names for other things.
    pub definition: String,
    /// `s`, `bytes`, `count`.
    pub unit: String,
    /// Which way is better.
    pub better: Better,
    /// What one value covers, where a sample has several calls; absent in records of earlier programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per: Option<Per>,
    /// Whether the same work gives the same value, so that any difference means something.
    #[serde(default)]
    pub exact: bool,
}

/// Which way is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// Less.
    #[default]
    Lower,
    /// More.
    Higher,
}

/// What one value of a metric covers, where a sample has several calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Per {
    /// One call.
    Call,
    /// The sum of all calls of the sample.
    Sample,
    /// The mean of the calls of the sample.
    MeanOfCalls,
    /// The median of the calls of the sample.
    MedianOfCalls,
    /// The largest value of any call of the sample.
    MaximumOfCalls,
}

/// Something that was repeated.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Row {
    /// Its name; samples carry it.
    pub name: String,
    /// What it is, in a sentence.
    pub what: String,
    /// The row that it is a part of: its time is in that one's too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part_of: Option<String>,
    /// The model, where it is work of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What of the machine its work is measured by: `f32`, `int8`, `read`; absent where neither makes sense.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limited_by: Option<String>,
    /// Calls in one sample; values are of the whole sample.
    pub calls: u64,
    /// Floating-point operations of one call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flops: Option<f64>,
    /// Bytes that one call has to move.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<f64>,
    /// Tokens of one call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<f64>,
    /// The threads it may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u64>,
}

/// Whether a sample counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Kept, but in no figure.
    Warmup,
    /// It counts.
    #[default]
    Timed,
}

/// One repeat of a row.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sample {
    /// The row.
    pub row: String,
    /// Whether it counts.
    pub phase: Phase,
    /// Which side of a comparison it is of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm: Option<String>,
    /// The process, counted from 0.
    #[serde(default)]
    pub launch: u64,
    /// The turn, counted from 0.
    #[serde(default)]
    pub round: u64,
    /// When it began, since the run did.
    pub start_ns: u64,
    /// Its values, by the names of metrics.
    pub values: BTreeMap<String, f64>,
    /// Values that come several to a sample, in their order, such as the time of each token.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub series: BTreeMap<String, Vec<f64>>,
}
