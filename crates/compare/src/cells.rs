//! Several comparisons: the second look at one of them, and the mean of many.

use record::{Change, Finding, Judgement, Verdict};

use crate::judge::overall;
use crate::stats;

fn gates(finding: &Finding) -> impl Iterator<Item = &Judgement> {
    finding.judgements.iter().filter(|judgement| judgement.gate)
}

/// A finding that regressed, after a second measurement of it: where that agrees it stands, else nothing is known.
#[must_use]
pub fn confirm(first: &Finding, second: &Finding) -> Finding {
    let bad = |verdict| matches!(verdict, Verdict::Regressed | Verdict::Mixed);
    let again =
        |gate: &Judgement| gates(second).any(|other| other.metric == gate.metric && other.verdict == gate.verdict);
    let mut finding = first.clone();
    if !bad(first.verdict) {
        return finding;
    }
    let failing = |gate: &&Judgement| gate.verdict == Verdict::Regressed;
    let agrees = gates(first).filter(failing).any(again);
    finding.confirmed = Some(agrees);
    for gate in finding.judgements.iter_mut().filter(|gate| gate.gate && gate.verdict == Verdict::Regressed) {
        if !again(gate) {
            gate.verdict = Verdict::Unresolved;
            gate.sentence = format!("{} Measured a second time, it did not come again.", gate.sentence);
        }
    }
    finding.verdict = overall(gates(&finding).map(|gate| gate.verdict));
    let deciding = gates(&finding).find(|gate| gate.verdict == finding.verdict).map(|gate| gate.sentence.clone());
    finding.sentence = deciding.unwrap_or_else(|| first.sentence.clone());
    finding
}

/// The mean of changes of several comparisons, each a share, as a ratio; with its interval by Student's t over the comparisons. `None`
/// below two.
#[must_use]
pub fn geomean(changes: &[f64], confidence: f64) -> Option<Change> {
    let logarithms: Vec<f64> = changes.iter().map(|change| change.ln_1p()).collect();
    let interval = stats::mean_interval(&logarithms, 1.0 - confidence)?;
    let mean = (interval.low + interval.high) / 2.0;
    Some(Change { estimate: mean.exp_m1(), low: interval.low.exp_m1(), high: interval.high.exp_m1() })
}
