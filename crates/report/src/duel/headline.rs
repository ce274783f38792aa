//! The answer in one line: which side is faster, by how much, and how sure that is.

use record::{Better, Change, Duel, Finding, Judgement, Verdict};

use super::verdict::gate;
use crate::document::printable;

/// Longer labels are replaced by the letters of the sides.
const LONGEST_LABEL: usize = 32;

/// A line for each candidate.
pub(super) fn lines(duel: &Duel) -> Vec<String> {
    let took = took(duel).map_or_else(String::new, |took| format!(", {took}"));
    let interrupted = if duel.interrupted { "interrupted, so far: " } else { "" };
    duel.findings
        .iter()
        .map(|finding| printable(&format!("{interrupted}{}{took}", Line::new(duel, finding).text())))
        .collect()
}

/// The time of both measurements together.
fn took(duel: &Duel) -> Option<String> {
    let second = duel.confirmation.as_ref().and_then(|second| second.duration_s).unwrap_or(0.0);
    let seconds = duel.duration_s? + second;
    Some(if seconds < 9.95 { format!("{seconds:.1} s") } else { format!("{seconds:.0} s") })
}

/// What people call a metric in a sentence.
pub(super) fn noun(metric: &str) -> &str {
    if metric == "wall_s" { "wall time" } else { compare::rules::noun(metric) }
}

struct Line<'a> {
    duel: &'a Duel,
    finding: &'a Finding,
    base: &'a str,
    candidate: &'a str,
}

impl<'a> Line<'a> {
    fn new(duel: &'a Duel, finding: &'a Finding) -> Self {
        let label = |name: &str| duel.arms.iter().find(|arm| arm.name == name).map_or("", |arm| arm.label.as_str());
        let base = duel.arms.first().map_or("A", |arm| arm.name.as_str());
        let labels = [label(base), label(&finding.arm)];
        let is_good = |label: &&str| !label.is_empty() && label.chars().count() <= LONGEST_LABEL;
        let [base, candidate] =
            if labels.iter().all(is_good) && labels[0] != labels[1] { labels } else { [base, finding.arm.as_str()] };
        Self { duel, finding, base, candidate }
    }

    fn text(&self) -> String {
        let Self { finding, base, candidate, .. } = self;
        let judged = gate(finding);
        let by = |word: &str| judged.map_or_else(String::new, |gate| format!(", {word} by {}", noun(&gate.metric)));
        let moved = |gate: &Judgement, certainty: &str| self.moved(gate, certainty);
        match finding.verdict {
            Verdict::WrongOutput => {
                format!("wrong output: {candidate} does not put out what {base} does, so speed is not judged")
            }
            Verdict::Incomparable => {
                let fields: Vec<&str> =
                    finding.differences.iter().map(|difference| difference.field.as_str()).collect();
                format!("not comparable: {base} and {candidate} differ in {}", fields.join(", "))
            }
            Verdict::Unstable => {
                format!("no verdict: {base} differed from itself, so the machine changed{}", by("judged"))
            }
            Verdict::Mixed => self.mixed(),
            Verdict::Regressed | Verdict::Improved => {
                judged.map_or_else(String::new, |gate| moved(gate, "")) + &by("decided")
            }
            Verdict::LeaningWorse | Verdict::LeaningBetter => {
                judged.map_or_else(String::new, |gate| moved(gate, "probably ")) + &by("judged")
            }
            Verdict::Same => judged.map_or_else(String::new, |gate| self.same(gate)) + &by("decided"),
            Verdict::Unresolved => {
                judged.map_or_else(|| "cannot tell".to_owned(), |gate| self.unknown(gate)) + &by("judged")
            }
        }
    }

    /// "B is 1.10× slower than A (95 % CI 1.09–1.11)".
    fn moved(&self, judgement: &Judgement, certainty: &str) -> String {
        let Some(change) = change(judgement) else {
            return format!("cannot tell: {} has no change to show", judgement.metric);
        };
        let Self { base, candidate, .. } = self;
        if !self.is_speed(&judgement.metric) {
            let factors = [change.estimate, change.low, change.high].map(|share| 1.0 + share);
            let noun = noun(&judgement.metric);
            return format!(
                "{noun} of {candidate} is {certainty}{}× that of {base}{}",
                factor(factors[0]),
                self.interval(factors)
            );
        }
        let slower = self.slower(judgement, change);
        let (word, factors) = if slower[0] >= 1.0 {
            ("slower", slower)
        } else {
            ("faster", [1.0 / slower[0], 1.0 / slower[2], 1.0 / slower[1]])
        };
        format!("{candidate} is {certainty}{}× {word} than {base}{}", factor(factors[0]), self.interval(factors))
    }

    fn mixed(&self) -> String {
        let gates = self.finding.judgements.iter().filter(|judgement| judgement.gate);
        let told = gates.filter(|gate| matches!(gate.verdict, Verdict::Improved | Verdict::Regressed));
        let told: Vec<String> = told.map(|gate| format!("{} ({})", self.moved(gate, ""), noun(&gate.metric))).collect();
        format!("mixed: {}", told.join("; "))
    }

    fn same(&self, gate: &Judgement) -> String {
        let Self { base, candidate, .. } = self;
        let beyond = if gate.threshold > 0.0 { format!(" beyond {}", percent(gate.threshold)) } else { String::new() };
        let interval = gate.change.filter(|change| change.low != change.high).map_or_else(String::new, |change| {
            format!(
                " ({} CI {} to {})",
                self.confidence(),
                super::figures::signed_percent(change.low),
                super::figures::signed_percent(change.high)
            )
        });
        format!("no difference{beyond} between {base} and {candidate}{interval}")
    }

    fn unknown(&self, gate: &Judgement) -> String {
        let Self { base, candidate, finding, .. } = self;
        if finding.confirmed == Some(false) {
            return format!(
                "cannot tell: {} at first, and a second measurement did not confirm it",
                self.moved(gate, "")
            );
        }
        let Some(change) = gate.change else { return "cannot tell: too little was measured".to_owned() };
        let is_speed = self.is_speed(&gate.metric);
        let [_, low, high] = if is_speed {
            self.slower(gate, change).map(|factor| factor - 1.0)
        } else {
            [change.estimate, change.low, change.high]
        };
        let [less, more] = if is_speed { ["faster", "slower"] } else { ["less", "more"] };
        let side = |share: f64| format!("{} {}", percent(share.abs()), if share < 0.0 { less } else { more });
        let of = if is_speed { String::new() } else { format!("{} of ", noun(&gate.metric)) };
        format!("cannot tell: {of}{candidate} is between {} and {} than {base}", side(low), side(high))
    }

    /// By which factor it takes longer: the estimate, and what it is at least and at most.
    fn slower(&self, judgement: &Judgement, change: Change) -> [f64; 3] {
        let factors = [change.estimate, change.low, change.high].map(|share| 1.0 + share);
        match self.duel.metrics.get(&judgement.metric).map_or(Better::Lower, |metric| metric.better) {
            Better::Lower => factors,
            Better::Higher => [1.0 / factors[0], 1.0 / factors[2], 1.0 / factors[1]],
        }
    }

    /// Whether it is a time or a rate, so that "slower" is the word.
    fn is_speed(&self, metric: &str) -> bool {
        self.duel.metrics.get(metric).is_none_or(|metric| metric.unit == "s" || metric.unit.ends_with("/s"))
    }

    fn interval(&self, [estimate, low, high]: [f64; 3]) -> String {
        if low == estimate && high == estimate {
            return String::new();
        }
        format!(" ({} CI {}–{})", self.confidence(), factor(low), factor(high))
    }

    fn confidence(&self) -> String {
        let alpha = self.duel.design.alpha;
        percent(1.0 - if alpha > 0.0 { alpha } else { compare::rules::ALPHA })
    }
}

/// What is known of a change; without bounds it is its own.
fn change(judgement: &Judgement) -> Option<Change> {
    let alone = |estimate: f64| Change { estimate, low: estimate, high: estimate };
    judgement.change.or(judgement.estimate.map(alone))
}

/// A ratio in as many digits as tell it from 1.
fn factor(value: f64) -> String {
    match value {
        ..0.995 => format!("{value:.2}"),
        ..1.005 => format!("{value:.3}"),
        ..9.995 => format!("{value:.2}"),
        ..99.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// A share in percent, whole where that is exact or nothing is lost.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let is_whole = percent >= 9.95 || (percent - percent.round()).abs() < 0.005;
    if is_whole { format!("{percent:.0} %") } else { format!("{percent:.1} %") }
}
