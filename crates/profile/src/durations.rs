//! Calls by duration, and the percentiles of one path or of several together.

use std::collections::BTreeMap;

use crate::{DurationCounts, Scope};

/// How far a percentile may be from the exact one, as a share of it: half the width of a bucket of the histograms that count
/// durations.
pub const PERCENTILE_ERROR: f64 = 0.5 / 16.0;

/// The calls of several paths by duration.
#[must_use]
pub fn merged_durations<'a>(all: impl Iterator<Item = &'a DurationCounts>) -> DurationCounts {
    let mut merged: BTreeMap<u64, u64> = BTreeMap::new();
    for (ns, calls) in all.flat_map(|counts| counts.ns.iter().zip(&counts.calls)) {
        let sum = merged.entry(*ns).or_default();
        *sum = sum.saturating_add(*calls);
    }
    DurationCounts { ns: merged.keys().copied().collect(), calls: merged.into_values().collect() }
}

/// The duration that the share `q` of the calls do not exceed; `None` where there are none.
#[must_use]
pub fn duration_quantile(counts: &DurationCounts, q: f64) -> Option<u64> {
    let all: u128 = counts.calls.iter().map(|calls| u128::from(*calls)).sum();
    let rank = ((all as f64 * q).ceil() as u128).max(1);
    let mut upto = 0;
    let found = counts.ns.iter().zip(&counts.calls).find(|(_, calls)| {
        upto += u128::from(**calls);
        upto >= rank
    });
    found.map(|(ns, _)| *ns)
}

/// The percentile of all calls of these scopes, and whether it is read from their durations.
pub(crate) fn percentile_of_all(scopes: &[&Scope], q: f64) -> Option<(u64, bool)> {
    match scopes.iter().map(|scope| scope.durations.as_ref()).collect::<Option<Vec<_>>>() {
        Some(counts) => {
            let all = merged_durations(counts.into_iter());
            duration_quantile(&all, q).map(|ns| (ns, true))
        }
        None => mixed(scopes, q).map(|ns| (ns, false)),
    }
}

/// Logarithms of times, each with the share of the calls below it: least, p50, p90, p99, most.
type Curve = [(f64, f64); 5];

/// Where the share `q` of the calls of all scopes lies below.
fn mixed(scopes: &[&Scope], q: f64) -> Option<u64> {
    let curves: Option<Vec<(f64, Curve)>> = scopes.iter().map(|scope| curve(scope)).collect();
    let curves = curves?;
    let calls: f64 = curves.iter().map(|(calls, _)| calls).sum();
    let below = |at: f64| curves.iter().map(|(calls, points)| calls * share_below(points, at)).sum::<f64>() / calls;
    let mut low = curves.iter().map(|(_, points)| points[0].0).fold(f64::INFINITY, f64::min);
    let mut high = curves.iter().map(|(_, points)| points[4].0).fold(0.0, f64::max);
    while high - low > 1e-3 {
        let middle = f64::midpoint(low, high);
        if below(middle) < q { low = middle } else { high = middle }
    }
    Some(high.exp().round() as u64)
}

/// A scope's calls, and its percentiles as points of a rising line. By logarithms, since the slowest calls lie far out.
fn curve(scope: &Scope) -> Option<(f64, Curve)> {
    let log = |ns: u64| (ns.max(1) as f64).ln();
    let (min, max) = (log(scope.min_ns), log(scope.max_ns.max(scope.min_ns)));
    let at = |ns: Option<u64>| Some(log(ns?).clamp(min, max));
    let points =
        [(min, 0.0), (at(scope.p50_ns)?, 0.5), (at(scope.p90_ns)?, 0.9), (at(scope.p99_ns)?, 0.99), (max, 1.0)];
    // A path stands for all its calls, however many of them were timed.
    Some((scope.calls as f64, points))
}

fn share_below(points: &Curve, place: f64) -> f64 {
    let Some(after) = points.iter().position(|(at, _)| *at > place) else { return 1.0 };
    let Some(before) = after.checked_sub(1) else { return 0.0 };
    let ((x0, y0), (x1, y1)) = (points[before], points[after]);
    y0 + (y1 - y0) * (place - x0) / (x1 - x0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_merged_counts() {
        let counts = |pairs: &[(u64, u64)]| DurationCounts {
            ns: pairs.iter().map(|pair| pair.0).collect(),
            calls: pairs.iter().map(|pair| pair.1).collect(),
        };
        let merged = merged_durations([counts(&[(10, 80), (30, 5)]), counts(&[(10, 4), (20, 10), (900, 1)])].iter());
        assert_eq!(merged, counts(&[(10, 84), (20, 10), (30, 5), (900, 1)]));
        assert_eq!([0.5, 0.9, 0.99, 1.0].map(|q| duration_quantile(&merged, q)), [10, 20, 30, 900].map(Some));
        assert_eq!(duration_quantile(&DurationCounts::default(), 0.5), None);
        let absurd = counts(&[(1, u64::MAX), (2, u64::MAX)]);
        assert_eq!(duration_quantile(&absurd, 0.99), Some(2));
    }
}
