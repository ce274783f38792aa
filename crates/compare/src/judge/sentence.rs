//! Verdicts as sentences with figures.

use record::{Change, Finding, GateMetric, Judgement, Verdict};

use super::measurement::MetricMeasurement;
use super::verdict::VerdictTerms;
use crate::rules::noun;

pub(super) fn of_judgement(judgement: &Judgement, measured: &MetricMeasurement, terms: &VerdictTerms) -> String {
    let what = capital(noun(&judgement.metric));
    match judgement.verdict {
        Verdict::WrongOutput => format!("{what} is not judged: the outputs differ."),
        Verdict::Incomparable => format!("{what} is not judged: the sides cannot be compared."),
        Verdict::Unstable => unstable(&what, measured, terms),
        _ if measured.exact.is_some() => exact(&what, judgement, measured),
        Verdict::Regressed | Verdict::Improved => judgement.change.map_or_else(String::new, |change| {
            format!("{what} {}, above the {} threshold.", changed_by(change), percent(judgement.threshold))
        }),
        Verdict::Same => judgement.change.map_or_else(String::new, |change| {
            format!("{what} is the same within {} ({}).", percent(measured.question.threshold), bounds(change))
        }),
        Verdict::LeaningWorse | Verdict::LeaningBetter => leaning(&what, judgement, terms),
        _ => unresolved(&what, judgement, measured),
    }
}

fn unstable(what: &str, measured: &MetricMeasurement, terms: &VerdictTerms) -> String {
    let shown = if terms.is_same_program { measured.change } else { measured.placebo };
    let by = shown.map_or_else(String::new, |shown| format!(" by {} ({})", signed(shown.estimate), bounds(shown)));
    format!("{what} differed{by} between two runs of the same program: the machine was too unstable to judge a change.")
}

fn exact(what: &str, judgement: &Judgement, measured: &MetricMeasurement) -> String {
    let values = match (judgement.base, judgement.candidate) {
        (Some(base), Some(candidate)) if base == candidate => format!("{base} on both sides"),
        (Some(base), Some(candidate)) => format!("{base} before and {candidate} after"),
        _ => String::new(),
    };
    let change = measured.estimate.filter(|change| *change != 0.0);
    let change = change.map_or_else(String::new, |change| format!(" ({})", signed(change)));
    match judgement.verdict {
        Verdict::Unresolved if measured.exact.is_some_and(|exact| exact.is_single) => {
            format!("{what} is {values}{change}; nothing can be concluded from a single sample.")
        }
        Verdict::Same if judgement.base == judgement.candidate => format!("{what} is exactly the same: {values}."),
        _ => format!("{what} is {values}{change}, the same in every round."),
    }
}

fn leaning(what: &str, judgement: &Judgement, terms: &VerdictTerms) -> String {
    let Some(change) = judgement.change else { return String::new() };
    let least = change.low.abs().min(change.high.abs());
    let why_not = match judgement {
        _ if terms.decides_from.is_none() => "without a placebo this is no verdict".to_owned(),
        Judgement { gate: false, .. } => "a hint only, because the duel was not declared to be judged by it".to_owned(),
        _ => match terms.decides_from.filter(|least| *least > 0.0) {
            Some(least) => format!("quick mode decides changes from {} on; rerun without --quick", percent(least)),
            None => format!(
                "whether by more than the {} threshold is not certain{}",
                percent(judgement.threshold),
                more(judgement)
            ),
        },
    };
    format!("{what} {}, by {} at least; {why_not}.", changed_by(change), percent(least))
}

fn unresolved(what: &str, judgement: &Judgement, measured: &MetricMeasurement) -> String {
    let Some(change) = judgement.change else { return too_little(what, judgement, measured) };
    let visible = judgement.visible.map_or_else(String::new, |visible| {
        format!(" Smallest detectable change: {}{}.", percent(visible), more(judgement))
    });
    format!("{what}: cannot tell ({}).{visible}", bounds(change))
}

fn too_little(what: &str, judgement: &Judgement, measured: &MetricMeasurement) -> String {
    let guess = measured.estimate.map_or_else(String::new, |estimate| format!(" ({})", signed(estimate)));
    match (judgement.launches, judgement.rounds) {
        (_, 0) => no_ratio(what, measured),
        (_, 1) => format!("{what}{guess}: nothing can be concluded from a single sample of each side."),
        (1, _) => {
            format!("{what}{guess}: nothing can be concluded from one launch, because launches of one program differ.")
        }
        (launches, rounds) => {
            format!("{what}{guess}: {rounds} rounds in {launches} launches are too few for a confidence interval.")
        }
    }
}

/// Where not even one round can be compared.
fn no_ratio(what: &str, measured: &MetricMeasurement) -> String {
    let (Some(base), Some(candidate)) = (measured.base, measured.candidate) else {
        return format!("{what} has no values on both sides.");
    };
    match measured.all_zero {
        [true, true] => format!("{what} is 0 on both sides, in too few launches to conclude anything."),
        [true, false] => {
            format!("{what} was always 0 before and has a median of {candidate} after; there is no ratio to judge.")
        }
        [false, true] => {
            format!("{what} had a median of {base} before and is always 0 after; there is no ratio to judge.")
        }
        [false, false] => format!("{what} has no round in which all sides are above 0, so there is no ratio to judge."),
    }
}

fn more(judgement: &Judgement) -> String {
    match judgement.more_launches {
        Some(more) => format!("; {} launches would probably resolve it", judgement.launches + more),
        None => String::new(),
    }
}

/// The sentence of a candidate that does not tell what it put out.
pub(super) const SILENT: &str = "The base reports its output and this side does not, so it may be a different \
                                 computation; its speed is not judged.";

/// The sentence of a candidate: that of the gate which decides, or of what stands in the way. What it is judged by was `declared`.
pub(crate) fn of_finding(finding: &Finding, declared: &[GateMetric]) -> String {
    let gates = || finding.judgements.iter().filter(|judgement| judgement.gate);
    let deciding = gates().find(|gate| gate.verdict == finding.verdict);
    match finding.verdict {
        Verdict::WrongOutput => {
            "The outputs differ, so it is a different computation; its speed is not judged.".to_owned()
        }
        Verdict::Incomparable => {
            let fields: Vec<&str> = finding.differences.iter().map(|difference| difference.field.as_str()).collect();
            format!("The sides cannot be compared: they differ in {}.", fields.join(", "))
        }
        Verdict::Mixed => {
            let named = |word| {
                let nouns: Vec<&str> =
                    gates().filter(|gate| gate.verdict == word).map(|gate| noun(&gate.metric)).collect();
                nouns.join(", ")
            };
            format!("Better in {}, worse in {}.", named(Verdict::Improved), named(Verdict::Regressed))
        }
        _ if gates().next().is_none() => "No metric was declared to judge by.".to_owned(),
        Verdict::Same => {
            let nouns: Vec<&str> = gates().map(|gate| noun(&gate.metric)).collect();
            let within = declared.iter().map(|gate| gate.threshold).fold(0.0, f64::max);
            match deciding.filter(|_| nouns.len() == 1) {
                Some(gate) => gate.sentence.clone(),
                None => format!("Shown to be the same within {}: {}.", percent(within), nouns.join(", ")),
            }
        }
        _ => deciding.map_or_else(String::new, |gate| gate.sentence.clone()),
    }
}

/// "increased by 5.1 % (95 % CI +3.9 % to +6.3 %)".
fn changed_by(change: Change) -> String {
    let way = if change.estimate < 0.0 { "decreased" } else { "increased" };
    format!("{way} by {} ({})", percent(change.estimate.abs()), bounds(change))
}

fn bounds(change: Change) -> String {
    format!("95 % CI {} to {}", signed(change.low), signed(change.high))
}

/// A share in percent, with as many digits as matter.
fn percent(share: f64) -> String {
    let text = digits(share);
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} %")
}

/// The same with its sign.
fn signed(share: f64) -> String {
    let sign = if share < 0.0 { "−" } else { "+" };
    format!("{sign}{} %", digits(share.abs()))
}

fn digits(share: f64) -> String {
    let percent = share * 100.0;
    match percent.abs() {
        size if size < 0.995 => format!("{percent:.2}"),
        size if size < 99.5 => format!("{percent:.1}"),
        _ => format!("{percent:.0}"),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    // Names of custom metrics are left as they are.
    if text.contains('_') {
        return text.to_owned();
    }
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
