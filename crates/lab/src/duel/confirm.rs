//! A second measurement of what regressed: only what both say is believed.

use record::{Duel, Finding, Judgement, Verdict};

use super::sitting::{Judge, Sitting, sides};
use super::{Contestant, Settings, Watch};

/// What is added to the seed: the orders of the second measurement are others.
const OTHER_SEED: u64 = 0x5851_F42D_4C95_7F2D;

/// Whether something regressed that has not been measured a second time.
#[must_use]
pub fn needs_confirmation(duel: &Duel) -> bool {
    !duel.interrupted && duel.findings.iter().any(|finding| finding.confirmed.is_none() && regressed(finding).is_some())
}

/// Measures once more what regressed, with fresh processes and in other orders, and gives the first duel with what the second
/// one says of it. What did not regress in both is unresolved.
///
/// # Errors
/// Why it could not be measured.
pub fn confirm(
    first: Duel,
    settings: &Settings,
    contestants: &mut [Box<dyn Contestant>],
    watch: &mut dyn Watch,
) -> Result<Duel, String> {
    confirm_by(first, (settings, contestants), watch, super::judging::judge)
}

pub(super) fn confirm_by(
    mut first: Duel,
    (settings, contestants): (&Settings, &mut [Box<dyn Contestant>]),
    watch: &mut dyn Watch,
    judge: Judge,
) -> Result<Duel, String> {
    let failing: Vec<&str> =
        first.findings.iter().filter(|finding| regressed(finding).is_some()).map(|finding| &*finding.arm).collect();
    let mut sides = sides(contestants)?;
    let base = sides[0].name.clone();
    sides.retain(|side| side.name == base || failing.contains(&side.name.as_str()));
    let settings = Settings {
        seed: settings.seed.wrapping_add(OTHER_SEED),
        calls: Some(first.design.calls).filter(|calls| *calls > 0),
        profiled_rounds: 0,
        ..settings.clone()
    };
    let second = Sitting::new(&settings, sides, watch, judge).confirming().fight()?;
    for finding in first.findings.iter_mut().filter(|finding| regressed(finding).is_some()) {
        let again = second.findings.iter().find(|other| other.arm == finding.arm);
        settle(finding, again, second.interrupted);
    }
    first.verdict = compare_overall(&first.findings);
    first.interrupted |= second.interrupted;
    first.confirmation = Some(Box::new(second));
    Ok(first)
}

/// The gates that regressed, if any did.
fn regressed(finding: &Finding) -> Option<Vec<&Judgement>> {
    let gates: Vec<&Judgement> =
        finding.judgements.iter().filter(|found| found.gate && found.verdict == Verdict::Regressed).collect();
    (!gates.is_empty()).then_some(gates)
}

/// What both measurements say together of one candidate.
fn settle(first: &mut Finding, second: Option<&Finding>, interrupted: bool) {
    let again = second.and_then(regressed).unwrap_or_default();
    let is_confirmed = |found: &Judgement| again.iter().any(|other| other.metric == found.metric);
    let failed = |found: &&mut Judgement| found.gate && found.verdict == Verdict::Regressed;
    let mut all = true;
    for found in first.judgements.iter_mut().filter(failed) {
        if !is_confirmed(found) {
            all = false;
            found.verdict = Verdict::Unresolved;
            let why = if interrupted { "was broken off" } else { "did not show it" };
            found.sentence =
                format!("did not reproduce: a second measurement {why}; the first one said: {}", found.sentence);
        }
    }
    first.confirmed = Some(all);
    if !all {
        let gates = first.judgements.iter().filter(|found| found.gate);
        first.verdict = overall(gates.map(|found| found.verdict));
        first.sentence = format!("did not reproduce; the first measurement said: {}", first.sentence);
    }
}

/// The worst of the candidates.
fn compare_overall(findings: &[Finding]) -> Verdict {
    overall(findings.iter().map(|finding| finding.verdict))
}

/// The worst, or mixed where some improved and some regressed.
fn overall(verdicts: impl Iterator<Item = Verdict>) -> Verdict {
    const WORST_FIRST: [Verdict; 10] = [
        Verdict::WrongOutput,
        Verdict::Incomparable,
        Verdict::Mixed,
        Verdict::Regressed,
        Verdict::Unstable,
        Verdict::LeaningWorse,
        Verdict::Unresolved,
        Verdict::LeaningBetter,
        Verdict::Same,
        Verdict::Improved,
    ];
    let all: Vec<Verdict> = verdicts.collect();
    if all.contains(&Verdict::Regressed) && all.contains(&Verdict::Improved) {
        return Verdict::Mixed;
    }
    WORST_FIRST.into_iter().find(|verdict| all.contains(verdict)).unwrap_or_default()
}
