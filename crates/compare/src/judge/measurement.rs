//! The measured change of one metric, before its verdict.

use record::Change;

use super::exact::{ExactComparison, exact};
use super::rounds::MetricRounds;
use crate::stats::{launches_to_resolve, locate};
use crate::{Interval, median, rules};

/// How one metric is judged.
pub(super) struct MetricQuestion<'a> {
    pub(super) name: &'a str,
    /// The threshold.
    pub(super) threshold: f64,
    pub(super) is_gate: bool,
    /// Whether higher is worse.
    pub(super) rises_badly: bool,
    /// The error rate of the interval.
    pub(super) alpha: f64,
}

impl MetricQuestion<'_> {
    /// A change of the value as one for the worse: where more is better a third of the value is three times as bad, as it is for what took
    /// the time.
    pub(super) fn worse(&self, change: f64) -> f64 {
        if self.rises_badly { change } else { 1.0 / (1.0 + change) - 1.0 }
    }

    /// The same with its bounds.
    pub(super) fn worsening(&self, change: Change) -> Change {
        let [estimate, low, high] = [change.estimate, change.low, change.high].map(|share| self.worse(share));
        Change { estimate, low: low.min(high), high: low.max(high) }
    }
}

/// The measured values of one metric.
pub(super) struct MetricMeasurement<'a> {
    pub(super) question: MetricQuestion<'a>,
    pub(super) base: Option<f64>,
    pub(super) candidate: Option<f64>,
    pub(super) estimate: Option<f64>,
    pub(super) change: Option<Change>,
    pub(super) placebo: Option<Change>,
    /// Where the same work gave the same values: how they compare.
    pub(super) exact: Option<ExactComparison>,
    /// Whether every value is 0: before, after.
    pub(super) all_zero: [bool; 2],
    pub(super) p: Option<f64>,
    pub(super) visible: Option<f64>,
    pub(super) more_launches: Option<u64>,
    pub(super) launches: u64,
    pub(super) rounds: u64,
    pub(super) dropped: u64,
}

impl MetricMeasurement<'_> {
    /// The largest difference between base and placebo that their interval allows.
    pub(super) fn floor(&self) -> Option<f64> {
        let placebo = self.question.worsening(self.placebo?);
        Some(placebo.low.abs().max(placebo.high.abs()))
    }
}

pub(super) fn measure(question: MetricQuestion<'_>, rounds: MetricRounds, is_exact: bool) -> MetricMeasurement<'_> {
    let all_zero = [&rounds.base, &rounds.candidate].map(|values| values.iter().all(|value| *value == 0.0));
    // Nothing on both sides is the same, though it has no ratio; but one launch does not tell what the next would do.
    let is_nothing = all_zero == [true, true] && rounds.launched > 1;
    let exact = if is_exact || is_nothing { exact(&rounds.base, &rounds.candidate) } else { None };
    let mut measured = MetricMeasurement {
        base: median(&rounds.base),
        candidate: median(&rounds.candidate),
        estimate: None,
        change: None,
        placebo: None,
        exact,
        all_zero,
        p: None,
        visible: None,
        more_launches: None,
        launches: if is_nothing { rounds.launched } else { rounds.launches() },
        rounds: rounds.rounds(),
        dropped: if exact.is_some() { 0 } else { rounds.dropped },
        question,
    };
    match exact {
        Some(exact) => measured.take_exact(exact, &rounds),
        None => measured.take_noisy(&rounds),
    }
    measured
}

impl MetricMeasurement<'_> {
    fn take_exact(&mut self, exact: ExactComparison, rounds: &MetricRounds) {
        self.rounds = rounds.candidate.len() as u64;
        self.estimate = exact.change;
        self.change = exact.change.map(|change| Change { estimate: change, low: change, high: change });
    }

    fn take_noisy(&mut self, rounds: &MetricRounds) {
        let Some(located) = rounds.locate(self.question.alpha) else { return };
        let placebo = locate(&rounds.placebos, rules::PLACEBO_ALPHA);
        self.placebo = placebo.and_then(|placebo| shares(placebo.estimate, placebo.interval));
        self.estimate = Some(share(located.estimate));
        self.change = shares(located.estimate, located.interval);
        self.p = located.p;
        let Some(interval) = located.interval else { return };
        let threshold = self.question.threshold.ln_1p();
        let reach = (interval.high - located.estimate).max(located.estimate - interval.low);
        self.visible = Some(share(reach + threshold));
        let wanted = (rules::ADVICE_POWER, rules::MOST_LAUNCHES_ADVISED);
        let launches = rounds.launches();
        self.more_launches = launches_to_resolve((&located, launches as usize), self.question.alpha, threshold, wanted)
            .map(|needed| needed - launches);
    }
}

fn shares(estimate: f64, interval: Option<Interval>) -> Option<Change> {
    let interval = interval?;
    Some(Change { estimate: share(estimate), low: share(interval.low), high: share(interval.high) })
}

/// From a logarithm of a ratio to a share.
fn share(logarithm: f64) -> f64 {
    logarithm.exp_m1()
}
