//! Estimates with their errors: from samples, and from the fact that parts sum to wholes.
//!
//! A sampled scope is known twice: from its own timed calls, and as what its parent's time leaves to it. Both have errors
//! of known size, so they are reconciled as measurements with errors are: a difference between a whole and its parts goes
//! to the parts in proportion to their variances. So one long call that happened to be timed does not count as many, and
//! long calls that were not timed are not lost where the parent was timed.

use super::node::SampleRead;

/// A time in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Estimate {
    pub(super) value: f64,
    pub(super) variance: f64,
    /// The part of it that timed calls stand for, but was not timed itself.
    pub(super) stood_for: f64,
}

impl Estimate {
    pub(super) fn exact(value: f64) -> Self {
        Estimate { value, ..Estimate::default() }
    }

    pub(super) fn plus(self, other: Estimate) -> Self {
        Estimate {
            value: self.value + other.value,
            variance: self.variance + other.variance,
            stood_for: self.stood_for + other.stood_for,
        }
    }

    /// Less a known amount, and never below nothing.
    pub(super) fn minus(self, known: f64) -> Self {
        Estimate { value: (self.value - known).max(0.0), ..self }
    }

    fn is_exact(&self) -> bool {
        self.variance == 0.0
    }
}

/// The total of `population` durations of which some were timed; `None` where none was but there are some.
pub(super) fn of_sample(sample: &SampleRead, population: f64) -> Option<Estimate> {
    if population <= 0.0 {
        return Some(Estimate::default());
    }
    if sample.weight <= 0.0 {
        return None;
    }
    let mean = sample.ticks / sample.weight;
    let value = population * mean;
    let untimed = (population - sample.count).max(0.0);
    if untimed == 0.0 {
        return Some(Estimate::exact(value));
    }
    // Of a single one the spread is not known: as large as itself.
    let spread = if sample.count < 2.0 {
        mean * mean
    } else {
        (sample.squares / sample.weight - mean * mean).max(0.0) * sample.count / (sample.count - 1.0)
    };
    let variance = population * untimed / sample.count * spread;
    // Ticks are whole numbers, and so never known better than that.
    Some(Estimate { value, variance: variance + untimed / 12.0, stood_for: untimed * mean })
}

/// What is known of a node once wholes and parts agree.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Settled {
    pub(super) total: Estimate,
    /// The variance of the time in it and not below.
    pub(super) own_variance: f64,
}

/// Reconciles the nodes' totals by their own timings (`direct`) with each other and with samples of their `own` time.
/// Parents come before their children; node 0 is the root.
pub(super) fn reconcile(direct: &[Estimate], own: &[Option<Estimate>], parents: &[usize]) -> Vec<Settled> {
    let mut totals = direct.to_vec();
    let mut parts = vec![Parts::default(); direct.len()];
    // Children first: a whole is known from its own timings and from its parts.
    for i in (0..totals.len()).rev() {
        parts[i].own = own[i];
        totals[i] = parts[i].improve(totals[i]);
        if i > 0 {
            parts[parents[i]].add(totals[i]);
        }
    }
    // Then parents first: parts must sum to what is known of their whole by now.
    let mut settled = vec![Settled::default(); totals.len()];
    for i in 0..totals.len() {
        if i > 0 {
            totals[i] = parts[parents[i]].adjust(totals[i]);
        }
        parts[i].settle(totals[i]);
        settled[i] = Settled { total: totals[i], own_variance: parts[i].own_variance };
    }
    settled
}

/// The children of a node, summed, and its own time.
#[derive(Clone, Copy, Debug, Default)]
struct Parts {
    children: Estimate,
    /// The part of the children that is known exactly.
    exact: f64,
    own: Option<Estimate>,
    /// How the children are to be adjusted.
    adjustment: Adjustment,
    own_variance: f64,
}

/// How a difference between a whole and its parts is divided.
#[derive(Clone, Copy, Debug, Default)]
enum Adjustment {
    #[default]
    None,
    /// By variance: so much per variance of the part, and so much of its square taken from it.
    ByVariance { per_variance: f64, variance_lost: f64 },
    /// By the time that was not timed: long calls that no sample shows. So much per tick, all together so much.
    ByUntimed { per_tick: f64, all: f64 },
}

/// A difference of more standard errors than this says that there are long calls which no sample shows.
///
/// Not fewer, because errors are estimated from the calls that were timed: where one long call was timed and five were
/// expected, the difference is four errors already, which happens in 3 % of all cases. Six are seven calls: 0.6 %.
const UNSEEN: f64 = 6.0;
/// Half the width of a 95 % interval, in standard errors.
const HALF_WIDTH: f64 = 1.96;

impl Parts {
    fn add(&mut self, child: Estimate) {
        self.children = self.children.plus(child);
        if child.is_exact() {
            self.exact += child.value;
        }
    }

    /// A whole that is an estimate, improved by what its parts say.
    fn improve(&self, direct: Estimate) -> Estimate {
        if direct.is_exact() && direct.value > 0.0 {
            return direct;
        }
        let mut whole = direct;
        if let Some(own) = self.own
            && !direct.is_exact()
        {
            let sum = self.children.plus(own);
            let share = direct.variance / (direct.variance + sum.variance);
            whole.value += share * (sum.value - direct.value);
            whole.variance *= 1.0 - share;
        }
        // A path that was never entered itself has what its parts have.
        let least = if direct.is_exact() { self.children.value } else { self.exact };
        whole.value = whole.value.max(least);
        whole
    }

    /// The whole is known: decides how the children are adjusted, and how well its own time is known then.
    fn settle(&mut self, whole: Estimate) {
        if self.children.is_exact() {
            self.own_variance = whole.variance;
            return;
        }
        let difference = whole.value - self.children.value;
        let Some(own) = self.own else {
            // Nothing is known of its own time but that it is not negative.
            self.own_variance = self.children.variance + whole.variance;
            if difference < 0.0 {
                self.adjustment =
                    Adjustment::ByVariance { per_variance: difference / self.children.variance, variance_lost: 0.0 };
            }
            return;
        };
        let (difference, variance) = (difference - own.value, self.children.variance + own.variance);
        let untimed = self.children.stood_for + own.stood_for;
        if difference > UNSEEN * (variance + whole.variance).sqrt() && untimed > 0.0 {
            let per_tick = difference / untimed;
            self.adjustment = Adjustment::ByUntimed { per_tick, all: difference };
            self.own_variance = own.variance + unseen_variance(own.stood_for * per_tick, difference);
        } else {
            let variance_lost = ((variance - whole.variance) / (variance * variance)).max(0.0);
            self.adjustment = Adjustment::ByVariance { per_variance: difference / variance, variance_lost };
            self.own_variance = (own.variance - own.variance * own.variance * variance_lost).max(0.0);
        }
    }

    /// A child, so that all sum to their whole.
    fn adjust(&self, child: Estimate) -> Estimate {
        if child.is_exact() {
            return child;
        }
        let (change, variance) = match self.adjustment {
            Adjustment::None => (0.0, child.variance),
            Adjustment::ByVariance { per_variance, variance_lost } => {
                (per_variance * child.variance, child.variance - child.variance * child.variance * variance_lost)
            }
            Adjustment::ByUntimed { per_tick, all } => {
                let change = per_tick * child.stood_for;
                (change, child.variance + unseen_variance(change, all))
            }
        };
        // Never exact, for it was not all timed.
        Estimate { value: (child.value + change).max(0.0), variance: variance.max(f64::MIN_POSITIVE), ..child }
    }
}

/// So that the 95 % interval reaches from none of the unseen time to all of it.
fn unseen_variance(given: f64, all: f64) -> f64 {
    (given.max(all - given) / HALF_WIDTH).powi(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(value: f64, error: f64) -> Estimate {
        Estimate { value, variance: error * error, stood_for: value }
    }

    #[test]
    fn a_sample_is_scaled_and_its_error_follows_from_the_spread() {
        // 100 of 1,000 timed, each standing for ten: half took 10, half 30.
        let sample = SampleRead { count: 100.0, weight: 1_000.0, ticks: 20_000.0, squares: 500_000.0 };
        let total = of_sample(&sample, 1_000.0).unwrap();
        assert_eq!((total.value, total.stood_for), (20_000.0, 18_000.0));
        let spread: f64 = 100.0 * 100.0 / 99.0;
        assert!((total.variance - (9_000.0 * spread + 75.0)).abs() < 1e-6, "{}", total.variance);
        assert_eq!(of_sample(&SampleRead::default(), 5.0), None);
        assert_eq!(of_sample(&SampleRead::default(), 0.0), Some(Estimate::default()));
    }

    #[test]
    fn a_long_call_that_was_timed_counts_once() {
        // 4,000 in one call that stands for 50: the whole leaves room for one.
        let direct = [Estimate::exact(10_000.0), estimate(206_000.0, 200_000.0)];
        let settled = reconcile(&direct, &[Some(estimate(1_000.0, 30.0)), None], &[0, 0]);
        assert!((settled[1].total.value - 9_000.0).abs() < 1.0, "{:?}", settled[1]);
        assert!((settled[1].total.variance.sqrt() - 30.0).abs() < 1.0, "{:?}", settled[1]);
    }

    #[test]
    fn long_calls_of_which_one_was_timed_are_not_taken_for_unseen_ones() {
        // One long call stands for four, and there were nearly nine.
        let direct = [Estimate::exact(10_000.0), estimate(4_500.0, 1_000.0)];
        let settled = reconcile(&direct, &[Some(estimate(500.0, 10.0)), None], &[0, 0]);
        assert!((settled[1].total.value - 9_500.0).abs() < 1.0, "{:?}", settled[1]);
    }

    #[test]
    fn unseen_time_is_divided_and_the_interval_holds_all_of_it() {
        let direct = [Estimate::exact(10_000.0), estimate(3_000.0, 1.0)];
        let settled = reconcile(&direct, &[Some(estimate(3_000.0, 1.0)), None], &[0, 0]);
        let total = settled[1].total;
        assert!((total.value - 5_000.0).abs() < 1.0, "{total:?}");
        assert!(total.value + HALF_WIDTH * total.variance.sqrt() >= 7_000.0);
        assert!(total.value - HALF_WIDTH * total.variance.sqrt() <= 3_000.0);
    }

    #[test]
    fn without_samples_of_its_own_time_a_whole_only_limits_its_parts() {
        let direct = [Estimate::exact(100.0), Estimate::exact(60.0), estimate(100.0, 20.0), estimate(10.0, 0.1)];
        let settled = reconcile(&direct, &[None; 4], &[0, 0, 0, 0]);
        assert_eq!((settled[0].total.value, settled[1].total.value), (100.0, 60.0));
        assert!((settled[2].total.value - 30.0).abs() < 0.1 && (settled[3].total.value - 10.0).abs() < 0.1);
    }

    #[test]
    fn a_sampled_whole_is_improved_by_its_parts_and_holds_its_exact_ones() {
        let direct = [Estimate::exact(1_000.0), estimate(100.0, 30.0), estimate(120.0, 10.0), Estimate::exact(300.0)];
        let own = [None, Some(estimate(40.0, 10.0)), None, None];
        let settled = reconcile(&direct, &own, &[0, 0, 1, 0]);
        assert!(settled[1].total.value > 130.0 && settled[1].total.value < 160.0, "{:?}", settled[1]);
        assert!(settled[1].total.variance < 30.0 * 30.0);
        let held =
            reconcile(&[Estimate::exact(1_000.0), estimate(5.0, 1.0), Estimate::exact(80.0)], &[None; 3], &[0, 0, 1]);
        assert_eq!(held[1].total.value, 80.0);
    }
}
