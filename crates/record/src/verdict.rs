//! What a comparison says of a metric, in words that mean one thing each.

use serde::{Deserialize, Serialize};

/// What can be said of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Worse by at least the threshold.
    Regressed,
    /// Better by at least the threshold.
    Improved,
    /// Shown to be equal within the threshold, which is more than not having seen a difference.
    Same,
    /// Worse, and it is not known whether by as much as the threshold.
    LeaningWorse,
    /// Better, and it is not known whether by as much as the threshold.
    LeaningBetter,
    /// Nothing can be said.
    #[default]
    Unresolved,
    /// The machine moved, not the program.
    Unstable,
    /// The two do not answer the same question.
    Incomparable,
    /// The two do not compute the same.
    WrongOutput,
    /// Some metrics improved and some regressed: said of several metrics together only.
    Mixed,
}

/// How a value changed, as shares of the value before: 0.05 is 5 % more. More is not always worse; the metric tells.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Change {
    /// The estimate.
    pub estimate: f64,
    /// The change is not below, with the confidence that was asked for.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
}

/// What was found out about one metric.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Judgement {
    /// The name of the metric.
    pub metric: String,
    /// The word for it.
    pub verdict: Verdict,
    /// The word as a sentence, with its figures.
    pub sentence: String,
    /// Whether it was declared beforehand that the whole is judged by it.
    pub gate: bool,
    /// The middle of the values before, in the metric's unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<f64>,
    /// The middle of the values after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidate: Option<f64>,
    /// How it changed; absent where too little was measured to say where the change lies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<Change>,
    /// The best guess of the change where its bounds are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<f64>,
    /// The smallest change that matters, as a share.
    pub threshold: f64,
    /// The largest difference between base and placebo that their interval allows. It decides nothing unless the two differ significantly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor: Option<f64>,
    /// The smallest detectable change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visible: Option<f64>,
    /// Launches besides these with which a duel would probably resolve it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more_launches: Option<u64>,
    /// The chance of such a change, or a greater one, where there is none; corrected for the number of metrics.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
    /// Launches that it is made from.
    pub launches: u64,
    /// Rounds that it is made from.
    pub rounds: u64,
    /// Rounds that had no value, or none that can be compared.
    #[serde(default)]
    pub dropped: u64,
}
