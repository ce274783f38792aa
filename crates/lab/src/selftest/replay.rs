//! Judging a duel that was measured to its end as if it had been looked at on the way.

use compare::JudgedDuel;
use compare::rules::{self, DuelMode};
use record::{Duel, GateMetric};

/// What a duel of this mode would have said, by these gates: its first launches and rounds, as many as the mode has, looked at in
/// turns until it is decided.
#[must_use]
pub fn replay(duel: &Duel, mode: DuelMode, gates: &[GateMetric]) -> JudgedDuel {
    let mut seen = duel.clone();
    seen.findings.clear();
    seen.design.mode = mode.name.to_owned();
    (seen.design.launches, seen.design.rounds) = (mode.launches, mode.rounds);
    (seen.design.looks, seen.design.alpha) = (mode.looks.to_vec(), rules::ALPHA);
    seen.design.gates = gates.to_vec();
    seen.samples.clear();
    let mut outcome = compare::judge(&seen, 0);
    for (looked, launches) in mode.looks.iter().enumerate() {
        let is_seen = |sample: &&record::Sample| sample.launch < *launches && sample.round < mode.rounds;
        seen.samples = duel.samples.iter().filter(is_seen).cloned().collect();
        outcome = compare::judge(&seen, looked);
        if outcome.is_decided() {
            break;
        }
    }
    outcome
}
