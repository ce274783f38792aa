//! How a duel is fought.

use std::time::Duration;

use record::{GateMetric, Tool};

use crate::machine::Chosen;

/// Launches after which it is looked whether the verdict stands; the last launch is one besides.
const LOOKS: [u64; 3] = [3, 6, 10];
/// The chance of a false verdict.
const ALPHA: f64 = 0.05;
/// Shorter rounds spread several times as much: the wall time of rounds of 4 ms by 70 %, of 80 ms by 18 %, on a busy machine.
const ROUND: Duration = Duration::from_millis(250);

/// How much is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Two launches without a placebo: tells a direction at most.
    Quick,
    /// Six launches.
    #[default]
    Standard,
    /// Ten launches with more rounds.
    Thorough,
}

impl Mode {
    /// As the record has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Mode::Quick => "quick",
            Mode::Standard => "standard",
            Mode::Thorough => "thorough",
        }
    }

    /// Launches, and rounds of each.
    #[must_use]
    pub fn size(self) -> (u64, u64) {
        match self {
            Mode::Quick => (2, 6),
            Mode::Standard => (6, 8),
            Mode::Thorough => (10, 12),
        }
    }
}

/// What to measure, and how.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How much.
    pub mode: Mode,
    /// Launches at most.
    pub launches: u64,
    /// Rounds of each launch that count.
    pub rounds: u64,
    /// What a round should take at least.
    pub round: Duration,
    /// Repeats of the work in a round; `None`: as many as make it long enough.
    pub calls: Option<u64>,
    /// Rounds of each launch that record where the time goes, for those that can.
    pub profiled_rounds: u64,
    /// What orders follow from.
    pub seed: u64,
    /// The chance of a false verdict.
    pub alpha: f64,
    /// What is judged, with the change that matters.
    pub gates: Vec<GateMetric>,
    /// A name for what is compared.
    pub name: Option<String>,
    /// The kernels, for the description of the machine.
    pub chosen: Chosen,
    /// Who measures.
    pub tool: Tool,
}

impl Settings {
    /// As the mode has it, judged by these metrics.
    #[must_use]
    pub fn new(mode: Mode, gates: Vec<GateMetric>, chosen: Chosen, tool: Tool) -> Self {
        let (launches, rounds) = mode.size();
        Settings {
            mode,
            launches,
            rounds,
            round: ROUND,
            calls: None,
            profiled_rounds: 1,
            seed: 0,
            alpha: ALPHA,
            gates,
            name: None,
            chosen,
            tool,
        }
    }

    /// Launches after which it is looked whether the verdict stands.
    #[must_use]
    pub fn looks(&self) -> Vec<u64> {
        let before = LOOKS.into_iter().filter(|look| *look < self.launches);
        before.chain([self.launches]).collect()
    }

    /// Whether the base is there twice.
    pub(super) fn has_placebo(&self) -> bool {
        self.mode != Mode::Quick
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_launch_is_always_looked_at() {
        let chosen = Chosen::from_environment().expect("kernels");
        let looks = |launches| {
            let settings = Settings::new(Mode::Standard, Vec::new(), chosen, Tool::default());
            Settings { launches, ..settings }.looks()
        };
        assert_eq!(looks(2), [2]);
        assert_eq!(looks(3), [3]);
        assert_eq!(looks(6), [3, 6]);
        assert_eq!(looks(10), [3, 6, 10]);
        assert_eq!(looks(14), [3, 6, 10, 14]);
    }
}
