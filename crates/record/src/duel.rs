//! A duel: two or more sides, measured in turns, and what came out.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Environment, Judgement, Metric, Model, Quality, Sample, Subject, Tool, Verdict, Workload};

/// What kind of document it is.
pub const DUEL_SCHEMA: &str = "hotloop-duel";
/// Raised when the meaning of a field changes or one goes away; new fields alone do not raise it.
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
    /// Where that happened.
    pub environment: Environment,
    /// What the names of values in samples mean.
    #[serde(default)]
    pub metrics: BTreeMap<String, Metric>,
    /// Every round of every arm, in the order of time.
    #[serde(default)]
    pub samples: Vec<Sample>,
    /// Where the time went, in rounds of their own that are in no sample.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<LaunchProfile>,
    /// What was found out, for each candidate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// All of it in one word.
    pub verdict: Verdict,
    /// What it took, in seconds; without the second measurement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_s: Option<f64>,
    /// The second measurement of changes that the first one found, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmation: Option<Box<Duel>>,
    /// Whether it was broken off, so that less was measured than asked for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<String>,
    /// What has to be known to understand the figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// How sides were measured.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Design {
    /// `quick`, `standard`, `thorough`.
    pub mode: String,
    /// Launches that were planned at most.
    pub launches: u64,
    /// Rounds of each launch.
    pub rounds: u64,
    /// Launches after which it was looked whether the verdict stands.
    pub looks: Vec<u64>,
    /// The chance of a false verdict that was allowed, for all that is judged together.
    pub alpha: f64,
    /// What the orders follow from.
    pub seed: u64,
    /// Repeats of the work in one round, the same for all arms.
    pub calls: u64,
    /// What a round was to take, in seconds.
    pub round_s: f64,
    /// Rounds of each process before those that count.
    pub warmup: u64,
    /// What is judged, declared beforehand, with the change that matters as a share.
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
    /// The change that matters, as a share.
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
    /// The models it worked with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<Model>,
    /// What it was asked to do.
    pub workload: Workload,
    /// A hash of what it put out, where that is told; every round put out the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// Whether rounds differed in what they put out; absent where they do not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_varies: Option<bool>,
    /// In what it differs from the base because that is what is asked: names of settings, such as `kv`, and `model`. That is no
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
    /// How often.
    pub calls: u64,
    /// Time in it and not in what it called, of all threads.
    pub self_ns: u64,
}

/// What was found out about one candidate.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Finding {
    /// The candidate's arm.
    pub arm: String,
    /// All of it in one word: the worst of the gates, or `mixed`.
    pub verdict: Verdict,
    /// The same as a sentence.
    pub sentence: String,
    /// Why the two cannot be compared; empty where they can.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<Difference>,
    /// Every metric, those that are judged first.
    pub judgements: Vec<Judgement>,
    /// Where the change comes from.
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

/// A change, part by part. The parts sum to the total.
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
    /// The best guess.
    pub estimate: f64,
    /// Not below; absent where there are too few launches to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Nor above.
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

impl Duel {
    /// As indented JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("documents are plain data") + "\n"
    }

    /// Reads it from JSON.
    ///
    /// # Errors
    /// What is wrong and where, if it is no duel or one of a later version.
    pub fn from_json(text: &str) -> Result<Self, String> {
        crate::check_version(text, DUEL_SCHEMA, DUEL_VERSION)?;
        serde_json::from_str(text).map_err(|error| error.to_string())
    }
}
