//! The second measurement of regressions and improvements: a verdict stands only if both agree.

use record::{Duel, Finding, Judgement, Verdict};

use crate::judge::{overall, sentence};

fn gates(finding: &Finding) -> impl Iterator<Item = &Judgement> {
    finding.judgements.iter().filter(|judgement| judgement.gate)
}

fn is_change(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Regressed | Verdict::Improved)
}

/// Whether a gate regressed or improved, so that it needs a second measurement.
#[must_use]
pub fn has_changed(finding: &Finding) -> bool {
    gates(finding).any(|gate| is_change(gate.verdict))
}

/// A duel with a change, after a second measurement of it: what both say is believed. A candidate whose output differs from its first
/// one, while the base's does not, computes something else.
#[must_use]
pub fn confirm_duel(mut first: Duel, second: Duel) -> Duel {
    let nothing = Finding::default();
    let mut findings = std::mem::take(&mut first.findings);
    for finding in findings.iter_mut().filter(|finding| has_changed(finding)) {
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

/// The same after a failed second measurement: the first figures stay, its changes become unresolved.
#[must_use]
pub fn unconfirmed(mut first: Duel, why: &str) -> Duel {
    for finding in first.findings.iter_mut().filter(|finding| has_changed(finding)) {
        let note = |_: &Judgement| {
            Some((Verdict::Unresolved, "The second measurement failed, so this is not confirmed.".to_owned()))
        };
        demote(finding, note);
    }
    first.verdict = overall(first.findings.iter().map(|finding| finding.verdict));
    first.failures.push(format!("the second measurement failed: {why}"));
    first
}

fn puts_out_something_else(first: &Duel, second: &Duel, arm: &str) -> bool {
    let output = |duel: &Duel, name: &str| duel.arms.iter().find(|arm| arm.name == name)?.output.clone();
    let differs = |name: &str| output(first, name).zip(output(second, name)).map(|(before, after)| before != after);
    let base = first.arms.first().map_or("", |base| base.name.as_str());
    // A base whose own output varies cannot show that a candidate's output is wrong.
    differs(base) == Some(false) && differs(arm) == Some(true)
}

fn varied(finding: &Finding) -> Finding {
    let sentence = "Its output differs from that of the first measurement, so it is a different computation and its speed is \
         not judged.";
    Finding {
        verdict: Verdict::WrongOutput,
        sentence: sentence.to_owned(),
        arm: finding.arm.clone(),
        ..Finding::default()
    }
}

/// A finding with a change, after a second measurement of it: a gate keeps its verdict where both agree, else it is unresolved. What
/// forbids a verdict on speed in the second measurement forbids it altogether.
#[must_use]
pub fn confirm(first: &Finding, second: &Finding) -> Finding {
    if !has_changed(first) {
        return first.clone();
    }
    if matches!(second.verdict, Verdict::WrongOutput | Verdict::Incomparable) {
        return withheld(first, second);
    }
    let other = |gate: &Judgement| gates(second).find(|other| other.metric == gate.metric);
    let agrees = |gate: &Judgement| other(gate).is_some_and(|other| other.verdict == gate.verdict);
    let mut finding = first.clone();
    finding.confirmed = Some(gates(first).any(|gate| is_change(gate.verdict) && agrees(gate)));
    demote(&mut finding, |gate| match other(gate).map(|other| other.verdict) {
        Some(again) if again == gate.verdict => None,
        Some(Verdict::Unstable) => Some((
            Verdict::Unstable,
            "In a second measurement the machine was unstable, so the change is not confirmed.".to_owned(),
        )),
        _ => Some((Verdict::Unresolved, "A second measurement did not confirm it.".to_owned())),
    });
    finding
}

/// Replaces the verdict of gates that changed by `word`, where it has one, and adds its sentence.
fn demote(finding: &mut Finding, word: impl Fn(&Judgement) -> Option<(Verdict, String)>) {
    for gate in finding.judgements.iter_mut().filter(|gate| gate.gate && is_change(gate.verdict)) {
        if let Some((verdict, said)) = word(gate) {
            gate.verdict = verdict;
            gate.sentence = format!("{} {said}", gate.sentence);
        }
    }
    finding.verdict = overall(gates(finding).map(|gate| gate.verdict));
    // The declared gates only matter for the sentence of `same`, which this is not.
    finding.sentence = sentence::of_finding(finding, &[]);
}

/// The first finding without any word about speed, because of what the second is.
fn withheld(first: &Finding, second: &Finding) -> Finding {
    let mut finding = first.clone();
    (finding.verdict, finding.differences) = (second.verdict, second.differences.clone());
    finding.sentence = format!("Second measurement: {}", second.sentence);
    for judgement in &mut finding.judgements {
        judgement.verdict = second.verdict;
        judgement.sentence = "Not judged: see the second measurement.".to_owned();
    }
    finding
}
