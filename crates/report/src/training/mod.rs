//! A training, as it goes on and as it ended: lines for people, and the curve of its loss. Everything comes from the events of its log.

mod curve;
mod event_lines;
mod plan;
mod progress;
mod summary;

use record::TrainingPhases;

pub use curve::svg as curve;
pub use event_lines::text as event;
pub use plan::document as plan;
pub use progress::Progress;
pub use summary::{Files, document as summary};

/// Phases by the words of people, each with its seconds and its share in tenths of a percent; the shares sum to a thousand wherever
/// there is any time.
pub(crate) fn shares(phases: &TrainingPhases) -> Vec<(&'static str, f64, u64)> {
    let sane = |seconds: f64| if seconds.is_finite() { seconds.max(0.0) } else { 0.0 };
    let named = phases.named().map(|(name, seconds)| (words(name), sane(seconds)));
    let whole: f64 = named.iter().map(|(_, seconds)| seconds).sum();
    if whole <= 0.0 {
        return named.into_iter().map(|(name, seconds)| (name, seconds, 0)).collect();
    }
    let exact = named.map(|(_, seconds)| 1000.0 * seconds / whole);
    let mut tenths = exact.map(|share| share.floor() as u64);
    // What rounding down left over goes where most was cut off.
    let mut order: Vec<usize> = (0..exact.len()).collect();
    order.sort_by(|a, b| exact[*b].fract().total_cmp(&exact[*a].fract()));
    let left = 1000_u64.saturating_sub(tenths.iter().sum()) as usize;
    for at in order.into_iter().take(left) {
        tenths[at] += 1;
    }
    named.into_iter().zip(tenths).map(|((name, seconds), share)| (name, seconds, share)).collect()
}

/// `12.3 %` of 123.
pub(crate) fn tenths(share: u64) -> String {
    format!("{}.{} %", share / 10, share % 10)
}

fn words(phase: &'static str) -> &'static str {
    if phase == "data_wait" { "data wait" } else { phase }
}

/// A loss, or a perplexity, as people compare them.
fn loss(value: f64) -> String {
    if value.is_finite() { format!("{value:.4}") } else { "NaN".to_owned() }
}

fn perplexity(value: f64) -> String {
    if value.is_finite() { crate::units::digits(value) } else { "NaN".to_owned() }
}

/// `3.00e-4`; learning rates differ by powers of ten.
fn rate(value: f64) -> String {
    if value == 0.0 { "0".to_owned() } else { format!("{value:.2e}") }
}

/// Something per second; nothing where no time passed.
fn per_second(amount: f64, seconds: f64) -> Option<f64> {
    Some(amount / seconds).filter(|_| seconds > 0.0 && amount > 0.0).filter(|rate| rate.is_finite())
}

/// A time that people wait: `47 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`.
fn waiting(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        return "unknown".to_owned();
    }
    let whole = seconds.round() as u64;
    match whole {
        0..60 => format!("{whole} s"),
        60..3_600 => format!("{} min {} s", whole / 60, whole % 60),
        3_600..86_400 => format!("{} h {} min", whole / 3_600, whole % 3_600 / 60),
        _ => format!("{} d {} h", whole / 86_400, whole % 86_400 / 3_600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_sum_to_a_hundred_percent() {
        let thirds = TrainingPhases { forward: 1.0, backward: 1.0, optimizer: 1.0, ..TrainingPhases::default() };
        let shares = shares(&thirds);
        assert_eq!(shares.iter().map(|(_, _, share)| share).sum::<u64>(), 1000);
        assert_eq!(shares[1], ("forward", 1.0, 334));
        assert_eq!(tenths(1000), "100.0 %");
    }

    #[test]
    fn nonsense_is_no_panic() {
        let odd = TrainingPhases { forward: f64::NAN, backward: -1.0, optimizer: 2.0, ..TrainingPhases::default() };
        assert_eq!(shares(&odd)[3], ("optimizer", 2.0, 1000));
        assert!(shares(&TrainingPhases::default()).iter().all(|(_, _, share)| *share == 0));
    }

    #[test]
    fn times_are_told_as_people_wait() {
        let told = [0.4, 59.4, 200.0, 7_530.0, 273_700.0].map(waiting);
        assert_eq!(told, ["0 s", "59 s", "3 min 20 s", "2 h 5 min", "3 d 4 h"]);
        assert_eq!(waiting(f64::INFINITY), "unknown");
    }
}
