//! Percentiles of several paths together.

use record::Scope;

/// The percentile of all calls of these scopes, and whether it is read from their durations.
pub(super) fn of_all(scopes: &[&Scope], q: f64) -> Option<(u64, bool)> {
    match scopes.iter().map(|scope| scope.durations.as_ref()).collect::<Option<Vec<_>>>() {
        Some(counts) => {
            let all = compare::merged_durations(counts.into_iter());
            compare::duration_quantile(&all, q).map(|ns| (ns, true))
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
