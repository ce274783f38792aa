//! A second measurement of what improved or regressed: only what both say is believed.

use std::collections::BTreeSet;

use compare::has_changed;
use compare::rules::DuelMode;
use record::Duel;

use super::measurement::{DuelMeasurement, JudgeFn, sides};
use super::{Contestant, DuelObserver, DuelSettings};

/// What is added to the seed: the orders of the second measurement are others.
const OTHER_SEED: u64 = 0x5851_F42D_4C95_7F2D;

/// Fewer launches tell nothing of how launches differ.
const LEAST: u64 = 3;

/// Whether something improved or regressed that has not been measured a second time.
#[must_use]
pub fn needs_confirmation(duel: &Duel) -> bool {
    let confirms = DuelMode::named(&duel.design.mode).is_none_or(|mode| mode.confirms);
    let is_new = |finding: &record::Finding| finding.confirmed.is_none() && has_changed(finding);
    confirms && !duel.interrupted && duel.findings.iter().any(is_new)
}

/// Measures once more what improved or regressed, with fresh processes and in other orders, and gives the first duel with what the
/// second one says of it. What did not do so in both is unresolved, and so is what could not be measured again: why stands in the
/// failures, and the first measurement is kept.
///
/// It takes as many launches as the first one needed. All of the allowed chance is spent on one look, so what was decided at an early
/// look is decided again by less.
///
/// # Errors
/// There are no two sides.
pub fn confirm(
    first: Duel,
    settings: &DuelSettings,
    contestants: &mut [Box<dyn Contestant>],
    watch: &mut dyn DuelObserver,
) -> Result<Duel, String> {
    confirm_by(first, (settings, contestants), watch, compare::judge)
}

pub(super) fn confirm_by(
    first: Duel,
    (settings, contestants): (&DuelSettings, &mut [Box<dyn Contestant>]),
    watch: &mut dyn DuelObserver,
    judge: JudgeFn,
) -> Result<Duel, String> {
    let changed: Vec<&str> =
        first.findings.iter().filter(|finding| has_changed(finding)).map(|finding| &*finding.arm).collect();
    let mut sides = sides(contestants)?;
    let base = sides[0].name.clone();
    sides.retain(|side| side.name == base || changed.contains(&side.name.as_str()));
    let settings = DuelSettings {
        seed: settings.seed.wrapping_add(OTHER_SEED),
        calls: Some(first.design.calls).filter(|calls| *calls > 0),
        profiled_rounds: 0,
        launches: launches(&first, settings),
        rounds: first.design.rounds,
        gates: first.design.gates.clone(),
        usual_gates: BTreeSet::new(),
        ..settings.clone()
    };
    let design = first.design.clone();
    match DuelMeasurement::new(&settings, sides, &mut *watch, judge).at_one_look().confirming(&design).run() {
        Ok(second) => Ok(compare::confirm_duel(first, second)),
        Err(why) => {
            let kept = compare::unconfirmed(first, &why);
            Ok(Duel { interrupted: kept.interrupted || watch.is_stopped(), ..kept })
        }
    }
}

/// As many launches as the first measurement needed, and enough for an interval.
fn launches(first: &Duel, settings: &DuelSettings) -> u64 {
    let needed = first.samples.iter().map(|sample| sample.launch + 1).max().unwrap_or(settings.launches);
    needed.max(LEAST).min(settings.launches)
}
