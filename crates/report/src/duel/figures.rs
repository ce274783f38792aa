//! Figures as a duel shows them.

use record::{Change, Duel, Judgement, TimeDifference};

use crate::units::{in_unit, seconds};

/// A value of a round in the unit of its metric; of one call, where a round sums its calls.
pub(super) fn value(duel: &Duel, name: &str, value: Option<f64>) -> String {
    let metric = duel.metrics.get(name);
    let is_summed = metric.is_some_and(|metric| compare::rules::is_summed(name, metric));
    let calls = if is_summed { calls(duel) } else { 1.0 };
    in_unit(metric.map_or("", |metric| metric.unit.as_str()), value.map(|value| value / calls))
}

/// Calls of a round.
pub(super) fn calls(duel: &Duel) -> f64 {
    duel.design.calls.max(1) as f64
}

/// A number with its sign.
fn signed(value: f64, written: impl Fn(f64) -> String) -> String {
    match value {
        0.0 => written(0.0),
        ..0.0 => format!("\u{2212}{}", written(-value)),
        _ => format!("+{}", written(value)),
    }
}

/// A change as a share.
pub(super) fn signed_percent(share: f64) -> String {
    signed(share, |share| format!("{:.1} %", share * 100.0))
}

pub(super) fn change(judgement: &Judgement) -> String {
    let estimate = judgement.change.map(|change| change.estimate).or(judgement.estimate);
    estimate.map_or_else(String::new, signed_percent)
}

/// The interval of a change.
pub(super) fn interval(change: Option<Change>) -> String {
    change
        .map_or_else(String::new, |change| between(change.low, change.high, |share| format!("{:.1} %", share * 100.0)))
}

/// A difference of times.
pub(super) fn signed_seconds(value: f64) -> String {
    signed(value, seconds)
}

pub(super) fn seconds_interval(change: &TimeDifference) -> String {
    let bounds = change.low.zip(change.high);
    bounds.map_or_else(String::new, |(low, high)| between(low, high, seconds))
}

fn between(low: f64, high: f64, written: impl Fn(f64) -> String) -> String {
    format!("{} to {}", signed(low, &written), signed(high, &written))
}
