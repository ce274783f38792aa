//! The word for a metric, and for all of them.

use record::{Change, Judgement, Verdict};

use super::exact::Exact;
use super::measured::Measured;
use super::sentence;
use crate::rules;

/// What holds for all metrics of a candidate.
pub(super) struct Terms {
    /// Why nothing is said of any speed.
    pub(super) withheld: Option<Verdict>,
    /// Whether so much was measured that more may be said than which way it leans.
    pub(super) decides: bool,
    pub(super) has_placebo: bool,
    /// The same program on both sides.
    pub(super) is_same_program: bool,
}

pub(super) fn judgement(measured: &Measured, terms: &Terms) -> Judgement {
    let verdict = terms.withheld.unwrap_or_else(|| limited(measured, terms));
    let mut judgement = Judgement {
        metric: measured.asked.name.to_owned(),
        verdict,
        gate: measured.asked.is_gate,
        base: measured.base,
        candidate: measured.candidate,
        change: measured.change,
        estimate: if measured.change.is_none() { measured.estimate } else { None },
        threshold: measured.threshold(),
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

/// What the numbers say, and no more than this way of measuring may say.
fn limited(measured: &Measured, terms: &Terms) -> Verdict {
    use Verdict::{Improved, LeaningBetter, LeaningWorse, Regressed, Same, Unresolved, Unstable};
    let word = match measured.exact {
        Some(exact) => exact_word(exact, measured),
        None => noisy_word(measured),
    };
    match word {
        // Screening cannot tell a machine that moved from too little that was measured.
        Unstable if !terms.decides => Unresolved,
        // The program is the same: what moved is the machine.
        Regressed | Improved if terms.is_same_program => {
            if terms.decides {
                Unstable
            } else {
                Unresolved
            }
        }
        LeaningWorse | LeaningBetter if terms.is_same_program => Unresolved,
        Regressed if !terms.decides => LeaningWorse,
        Improved if !terms.decides => LeaningBetter,
        Same if !terms.decides => Unresolved,
        word => word,
    }
}

fn exact_word(exact: Exact, measured: &Measured) -> Verdict {
    let size = exact.change.map_or(f64::INFINITY, |change| measured.asked.worse(change).abs());
    match (exact.difference > 0.0) == measured.asked.rises_badly {
        _ if exact.is_single => Verdict::Unresolved,
        _ if size <= measured.asked.threshold => Verdict::Same,
        true => Verdict::Regressed,
        false => Verdict::Improved,
    }
}

fn noisy_word(measured: &Measured) -> Verdict {
    let Some(change) = measured.change else { return Verdict::Unresolved };
    let matters = measured.asked.threshold;
    if measured.placebo.is_some_and(|placebo| has_moved(measured.asked.worsening(placebo), matters)) {
        return Verdict::Unstable;
    }
    let Change { low, high, .. } = measured.asked.worsening(change);
    // A hint that would be one of many by chance is none.
    let is_hint = measured.asked.is_gate || measured.p.is_some_and(|p| p <= rules::EXPLORATORY_Q);
    let threshold = if measured.asked.is_gate { measured.threshold() } else { f64::INFINITY };
    match () {
        // Within what was asked for, not within a floor that may lie far above it.
        () if -matters < low && high < matters => Verdict::Same,
        () if low > threshold => Verdict::Regressed,
        () if high < -threshold => Verdict::Improved,
        () if low > 0.0 && is_hint => Verdict::LeaningWorse,
        () if high < 0.0 && is_hint => Verdict::LeaningBetter,
        () => Verdict::Unresolved,
    }
}

/// Whether two sides that are the same certainly differ, by enough to be taken for a change.
fn has_moved(placebo: Change, matters: f64) -> bool {
    (placebo.low > 0.0 || placebo.high < 0.0) && placebo.estimate.abs() > matters * rules::PLACEBO_SHARE
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
