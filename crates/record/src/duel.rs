//! A duel: two or more sides measured in turns, and the results.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Environment, Judgement, Metric, Model, Quality, Sample, Subject, Tool, Verdict, Workload};

/// The schema of the document.
pub const DUEL_SCHEMA: &str = "hotloop-duel";
/// Increased when a field changes its meaning or is removed, not when fields are added.
pub const DUEL_VERSION: u32 = 1;
/// Metrics whose names begin so tell of the machine during a round, not of the side: they are shown and never judged.
pub const ENVIRONMENT_METRICS: &str = "env_";

/// Sides that were measured in turns. Raw samples are kept, so that it can be judged again.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Duel {
    /// [`DUEL_SCHEMA`].
    pub schema: String,
    /// [`DUEL_VERSION`] of the program that wrote it.
    pub version: u32,
    /// The program that wrote it.
    pub tool: Tool,
    /// When it began, by RFC 3339 in UTC.
    pub created: String,
    /// A name for what is compared, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What was typed behind the program's name, where it was asked for by a command line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// How it was measured.
    pub design: Design,
    /// The sides: the base first, behind it its placebo where there is one, then the candidates.
    pub arms: Vec<Arm>,
    /// The environment of the measurement.
    pub environment: Environment,
    /// Definitions of the metrics in samples.
    #[serde(default)]
    pub metrics: BTreeMap<String, Metric>,
    /// Every round of every arm, in the order of time.
    #[serde(default)]
    pub samples: Vec<Sample>,
    /// Profiles, from separate rounds that are not among the samples.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<LaunchProfile>,
    /// The findings, for each candidate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// The overall verdict.
    pub verdict: Verdict,
    /// The duration in seconds, without the second measurement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_s: Option<f64>,
    /// The second measurement of changes that the first one found, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmation: Option<Box<Duel>>,
    /// Whether it was interrupted, so that less was measured than requested.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// Failures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<String>,
    /// Remarks that help to understand the figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// How the sides were measured.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Design {
    /// `quick`, `standard`, `thorough`.
    pub mode: String,
    /// The maximum number of launches.
    pub launches: u64,
    /// Rounds of each launch.
    pub rounds: u64,
    /// The launches after which the duel may stop early: the interim analyses.
    pub looks: Vec<u64>,
    /// The accepted probability of a false verdict, for all gates together.
    pub alpha: f64,
    /// The RNG seed of the orders.
    pub seed: u64,
    /// Calls of the work in one round, the same for all arms.
    pub calls: u64,
    /// The planned duration of a round, in seconds.
    pub round_s: f64,
    /// Rounds of each process before those that count.
    pub warmup: u64,
    /// The metrics that decide, declared before the measurement, with their thresholds as shares.
    pub gates: Vec<GateMetric>,
    /// Why it is judged by these metrics, where nobody named them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate_reason: Option<String>,
    /// What it was allowed to take, in seconds; launches, rounds and calls were planned to fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_budget_s: Option<f64>,
    /// The memory of every process was shifted at random by fewer bytes than these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub padding_bytes: Option<u64>,
    /// Whether this is the second measurement of a change that the first one found.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub confirmation: bool,
}

/// A metric that the whole is judged by.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct GateMetric {
    /// Its name.
    pub metric: String,
    /// The threshold, as a share.
    pub threshold: f64,
}

/// One side.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Arm {
    /// `A`, `A'` for the placebo, `B`, `C` and so on; samples carry it.
    pub name: String,
    /// What it is, as it was asked for.
    pub label: String,
    /// The program.
    pub subject: Subject,
    /// The models that it used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<Model>,
    /// The workload.
    pub workload: Workload,
    /// A hash of what it put out, where that is told; every round put out the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// Whether rounds differed in what they put out; absent where they do not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_varies: Option<bool>,
    /// The differences from the base that are the point of the comparison: names of settings, such as `kv`,
    /// and `model`. They are no
    /// reason not to compare.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asked: Vec<String>,
    /// Whether it may put out something else than the base, because what is asked changes numbers: then other output is not wrong.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub other_output: bool,
    /// How far it put out the same as the base, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreement: Option<Agreement>,
    /// What a text cost its model, where one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quality: Option<Quality>,
}

/// How far two sides put out the same tokens, always taking the likeliest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Agreement {
    /// Tokens from the beginning of each sequence on that are the same, of all sequences together.
    pub equal: u64,
    /// Tokens of all sequences.
    pub of: u64,
}

/// Where the time of some rounds of one process went.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LaunchProfile {
    /// The arm.
    pub arm: String,
    /// The launch.
    pub launch: u64,
    /// Rounds in it.
    pub rounds: u64,
    /// Their time by the clock, in nanoseconds.
    pub wall_ns: u64,
    /// Every path of the call tree, with names from the root on.
    pub paths: Vec<PathTime>,
}

/// The time of one path of a call tree.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PathTime {
    /// The names from the root on.
    pub path: Vec<String>,
    /// How often to repeat it.
    pub calls: u64,
    /// Time in it and not in what it called, of all threads.
    pub self_ns: u64,
}

/// The findings about one candidate.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Finding {
    /// The candidate's arm.
    pub arm: String,
    /// The overall verdict: the worst of the gates, or `mixed`.
    pub verdict: Verdict,
    /// The same as a sentence.
    pub sentence: String,
    /// Why the two cannot be compared; empty where they can.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<Difference>,
    /// Every metric, those that are judged first.
    pub judgements: Vec<Judgement>,
    /// The parts of the call tree that changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Waterfall>,
    /// What a second measurement said of what had regressed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed: Option<bool>,
}

/// Something in which two sides differ, or that is not known of one.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Difference {
    /// The field, such as `build profile`.
    pub field: String,
    /// What the base has; absent where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// What the candidate has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidate: Option<String>,
}

/// A change broken down into parts, which add up to the total.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Waterfall {
    /// Time before, in seconds for each round.
    pub base_s: f64,
    /// Time after.
    pub candidate_s: f64,
    /// The difference.
    pub total: TimeDifference,
    /// The parts, the largest change first; what has no scope stands as a part too.
    pub parts: Vec<WaterfallPart>,
}

/// A difference of times, in seconds for each round.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct TimeDifference {
    /// The estimate.
    pub estimate: f64,
    /// The lower bound; absent if there are too few launches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// The upper bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
}

/// One part of a change.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct WaterfallPart {
    /// The names from the root on; empty for what has no scope.
    pub path: Vec<String>,
    /// Its own time before, without what it called; absent where it is not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_s: Option<f64>,
    /// The same after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidate_s: Option<f64>,
    /// Standard error of the time before, where it was estimated from some of the calls; of single profiles only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_se_s: Option<f64>,
    /// And after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidate_se_s: Option<f64>,
    /// The difference.
    pub change: TimeDifference,
    /// Calls in each round, before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_calls: Option<f64>,
    /// And after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidate_calls: Option<f64>,
}
