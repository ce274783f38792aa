//! Duels: two or more sides measured in turns, so that whatever the machine does meets all of them alike.
//!
//! Every launch has fresh processes of all sides, of which only one works at a time. The base is there twice: its second
//! process is the placebo, and what differs between the two is what the machine adds. Orders are random and follow from a seed.

mod calibrate;
mod confirm;
mod differences;
mod measurement;
mod profiles;
mod program;
mod revision;
mod settings;
#[cfg(test)]
mod tests;
pub mod worker;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process;
use std::time::Duration;

use record::{Arm, Change, Difference, Metric, Profile};
use serde::{Deserialize, Serialize};

pub use compare::rules::DuelMode;
pub use confirm::{confirm, needs_confirmation};
pub use measurement::{JudgeFn, duel};
pub use program::{Program, ProgramSettings};
pub use revision::{BuildError, Project, Revision};
pub use settings::DuelSettings;

/// The wall time of a round, from which its length is chosen.
pub const WALL: &str = "wall_s";
/// CPU time of a round.
const CPU: &str = "cpu_s";
/// CPU time of the main thread in a round.
const MAIN_CPU: &str = "env_main_cpu_s";
/// How long the main thread waited for a CPU in a round, although it could run.
const RUN_DELAY: &str = "env_run_delay_s";
/// Times that a CPU was taken from the process that worked.
pub const INVOLUNTARY_SWITCHES: &str = "env_involuntary_switches";

/// One side of a duel: it can be started again and again.
pub trait Contestant {
    /// What it is. The name of the arm and what it put out are filled in by the duel.
    fn arm(&self) -> Arm;

    /// What the values of its readings mean. It is asked before and behind the rounds: some learn it from what they run.
    fn metrics(&self) -> BTreeMap<String, Metric>;

    /// Starts it afresh, ready to work.
    ///
    /// # Errors
    /// Why it cannot be started.
    fn launch(&mut self) -> Result<Box<dyn Launched>, String>;

    /// The same under conditions that differ from launch to launch and from arm to arm. Sides that cannot do that ignore them.
    ///
    /// # Errors
    /// Why it cannot be started.
    fn launch_under(&mut self, _: &Conditions) -> Result<Box<dyn Launched>, String> {
        self.launch()
    }

    /// The file that it runs, where the processes of another arm can run a copy of it.
    fn file(&self) -> Option<PathBuf> {
        None
    }

    /// In what it would have to be like the base and is not: then it is not measured. Two builds of one program by different
    /// profiles say nothing about the program.
    fn differences(&self, base: &Arm) -> Vec<Difference> {
        differences::differences(base, &self.arm())
    }

    /// What has to be known to understand its figures; asked behind the rounds.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The most bytes by which the memory of a process is shifted at random: a page.
pub const PADDING_BYTES: u64 = 4_096;
/// A variable that shifts the memory of a worker; nobody reads it.
const PADDING: &str = "HOTLOOP_PADDING";

/// How the processes of one launch differ from others of the same program without doing other work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Conditions {
    /// What the offsets of its stack and environment follow from; without it they are left as they are. Speed may depend on them by
    /// some percent, so they differ from process to process, and that is in the interval.
    pub seed: Option<u64>,
    /// Whether to run a copy of the file, because another arm runs the file itself.
    pub copied: bool,
}

impl Conditions {
    /// Shifts the memory of a process that is about to be started.
    pub fn pad(&self, command: &mut process::Command) {
        if let Some(seed) = self.seed {
            let bytes = crate::order::Random::new(seed).below(PADDING_BYTES);
            command.env(PADDING, "x".repeat(usize::try_from(bytes).unwrap_or(0)));
        }
    }
}

/// A side that was started. Dropping it ends its process.
pub trait Launched {
    /// Does its work so often, and says what that took. Where `profiled` it also records where the time went, if it can.
    ///
    /// # Errors
    /// Failures.
    fn round(&mut self, calls: u64, profiled: bool) -> Result<Reading, String>;
}

/// What one round took.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Reading {
    /// By the names of metrics, for all calls together.
    #[serde(default)]
    pub values: BTreeMap<String, f64>,
    /// Values that come several to a round.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub series: BTreeMap<String, Vec<f64>>,
    /// What was put out, as a hash or a short text: the same for every round of work that is the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// Where the time went.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
}

impl Reading {
    /// JSON has no infinity and no NaN, and nothing can be compared with them. One of them makes its whole series unknown.
    fn drop_what_is_no_number(&mut self) {
        self.values.retain(|_, value| value.is_finite());
        self.series.retain(|_, series| series.iter().all(|value| value.is_finite()));
    }
}

/// Follows the progress and can stop it.
pub trait DuelObserver {
    /// How far it is.
    fn tell(&mut self, progress: &DuelProgress<'_>);

    /// Whether to stop now and keep what was measured so far.
    fn is_stopped(&self) -> bool;

    /// Whether anybody sees how a metric changed so far. Judging takes the CPU from what is measured next.
    fn is_seen(&self) -> bool {
        false
    }
}

/// How far a duel is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DuelProgress<'a> {
    /// What is being done.
    pub stage: DuelStage,
    /// The launch, counted from 1.
    pub launch: u64,
    /// Launches there are at most.
    pub launches: u64,
    /// The round, counted from 1; 0 before the first.
    pub round: u64,
    /// Rounds of each launch.
    pub rounds: u64,
    /// Whether this is the second measurement of a change that the first one found.
    pub confirmation: bool,
    /// How the first metric that is judged changed, of the first candidate, as far as the launches before this one tell.
    pub so_far: Option<ChangeSoFar<'a>>,
    /// What is left if all launches are needed, as far as that is known.
    pub left: Option<Duration>,
}

/// What is known of a change while it is being measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangeSoFar<'a> {
    /// The metric.
    pub metric: &'a str,
    /// Where its change lies.
    pub change: Change,
}

/// What a duel is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DuelStage {
    /// Finding out how often the work has to be repeated in a round.
    Calibrating,
    /// Starting processes.
    Launching,
    /// Rounds that do not count.
    WarmingUp,
    /// Rounds that count.
    Measuring,
    /// Rounds that record where the time goes.
    Profiling,
}
