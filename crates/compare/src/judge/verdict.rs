//! The verdict on a metric, and the overall verdict.

use record::{Change, Judgement, Verdict};

use super::exact::ExactComparison;
use super::measurement::MetricMeasurement;
use super::sentence;
use crate::rules;

/// What applies to all metrics of a candidate.
pub(super) struct VerdictTerms {
    /// Why no speed is judged.
    pub(super) withheld: Option<Verdict>,
    /// The smallest change that may be called regressed or improved; `None` where nothing may be, for want of a placebo.
    pub(super) decides_from: Option<f64>,
    /// The same program on both sides.
    pub(super) is_same_program: bool,
}

pub(super) fn judgement(measured: &MetricMeasurement, terms: &VerdictTerms) -> Judgement {
    let verdict = terms.withheld.unwrap_or_else(|| limited(measured, terms));
    let mut judgement = Judgement {
        metric: measured.question.name.to_owned(),
        verdict,
        gate: measured.question.is_gate,
        base: measured.base,
        candidate: measured.candidate,
        change: measured.change,
        estimate: if measured.change.is_none() { measured.estimate } else { None },
        threshold: measured.question.threshold,
        floor: measured.floor(),
        visible: measured.visible,
        p: measured.p,
        launches: measured.launches,
        rounds: measured.rounds,
        dropped: measured.dropped,
        ..Judgement::default()
    };
    if matches!(verdict, Verdict::Unresolved | Verdict::LeaningWorse | Verdict::LeaningBetter) {
        judgement.more_launches = measured.more_launches;
    }
    judgement.sentence = sentence::of_judgement(&judgement, measured, terms);
    judgement
}

/// What the numbers say, as far as this way of measuring may say it.
fn limited(measured: &MetricMeasurement, terms: &VerdictTerms) -> Verdict {
    use Verdict::{Improved, LeaningBetter, LeaningWorse, Regressed, Same, Unresolved, Unstable};
    let word = match measured.exact {
        Some(exact) => exact_word(exact, measured),
        None => noisy_word(measured),
    };
    let is_screening = terms.decides_from != Some(0.0);
    match word {
        // The program is the same, so the machine is what changed.
        Regressed | Improved if terms.is_same_program => {
            if is_screening {
                Unresolved
            } else {
                Unstable
            }
        }
        LeaningWorse | LeaningBetter if terms.is_same_program => Unresolved,
        Regressed if !is_large(measured, terms) => LeaningWorse,
        Improved if !is_large(measured, terms) => LeaningBetter,
        Same | Unstable if is_screening => Unresolved,
        word => word,
    }
}

/// Whether the whole interval is beyond what this way of measuring may decide.
fn is_large(measured: &MetricMeasurement, terms: &VerdictTerms) -> bool {
    let Some(least) = terms.decides_from else { return false };
    if measured.exact.is_some() {
        return true;
    }
    let factors = measured
        .change
        .map(|change| measured.question.worsening(change))
        .map(|change| (1.0 + change.low, 1.0 + change.high));
    factors.is_some_and(|(low, high)| low > 1.0 + least || high < 1.0 / (1.0 + least))
}

fn exact_word(exact: ExactComparison, measured: &MetricMeasurement) -> Verdict {
    let size = exact.change.map_or(f64::INFINITY, |change| measured.question.worse(change).abs());
    match (exact.difference > 0.0) == measured.question.rises_badly {
        _ if exact.is_single => Verdict::Unresolved,
        _ if size <= measured.question.threshold => Verdict::Same,
        true => Verdict::Regressed,
        false => Verdict::Improved,
    }
}

fn noisy_word(measured: &MetricMeasurement) -> Verdict {
    let Some(change) = measured.change else { return Verdict::Unresolved };
    let threshold = measured.question.threshold;
    let moved = measured.placebo.is_some_and(|placebo| has_moved(measured.question.worsening(placebo), threshold));
    // What moved the placebo may have moved the candidate as far; a change beyond both is real.
    let decides = threshold + if moved { measured.floor().unwrap_or(0.0) } else { 0.0 };
    let Change { low, high, .. } = measured.question.worsening(change);
    let is_gate = measured.question.is_gate;
    // Of many metrics some differ by chance: a hint has to be better than that.
    let is_hint = is_gate || measured.p.is_some_and(|p| p <= rules::EXPLORATORY_Q);
    match () {
        () if is_gate && low > decides => Verdict::Regressed,
        () if is_gate && high < -decides => Verdict::Improved,
        () if moved => Verdict::Unstable,
        () if -threshold < low && high < threshold => Verdict::Same,
        () if low > 0.0 && is_hint => Verdict::LeaningWorse,
        () if high < 0.0 && is_hint => Verdict::LeaningBetter,
        () => Verdict::Unresolved,
    }
}

/// Whether base and placebo differ significantly, by enough to be taken for a change.
fn has_moved(placebo: Change, threshold: f64) -> bool {
    (placebo.low > 0.0 || placebo.high < 0.0) && placebo.estimate.abs() > threshold * rules::PLACEBO_SHARE
}

/// The worst of several words, and `mixed` where some improved and some regressed: they are never netted into one.
pub fn overall(words: impl IntoIterator<Item = Verdict>) -> Verdict {
    let words: Vec<Verdict> = words.into_iter().collect();
    let worst = words.iter().copied().max_by_key(|word| badness(*word)).unwrap_or_default();
    match worst {
        Verdict::Regressed if words.contains(&Verdict::Improved) => Verdict::Mixed,
        worst => worst,
    }
}

/// Nothing outweighs what is not the same question or not the same answer. What is the same adds nothing to what is better, while
/// what is not known takes something from it.
fn badness(word: Verdict) -> u8 {
    match word {
        Verdict::WrongOutput => 9,
        Verdict::Incomparable => 8,
        Verdict::Mixed => 7,
        Verdict::Regressed => 6,
        Verdict::Unstable => 5,
        Verdict::LeaningWorse => 4,
        Verdict::Unresolved => 3,
        Verdict::LeaningBetter => 2,
        Verdict::Improved => 1,
        Verdict::Same => 0,
    }
}
