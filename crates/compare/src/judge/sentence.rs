//! Verdicts as sentences, with their figures.

use record::{Change, Finding, GateMetric, Judgement, Verdict};

use super::measured::Measured;
use super::word::Terms;
use crate::rules::noun;

pub(super) fn of_judgement(judgement: &Judgement, measured: &Measured, terms: &Terms) -> String {
    let what = capital(noun(&judgement.metric));
    match judgement.verdict {
        Verdict::WrongOutput => format!("{what} is not judged: the outputs differ."),
        Verdict::Incomparable => format!("{what} is not judged: the two cannot be compared."),
        Verdict::Unstable => unstable(&what, measured, terms),
        _ if measured.exact.is_some() => exact(&what, judgement, measured),
        Verdict::Regressed | Verdict::Improved => judgement.change.map_or_else(String::new, |change| {
            format!("{what} {}, more than the {} that count.", moved(change), percent(judgement.threshold))
        }),
        Verdict::Same => judgement.change.map_or_else(String::new, |change| {
            let matters = percent(measured.asked.threshold);
            format!("{what} is the same within {matters} ({}).", bounds(change))
        }),
        Verdict::LeaningWorse | Verdict::LeaningBetter => leaning(&what, judgement, terms),
        _ => unresolved(&what, judgement, measured),
    }
}

fn unstable(what: &str, measured: &Measured, terms: &Terms) -> String {
    let shown = if terms.is_same_program { measured.change } else { measured.placebo };
    let by = shown.map_or_else(String::new, |shown| format!(" by {} ({})", signed(shown.estimate), bounds(shown)));
    format!(
        "{what} differed{by} between two sides that are the same: the machine moved, so nothing is said of the change."
    )
}

fn exact(what: &str, judgement: &Judgement, measured: &Measured) -> String {
    let values = match (judgement.base, judgement.candidate) {
        (Some(base), Some(candidate)) if base == candidate => format!("{base} on both sides"),
        (Some(base), Some(candidate)) => format!("{base} before and {candidate} after"),
        _ => String::new(),
    };
    let change = measured.estimate.filter(|change| *change != 0.0);
    let change = change.map_or_else(String::new, |change| format!(" ({})", signed(change)));
    match judgement.verdict {
        Verdict::Unresolved if measured.exact.is_some_and(|exact| exact.is_single) => {
            format!("{what} is {values}{change}, of a single sample, from which nothing can be concluded.")
        }
        Verdict::Same if judgement.base == judgement.candidate => format!("{what} is exactly the same: {values}."),
        _ => format!("{what} is {values}{change}, the same in every round."),
    }
}

fn leaning(what: &str, judgement: &Judgement, terms: &Terms) -> String {
    let Some(change) = judgement.change else { return String::new() };
    let least = change.low.abs().min(change.high.abs());
    let why_not = match judgement {
        _ if !terms.has_placebo => "without a placebo no more can be said".to_owned(),
        _ if !terms.decides => "this way of measuring is for screening only".to_owned(),
        Judgement { gate: false, .. } => "it is a hint, because it was not declared beforehand".to_owned(),
        _ => {
            format!(
                "whether by more than the {} that count is not certain{}",
                percent(judgement.threshold),
                more(judgement)
            )
        }
    };
    format!("{what} {}, by {} at least; {why_not}.", moved(change), percent(least))
}

fn unresolved(what: &str, judgement: &Judgement, measured: &Measured) -> String {
    let Some(change) = judgement.change else { return too_little(what, judgement, measured) };
    let visible = judgement.visible.map_or_else(String::new, |visible| {
        format!(" Only changes from {} on would have been seen{}.", percent(visible), more(judgement))
    });
    format!("{what}: cannot tell ({}).{visible}", bounds(change))
}

fn too_little(what: &str, judgement: &Judgement, measured: &Measured) -> String {
    let guess = measured.estimate.map_or_else(String::new, |estimate| format!(" ({})", signed(estimate)));
    match (judgement.launches, judgement.rounds) {
        (_, 0) => no_ratio(what, measured),
        (_, 1) => format!("{what}{guess}: a single sample of each side, from which nothing can be concluded."),
        (1, _) => {
            format!("{what}{guess}: one launch, and launches of the same program differ; nothing can be concluded.")
        }
        (launches, rounds) => {
            format!("{what}{guess}: {rounds} rounds in {launches} launches are too few to say where the change lies.")
        }
    }
}

/// Where not even one round can be compared.
fn no_ratio(what: &str, measured: &Measured) -> String {
    let (Some(base), Some(candidate)) = (measured.base, measured.candidate) else {
        return format!("{what} has no values on both sides.");
    };
    match measured.all_zero {
        [true, true] => format!("{what} is 0 on both sides, in too few launches to conclude anything."),
        [true, false] => {
            format!(
                "{what} was always 0 before and is {candidate} after in the middle; there is no ratio of that to judge."
            )
        }
        [false, true] => {
            format!("{what} was {base} before in the middle and is always 0 after; there is no ratio of that to judge.")
        }
        [false, false] => format!("{what} has no round in which all sides are above 0, so there is no ratio to judge."),
    }
}

fn more(judgement: &Judgement) -> String {
    match judgement.more_launches {
        Some(1) => "; about 1 more launch would do".to_owned(),
        Some(more) => format!("; about {more} more launches would do"),
        None => String::new(),
    }
}

/// The sentence of a candidate that does not tell what it put out.
pub(super) const SILENT: &str = "The base tells what it put out and this side does not: nobody knows that it is the same computation, so \
                                 its speed is not judged.";

/// The sentence of a candidate: that of the gate which decides, or of what stands in the way. What it is judged by was `declared`.
pub(crate) fn of_finding(finding: &Finding, declared: &[GateMetric]) -> String {
    let gates = || finding.judgements.iter().filter(|judgement| judgement.gate);
    let deciding = gates().find(|gate| gate.verdict == finding.verdict);
    match finding.verdict {
        Verdict::WrongOutput => {
            "The outputs differ: it is not the same computation, so its speed is not judged.".to_owned()
        }
        Verdict::Incomparable => {
            let fields: Vec<&str> = finding.differences.iter().map(|difference| difference.field.as_str()).collect();
            format!("The two do not answer the same question: they differ in {}.", fields.join(", "))
        }
        Verdict::Mixed => {
            let named = |word| {
                let nouns: Vec<&str> =
                    gates().filter(|gate| gate.verdict == word).map(|gate| noun(&gate.metric)).collect();
                nouns.join(", ")
            };
            format!("Better in {}, worse in {}.", named(Verdict::Improved), named(Verdict::Regressed))
        }
        _ if gates().next().is_none() => "No metric was declared that it is judged by.".to_owned(),
        Verdict::Same => {
            let nouns: Vec<&str> = gates().map(|gate| noun(&gate.metric)).collect();
            // Not the floor, which may lie far above it.
            let within = declared.iter().map(|gate| gate.threshold).fold(0.0, f64::max);
            match deciding.filter(|_| nouns.len() == 1) {
                Some(gate) => gate.sentence.clone(),
                None => format!("Shown to be the same, within {} at most: {}.", percent(within), nouns.join(", ")),
            }
        }
        _ => deciding.map_or_else(String::new, |gate| gate.sentence.clone()),
    }
}

/// "grew by 5.1 % (+3.9 to +6.3 %)".
fn moved(change: Change) -> String {
    let way = if change.estimate < 0.0 { "fell" } else { "grew" };
    format!("{way} by {} ({})", percent(change.estimate.abs()), bounds(change))
}

fn bounds(change: Change) -> String {
    format!("{} to {}", signed(change.low), signed(change.high))
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
