//! A second measurement of what regressed: only what both say is believed.

use record::{Duel, Finding, Verdict};

use super::sitting::{Judge, Sitting, sides};
use super::{Contestant, Settings, Watch};

/// What is added to the seed: the orders of the second measurement are others.
const OTHER_SEED: u64 = 0x5851_F42D_4C95_7F2D;

/// Whether something regressed that has not been measured a second time.
#[must_use]
pub fn needs_confirmation(duel: &Duel) -> bool {
    !duel.interrupted && duel.findings.iter().any(|finding| finding.confirmed.is_none() && has_regressed(finding))
}

/// Measures once more what regressed, with fresh processes and in other orders, and gives the first duel with what the second
/// one says of it. What did not regress in both is unresolved, and so is what could not be measured again: why stands in the
/// failures, and the first measurement is kept.
///
/// # Errors
/// There are no two sides.
pub fn confirm(
    first: Duel,
    settings: &Settings,
    contestants: &mut [Box<dyn Contestant>],
    watch: &mut dyn Watch,
) -> Result<Duel, String> {
    confirm_by(first, (settings, contestants), watch, compare::judge)
}

pub(super) fn confirm_by(
    first: Duel,
    (settings, contestants): (&Settings, &mut [Box<dyn Contestant>]),
    watch: &mut dyn Watch,
    judge: Judge,
) -> Result<Duel, String> {
    let failing: Vec<&str> =
        first.findings.iter().filter(|finding| has_regressed(finding)).map(|finding| &*finding.arm).collect();
    let mut sides = sides(contestants)?;
    let base = sides[0].name.clone();
    sides.retain(|side| side.name == base || failing.contains(&side.name.as_str()));
    let settings = Settings {
        seed: settings.seed.wrapping_add(OTHER_SEED),
        calls: Some(first.design.calls).filter(|calls| *calls > 0),
        profiled_rounds: 0,
        ..settings.clone()
    };
    match Sitting::new(&settings, sides, &mut *watch, judge).confirming().fight() {
        Ok(second) => Ok(compare::confirm_duel(first, second)),
        Err(why) => {
            let kept = compare::unconfirmed(first, &why);
            Ok(Duel { interrupted: kept.interrupted || watch.is_stopped(), ..kept })
        }
    }
}

/// Whether a gate regressed.
fn has_regressed(finding: &Finding) -> bool {
    finding.judgements.iter().any(|found| found.gate && found.verdict == Verdict::Regressed)
}
