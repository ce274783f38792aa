//! Figures of two sides, as people write them.

use record::{Comparison, Judgement, Verdict, WorkRate};

use crate::run::rows::between;
use crate::units::{digits, mean_bytes, mean_count, rate, seconds, tokens_per_s};

/// What has a sign, with a real one.
fn signed(value: f64, written: impl Fn(f64) -> String) -> String {
    match value {
        0.0 => written(0.0),
        ..0.0 => format!("\u{2212}{}", written(-value)),
        _ => format!("+{}", written(value)),
    }
}

/// A difference of times.
pub(super) fn signed_seconds(value: f64) -> String {
    signed(value, seconds)
}

/// A difference of bytes.
pub(super) fn signed_bytes(value: f64) -> String {
    signed(value, mean_bytes)
}

/// A change as a share: `+7.1 %`; from three times the value on as a factor: `12.3×`.
pub(crate) fn signed_percent(share: f64) -> String {
    if share >= 2.0 {
        return format!("{}×", digits(1.0 + share));
    }
    signed(share, |share| format!("{:.1} %", share * 100.0))
}

/// What one value is of another, as a change.
pub(super) fn changed(before: f64, after: f64) -> Option<String> {
    (before > 0.0 && after.is_finite()).then(|| signed_percent(after / before - 1.0))
}

/// A value of a metric.
pub(super) fn value(comparison: &Comparison, metric: &str, value: f64) -> String {
    let unit = comparison.metrics.get(metric).map_or("", |metric| metric.unit.as_str());
    match unit {
        "s" => seconds(value),
        "bytes" => mean_bytes(value),
        "" if metric.ends_with("_s") => seconds(value),
        "count" | "" => mean_count(value),
        unit => format!("{} {unit}", mean_count(value)),
    }
}

/// Whether nothing may be said of a metric.
pub(super) fn is_withheld(judgement: &Judgement) -> bool {
    matches!(judgement.verdict, Verdict::Incomparable | Verdict::WrongOutput)
}

/// The change of a metric, where the two can be compared.
pub(super) fn change(judgement: &Judgement) -> String {
    if is_withheld(judgement) {
        return String::new();
    }
    let estimate = judgement.change.map(|change| change.estimate).or(judgement.estimate);
    estimate.map_or_else(String::new, signed_percent)
}

/// Where the change lies.
pub(super) fn interval(judgement: &Judgement) -> String {
    let change = judgement.change.filter(|_| !is_withheld(judgement));
    change.map_or_else(String::new, |change| {
        format!("{} to {}", signed_percent(change.low), signed_percent(change.high)).replacen(" %", "", 1)
    })
}

/// A rate with its unit.
pub(super) fn speed(speed: &WorkRate) -> String {
    match speed.unit.as_str() {
        "tok" => tokens_per_s(speed.per_second),
        unit => rate(speed.per_second, &format!("{unit}/s")),
    }
}

/// Two values as one cell, where they differ.
pub(super) fn both(before: &str, after: &str) -> String {
    if before == after { before.to_owned() } else { between(before, after).replacen('-', " to ", 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_real_and_nothing_has_none() {
        assert_eq!(
            [signed_seconds(-0.002), signed_seconds(0.0), signed_seconds(1.5)],
            ["\u{2212}2.00 ms", "0 s", "+1.50 s"]
        );
        assert_eq!([signed_percent(-0.125), signed_bytes(2048.0)], ["\u{2212}12.5 %", "+2 KiB"]);
        assert_eq!(changed(0.0, 1.0), None);
        assert_eq!([both("3", "3"), both("3", "4")], ["3", "3 to 4"]);
    }
}
