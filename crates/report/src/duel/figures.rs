//! Figures as a duel shows them.

use record::{Change, Duel, Judgement, Seconds};

use crate::units::{in_unit, seconds};

/// A value in the unit of its metric.
pub(super) fn value(duel: &Duel, metric: &str, value: Option<f64>) -> String {
    in_unit(duel.metrics.get(metric).map_or("", |metric| metric.unit.as_str()), value)
}

/// What has a sign, with a real one.
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

/// Where a change lies.
pub(super) fn interval(change: Option<Change>) -> String {
    change
        .map_or_else(String::new, |change| between(change.low, change.high, |share| format!("{:.1} %", share * 100.0)))
}

/// A difference of times.
pub(super) fn signed_seconds(value: f64) -> String {
    signed(value, seconds)
}

pub(super) fn seconds_interval(change: &Seconds) -> String {
    let bounds = change.low.zip(change.high);
    bounds.map_or_else(String::new, |(low, high)| between(low, high, seconds))
}

fn between(low: f64, high: f64, written: impl Fn(f64) -> String) -> String {
    format!("{} to {}", signed(low, &written), signed(high, &written))
}
