//! Where paired differences lie: those of rounds that were measured in turns, in several launches.
//!
//! Two intervals are combined because they fail in different ways. The sign test over all rounds assumes nothing about the
//! distribution, but takes rounds of one launch as independent: with launches that differ by 1 %, one launch of 60 rounds gave 43 %
//! false alarms instead of 5 %. Student's t over the medians of launches knows how launches differ, but has few values. The hull
//! of both keeps what each guarantees.

use statrs::distribution::{ContinuousCDF, Normal};

use super::student::{mean_interval, mean_p, t_factor};
use super::{sign_interval, sign_p};
use crate::{Interval, median};

/// Where differences lie.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairedEstimate {
    /// The median of all of them; of several comparisons, the mean of their medians.
    pub estimate: f64,
    /// The confidence interval; `None` below two launches, or with too few rounds.
    pub interval: Option<Interval>,
    /// The p-value of the weaker test; `None` below two launches.
    pub p: Option<f64>,
}

/// Locates the differences of each launch's rounds; the interval misses with a probability of at most `alpha`. `None` without values.
#[must_use]
pub fn locate(launches: &[Vec<f64>], alpha: f64) -> Option<PairedEstimate> {
    locate_mean(&[launches], alpha)
}

/// Locates the mean of several comparisons of the same launches, such as B − A and B − A′.
///
/// Each comparison is of one value with one value, so under skewed noise it is as often too high as too low. One value against the
/// mean of two is not: identical sides then differ.
#[must_use]
pub fn locate_mean(comparisons: &[&[Vec<f64>]], alpha: f64) -> Option<PairedEstimate> {
    let rounds: Vec<Vec<f64>> = comparisons.iter().map(|launches| launches.concat()).collect();
    let estimate = mean_of(rounds.iter().map(|rounds| median(rounds)))?;
    let by_rounds: Option<Vec<Interval>> = rounds.iter().map(|rounds| sign_interval(rounds, alpha)).collect();
    let by_rounds = by_rounds.and_then(|intervals| {
        let low = mean_of(intervals.iter().map(|interval| Some(interval.low)))?;
        let high = mean_of(intervals.iter().map(|interval| Some(interval.high)))?;
        Some(Interval { low, high })
    });
    let launches = comparisons.iter().map(|launches| launches.len()).min()?;
    let centres: Vec<f64> =
        (0..launches).filter_map(|launch| mean_of(comparisons.iter().map(|of| median(&of[launch])))).collect();
    let both = by_rounds.zip(mean_interval(&centres, alpha));
    let sign_p = rounds.iter().map(|rounds| sign_p(rounds)).fold(0.0, f64::max);
    Some(PairedEstimate {
        estimate,
        interval: both.map(|(a, b)| Interval { low: a.low.min(b.low), high: a.high.max(b.high) }),
        p: mean_p(&centres).map(|p| p.max(sign_p)),
    })
}

/// The mean, unless one of the values is missing.
fn mean_of(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let values = values.collect::<Option<Vec<f64>>>()?;
    (!values.is_empty()).then(|| super::student::mean(&values))
}

/// The fewest launches with which a new measurement would resolve a change with a probability of at least `power`: shown to lie
/// beyond `threshold`, or within it. `None` where that takes more than `most`.
///
/// The true change is not known better than `located` tells, so both its uncertainty and that of the new measurement count.
#[must_use]
pub fn launches_to_resolve(
    (located, now): (&PairedEstimate, usize),
    alpha: f64,
    threshold: f64,
    (power, most): (f64, u64),
) -> Option<u64> {
    let interval = located.interval?;
    let half = (interval.high - interval.low) / 2.0;
    let error_now = half / t_factor(now, alpha)?;
    let resolves = |launches: &u64| {
        let scale = (now as f64 / *launches as f64).sqrt();
        let Some(reach) = t_factor(*launches as usize, alpha).map(|factor| factor * error_now * scale) else {
            return false;
        };
        let Ok(estimate) = Normal::new(located.estimate, error_now * (1.0 + scale * scale).sqrt()) else {
            return false;
        };
        let beyond = estimate.sf(threshold + reach) + estimate.cdf(-threshold - reach);
        let within = (estimate.cdf(threshold - reach) - estimate.cdf(reach - threshold)).max(0.0);
        beyond + within >= power
    };
    (now as u64 + 1..=most).find(resolves)
}
