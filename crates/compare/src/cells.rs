//! Several comparisons side by side: what they have in common, their mean, and the second look at one of them.

use record::{Change, Finding, Judgement, Verdict};

use crate::judge::{overall, signed};
use crate::{median, rules, stats};

/// Comparisons that have nothing to do with each other, and moved alike.
#[derive(Debug, Clone, PartialEq)]
pub struct CommonMode {
    /// The metric.
    pub metric: String,
    /// Comparisons that moved the same way by a similar amount.
    pub moved: usize,
    /// Of so many.
    pub of: usize,
    /// The middle of their changes, as a share.
    pub change: f64,
}

/// Metrics in which more than 80 % of unrelated comparisons moved the same way by a similar amount: that is the machine.
#[must_use]
pub fn common_mode(findings: &[&Finding]) -> Vec<CommonMode> {
    let mut metrics: Vec<&str> = findings.iter().flat_map(|finding| gates(finding)).map(|gate| &*gate.metric).collect();
    metrics.sort_unstable();
    metrics.dedup();
    metrics.into_iter().filter_map(|metric| drift(metric, findings)).collect()
}

fn drift(metric: &str, findings: &[&Finding]) -> Option<CommonMode> {
    let changes: Vec<Change> = findings
        .iter()
        .flat_map(|finding| gates(finding))
        .filter(|gate| gate.metric == metric)
        .filter_map(|gate| gate.change)
        // Exact values drift with no machine.
        .filter(|change| change.low < change.high)
        .collect();
    let up = |change: &&Change| change.low > 0.0;
    let down = |change: &&Change| change.high < 0.0;
    let rising: Vec<f64> = changes.iter().filter(up).map(|change| change.estimate.ln_1p()).collect();
    let falling: Vec<f64> = changes.iter().filter(down).map(|change| change.estimate.ln_1p()).collect();
    let moved = if rising.len() >= falling.len() { rising } else { falling };
    let middle = median(&moved)?;
    let alike = moved.iter().filter(|change| (*change - middle).abs() <= middle.abs() * rules::DRIFT_SIMILAR).count();
    let is_drift = changes.len() >= rules::DRIFT_CELLS && alike as f64 > rules::DRIFT_SHARE * changes.len() as f64;
    is_drift.then(|| CommonMode { metric: metric.to_owned(), moved: alike, of: changes.len(), change: middle.exp_m1() })
}

impl CommonMode {
    /// The same as a sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        let (moved, of, noun) = (self.moved, self.of, rules::noun(&self.metric));
        format!(
            "{moved} of {of} unrelated comparisons moved alike in {noun}, by about {}: the machine moved.",
            signed(self.change)
        )
    }

    /// Takes back what was said of this metric, and of the whole with it.
    pub fn demote(&self, finding: &mut Finding) {
        let is_moved = |gate: &&mut Judgement| {
            gate.gate && gate.metric == self.metric && gate.change.is_some_and(|change| change.low < change.high)
        };
        for gate in finding.judgements.iter_mut().filter(is_moved) {
            gate.verdict = Verdict::Unstable;
            gate.sentence = self.sentence();
        }
        if !matches!(finding.verdict, Verdict::WrongOutput | Verdict::Incomparable) {
            finding.verdict = overall(gates(finding).map(|gate| gate.verdict));
            let deciding =
                gates(finding).find(|gate| gate.verdict == finding.verdict).map(|gate| gate.sentence.clone());
            finding.sentence = deciding.unwrap_or_else(|| self.sentence());
        }
    }
}

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
