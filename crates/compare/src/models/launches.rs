//! Values of rounds in several launches. Fresh processes differ by more than rounds of one process do, so intervals cover both.

use std::collections::BTreeMap;

use record::Figure;

use super::CONFIDENCE;
use crate::stats::locate;
use crate::{Interval, median, quantile_interval, sorted};

/// Values by launch and round.
pub(super) type RoundTimes = BTreeMap<(u64, u64), f64>;

/// The values of each launch.
pub(super) fn by_launch(rounds: &RoundTimes) -> Vec<Vec<f64>> {
    let mut launches: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for ((launch, _), value) in rounds {
        launches.entry(*launch).or_default().push(*value);
    }
    launches.into_values().collect()
}

/// The median, and where it lies. Values of a single launch have the interval of that launch.
pub(super) fn figure(rounds: &RoundTimes) -> Option<Figure> {
    let launches = by_launch(rounds);
    let all: Vec<f64> = launches.concat();
    let interval = match launches.len() {
        0 | 1 => quantile_interval(&sorted(&all), 0.5, CONFIDENCE),
        _ => locate(&launches, 1.0 - CONFIDENCE)?.interval,
    };
    Some(told(median(&all)?, interval, all.len()))
}

/// The same of values above 0 that differ by factors: times, and ratios of times.
pub(super) fn factor(rounds: &RoundTimes) -> Option<Figure> {
    figure(&rounds.iter().map(|(place, value)| (*place, value.ln())).collect()).map(exp)
}

/// Ratios of several launches, with a chance of `alpha` that the interval misses. There is no interval below two launches.
pub(super) fn ratio(rounds: &RoundTimes, alpha: f64) -> Option<Figure> {
    let logarithms = rounds.iter().map(|(place, value)| (*place, value.ln())).collect();
    let located = locate(&by_launch(&logarithms), alpha)?;
    Some(exp(told(located.estimate, located.interval, rounds.len())))
}

fn told(value: f64, interval: Option<Interval>, samples: usize) -> Figure {
    let [low, high] = [interval.map(|found| found.low), interval.map(|found| found.high)];
    Figure { value, low, high, samples: samples as u64 }
}

fn exp(figure: Figure) -> Figure {
    Figure { value: figure.value.exp(), low: figure.low.map(f64::exp), high: figure.high.map(f64::exp), ..figure }
}
