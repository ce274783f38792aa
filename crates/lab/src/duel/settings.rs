//! How a duel is fought.

use std::collections::BTreeSet;
use std::time::Duration;

use compare::rules::{self, DuelMode};
use record::{GateMetric, Tool};

use crate::machine::KernelChoice;

/// What to measure and how.
#[derive(Debug, Clone)]
pub struct DuelSettings {
    /// How much.
    pub mode: DuelMode,
    /// Launches at most.
    pub launches: u64,
    /// Rounds of each launch that count.
    pub rounds: u64,
    /// The minimum duration of a round.
    pub round: Duration,
    /// Calls of the work in a round; `None`: as many as reach the minimum duration.
    pub calls: Option<u64>,
    /// Rounds of each launch that record where the time goes, for those that can.
    pub profiled_rounds: u64,
    /// The RNG seed of the orders.
    pub seed: u64,
    /// The probability of a false verdict.
    pub alpha: f64,
    /// What is judged, with the change that matters. Where there is none, one is chosen from the rounds that size the others: CPU time
    /// where every side is CPU-bound on one thread, else wall time.
    pub gates: Vec<GateMetric>,
    /// Why it is judged by these, where that is not plain.
    pub gate_reason: Option<String>,
    /// What the whole may take; launches, rounds and their lengths are planned to fit.
    pub time_budget: Option<Duration>,
    /// Gates for which nobody said what matters: that follows from what they are, which programs tell only when they run.
    pub usual_gates: BTreeSet<String>,
    /// A name for what is compared.
    pub name: Option<String>,
    /// The kernels, for the description of the machine.
    pub chosen: KernelChoice,
    /// The program that measures.
    pub tool: Tool,
}

impl DuelSettings {
    /// As the mode has it, judged by these metrics.
    #[must_use]
    pub fn new(mode: DuelMode, gates: Vec<GateMetric>, chosen: KernelChoice, tool: Tool) -> Self {
        DuelSettings {
            mode,
            launches: mode.launches,
            rounds: mode.rounds,
            round: Duration::from_secs_f64(rules::ROUND_S),
            calls: None,
            profiled_rounds: 1,
            seed: 0,
            alpha: rules::ALPHA,
            gates,
            gate_reason: None,
            time_budget: None,
            usual_gates: BTreeSet::new(),
            name: None,
            chosen,
            tool,
        }
    }

    /// The launches after which the duel may stop early, and the last one.
    #[must_use]
    pub fn looks(&self) -> Vec<u64> {
        looks(self.launches)
    }
}

/// The launches after which a duel of this size may stop early, and the last one.
pub(super) fn looks(launches: u64) -> Vec<u64> {
    let before = DuelMode::THOROUGH.looks.iter().copied().filter(|look| *look < launches);
    before.chain([launches]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_launch_is_always_looked_at() {
        let chosen = KernelChoice::from_environment().expect("kernels");
        let looks = |launches| {
            let settings = DuelSettings::new(DuelMode::STANDARD, Vec::new(), chosen, Tool::default());
            DuelSettings { launches, ..settings }.looks()
        };
        assert_eq!(looks(2), [2]);
        assert_eq!(looks(3), [3]);
        assert_eq!(looks(6), [4, 6]);
        assert_eq!(looks(14), [4, 8, 14]);
        assert_eq!(looks(20), [4, 8, 14, 20]);
    }
}
