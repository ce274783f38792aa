//! The second look at what regressed.

use record::{Duel, Finding, Judgement, Verdict};

use crate::judge::{overall, sentence};

fn gates(finding: &Finding) -> impl Iterator<Item = &Judgement> {
    finding.judgements.iter().filter(|judgement| judgement.gate)
}

fn has_regressed(finding: &Finding) -> bool {
    gates(finding).any(|gate| gate.verdict == Verdict::Regressed)
}

/// A duel of which something regressed, after a second measurement of that: what both say is believed. A candidate that put out
/// something else than the first time, while the base did not, computes something else.
#[must_use]
pub fn confirm_duel(mut first: Duel, second: Duel) -> Duel {
    let nothing = Finding::default();
    let mut findings = std::mem::take(&mut first.findings);
    for finding in findings.iter_mut().filter(|finding| has_regressed(finding)) {
        let again = second.findings.iter().find(|other| other.arm == finding.arm);
        *finding = match puts_out_something_else(&first, &second, &finding.arm) {
            true => withheld(finding, &varied(finding)),
            false => confirm(finding, again.unwrap_or(&nothing)),
        };
    }
    first.findings = findings;
    first.verdict = overall(first.findings.iter().map(|finding| finding.verdict));
    first.interrupted |= second.interrupted;
    first.confirmation = Some(Box::new(second));
    first
}

/// The same where the second measurement failed: the first is kept with its figures, and what regressed in it is not known.
#[must_use]
pub fn unconfirmed(mut first: Duel, why: &str) -> Duel {
    for finding in first.findings.iter_mut().filter(|finding| has_regressed(finding)) {
        let note = |_: &Judgement| {
            Some((Verdict::Unresolved, "It could not be measured a second time, so it is not believed.".to_owned()))
        };
        demote(finding, note);
    }
    first.verdict = overall(first.findings.iter().map(|finding| finding.verdict));
    first.failures.push(format!("the second measurement of what regressed: {why}"));
    first
}

fn puts_out_something_else(first: &Duel, second: &Duel, arm: &str) -> bool {
    let output = |duel: &Duel, name: &str| duel.arms.iter().find(|arm| arm.name == name)?.output.clone();
    let differs = |name: &str| output(first, name).zip(output(second, name)).map(|(before, after)| before != after);
    let base = first.arms.first().map_or("", |base| base.name.as_str());
    // Who does not agree with himself cannot tell that another is wrong.
    differs(base) == Some(false) && differs(arm) == Some(true)
}

fn varied(finding: &Finding) -> Finding {
    let sentence =
        "It put out something else than the first time: it is not the same computation, so its speed is not judged.";
    Finding {
        verdict: Verdict::WrongOutput,
        sentence: sentence.to_owned(),
        arm: finding.arm.clone(),
        ..Finding::default()
    }
}

/// A finding that regressed, after a second measurement of it: where that agrees it stands, else nothing is known. What forbids a
/// word about speed in the second forbids it altogether.
#[must_use]
pub fn confirm(first: &Finding, second: &Finding) -> Finding {
    if !has_regressed(first) {
        return first.clone();
    }
    if matches!(second.verdict, Verdict::WrongOutput | Verdict::Incomparable) {
        return withheld(first, second);
    }
    let other = |gate: &Judgement| gates(second).find(|other| other.metric == gate.metric);
    let agrees = |gate: &Judgement| other(gate).is_some_and(|other| other.verdict == Verdict::Regressed);
    let mut finding = first.clone();
    finding.confirmed = Some(gates(first).any(|gate| gate.verdict == Verdict::Regressed && agrees(gate)));
    demote(&mut finding, |gate| match other(gate).map(|other| other.verdict) {
        Some(Verdict::Regressed) => None,
        Some(Verdict::Unstable) => {
            Some((Verdict::Unstable, "Measured a second time, the machine moved, so it is not believed.".to_owned()))
        }
        _ => Some((Verdict::Unresolved, "Measured a second time, it did not come again.".to_owned())),
    });
    finding
}

/// Takes the word away from gates that regressed, where there is another for them, with what is to be said of that.
fn demote(finding: &mut Finding, word: impl Fn(&Judgement) -> Option<(Verdict, String)>) {
    for gate in finding.judgements.iter_mut().filter(|gate| gate.gate && gate.verdict == Verdict::Regressed) {
        if let Some((verdict, said)) = word(gate) {
            gate.verdict = verdict;
            gate.sentence = format!("{} {said}", gate.sentence);
        }
    }
    finding.verdict = overall(gates(finding).map(|gate| gate.verdict));
    // Nothing is the same here: how far that would go need not be known.
    finding.sentence = sentence::of_finding(finding, &[]);
}

/// The first finding without any word about speed, because of what the second is.
fn withheld(first: &Finding, second: &Finding) -> Finding {
    let mut finding = first.clone();
    (finding.verdict, finding.differences) = (second.verdict, second.differences.clone());
    finding.sentence = format!("Measured a second time: {}", second.sentence);
    for judgement in &mut finding.judgements {
        judgement.verdict = second.verdict;
        judgement.sentence = "It is not judged: see what the second measurement was.".to_owned();
    }
    finding
}
