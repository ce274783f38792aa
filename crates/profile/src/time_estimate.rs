//! Times that may be estimates: how they are written, marked and ranked.

use crate::Estimate;
use crate::estimate::error_of_sum;
use crate::units::{
    nanos, percent, percent_within, quoted, raise, seconds_within, whole_percent, whole_percent_within,
};

/// A time, or a sum of times, of which some may be estimated.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TimeEstimate {
    /// In nanoseconds.
    pub ns: u64,
    /// Its standard error, in nanoseconds, where some of it was estimated and the record tells.
    pub se: Option<f64>,
    /// Whether some of it was estimated.
    pub is_estimate: bool,
}

impl TimeEstimate {
    /// Adds a time, as an independent estimate.
    pub fn add(&mut self, ns: u64, se: Option<u64>, is_estimate: bool) {
        let more = TimeEstimate { ns, se: se.map(|se| se as f64), is_estimate };
        *self = self.plus(more);
    }

    /// Both together, as independent estimates.
    #[must_use]
    pub fn plus(mut self, other: TimeEstimate) -> TimeEstimate {
        raise(&mut self.ns, other.ns);
        TimeEstimate {
            ns: self.ns,
            se: error_of_sum(self.se, other.se),
            is_estimate: self.is_estimate || other.is_estimate,
        }
    }

    /// Value and standard error, in nanoseconds.
    #[must_use]
    pub fn estimate(self) -> Estimate {
        Estimate { value: self.ns as f64, se: self.se }
    }

    /// `1.23 ms ±0.05`; `~1.23 ms` where its error is not known.
    #[must_use]
    pub fn text(self) -> String {
        match self.estimate().half_width() {
            Some(half) => seconds_within(self.ns as f64 * 1e-9, half * 1e-9),
            None => tilde(self.is_estimate, nanos(self.ns)),
        }
    }

    /// Its share of a whole; nothing where there is no whole.
    #[must_use]
    pub fn share_of(self, whole_ns: u64) -> Option<Estimate> {
        (whole_ns > 0).then(|| self.estimate().times(1.0 / whole_ns as f64))
    }

    /// The same as `32.0 % ±2.1`.
    #[must_use]
    pub fn percent_of(self, whole_ns: u64) -> String {
        self.share_of(whole_ns).map_or_else(String::new, |share| match share.half_width() {
            Some(half) => percent_within(share.value, half),
            None => percent(share.value),
        })
    }
}

/// A share as `32 % ±2`.
#[must_use]
pub fn whole_percents(share: Estimate, is_estimate: bool) -> String {
    match share.half_width() {
        Some(half) => whole_percent_within(share.value, half),
        None => tilde(is_estimate, whole_percent(share.value)),
    }
}

/// The mark of an estimate whose error is not shown.
#[must_use]
pub fn tilde(is_estimate: bool, value: String) -> String {
    if is_estimate { format!("~{value}") } else { value }
}

/// Timed calls of a sampled scope from which on a percentile holds: ten beyond it.
const ENOUGH_FOR_P99: u64 = 1000;
const ENOUGH_FOR_P90: u64 = 100;

/// Whether so few calls lie beyond a percentile of a sampled scope that the next run may show another one.
#[must_use]
pub fn rests_on_few(q: f64, timed_calls: u64, is_sampled: bool) -> bool {
    let enough = match q {
        0.99.. => ENOUGH_FOR_P99,
        0.9.. => ENOUGH_FOR_P90,
        _ => 0,
    };
    is_sampled && timed_calls < enough
}

/// A percentile, marked where few calls tell of it.
#[must_use]
pub fn percentile_text(value: String, is_thin: bool) -> String {
    if is_thin { format!("{value}?") } else { value }
}

/// The longest timed call: of a sampled scope there may have been a longer one.
#[must_use]
pub fn longest_text(value: String, is_sampled: bool) -> String {
    if is_sampled { format!("\u{2265}{value}") } else { value }
}

/// Neighbours in a ranking, largest first, whose order is not certain because their 95 % intervals overlap. Each
/// group is certainly above the next.
#[must_use]
pub fn tied_groups<T>(ranked: Vec<T>, estimate: impl Fn(&T) -> Estimate) -> Vec<Vec<T>> {
    let mut groups: Vec<Vec<T>> = Vec::new();
    // A measured value is no tie with its equal: it has no interval.
    let ties = |group: &[T], next: &T| {
        let next = estimate(next);
        group.iter().map(&estimate).any(|one| (one.se.is_some() || next.se.is_some()) && one.overlaps(next))
    };
    for next in ranked {
        match groups.last_mut() {
            Some(group) if ties(group, &next) => group.push(next),
            _ => groups.push(vec![next]),
        }
    }
    groups
}

/// Scopes with their shares: `a` 32 % ±2; of a tie `a` and `b`, 31 % ±3 and 30 % ±3 (cannot tell which is hotter).
#[must_use]
pub fn in_words(group: &[(&str, String)], more: usize) -> String {
    if let ([(name, share)], 0) = (group, more) {
        return format!("{} {share}", quoted(name));
    }
    let names: Vec<String> = group.iter().map(|(name, _)| quoted(name)).collect();
    let shares: Vec<String> = group.iter().map(|(_, share)| share.clone()).collect();
    let (names, which) = match more {
        0 => (listed(&names), if group.len() == 2 { "hotter" } else { "hottest" }),
        more => (format!("{} and {more} more", names.join(", ")), "hottest"),
    };
    format!("{names}, {} (cannot tell which is {which})", listed(&shares))
}

fn listed(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(ns: u64, half_width: f64) -> TimeEstimate {
        TimeEstimate { ns, se: Some(half_width / 1.96), is_estimate: true }
    }

    #[test]
    fn errors_are_written_beside_what_they_are_of() {
        let estimate = time(32_000_000, 2_100_000.0);
        assert_eq!([estimate.text(), estimate.percent_of(100_000_000)], ["32.0 ms ±2.1", "32.0 % ±2.1"]);
        let share = estimate.share_of(100_000_000).expect("there is a whole");
        assert_eq!(whole_percents(share, true), "32 % ±2");
        let unknown = TimeEstimate { ns: 32_000_000, se: None, is_estimate: true };
        assert_eq!([unknown.text(), unknown.percent_of(100_000_000)], ["~32.0 ms", "32.0 %"]);
        let measured = TimeEstimate { is_estimate: false, ..unknown };
        assert_eq!([measured.text(), measured.percent_of(0)], ["32.0 ms", ""]);
        let both = time(10, 3.0 * 1.96).plus(time(20, 4.0 * 1.96)).plus(measured);
        assert_eq!((both.ns, both.se), (32_000_030, Some(5.0)));
    }

    #[test]
    fn few_samples_are_marked() {
        assert!(rests_on_few(0.99, 999, true) && !rests_on_few(0.99, 1000, true));
        assert!(rests_on_few(0.9, 99, true) && !rests_on_few(0.9, 100, true));
        assert!(!rests_on_few(0.5, 1, true), "half of the calls lie beyond it");
        assert!(!rests_on_few(0.99, 3, false), "all calls were timed");
        assert_eq!(percentile_text("2 us".into(), true), "2 us?");
        assert_eq!([longest_text("9 us".into(), true), longest_text("9 us".into(), false)], ["\u{2265}9 us", "9 us"]);
    }

    #[test]
    fn overlapping_intervals_are_ties() {
        let shares = [("a", 31.0, 3.0), ("b", 30.0, 3.0), ("c", 26.0, 1.5), ("d", 12.0, 1.0), ("e", 5.0, 0.0)];
        let groups = tied_groups(shares.to_vec(), |(_, value, half)| Estimate { value: *value, se: Some(half / 1.96) });
        let names: Vec<Vec<&str>> = groups.iter().map(|group| group.iter().map(|(name, ..)| *name).collect()).collect();
        assert_eq!(names, [vec!["a", "b", "c"], vec!["d"], vec!["e"]], "c overlaps with b, so it is not below it");
        let measured = tied_groups(vec![7.0, 7.0], |value| Estimate { value: *value, se: None });
        assert_eq!(measured.len(), 2);
        let shown = |names: &[&'static str]| -> Vec<(&'static str, String)> {
            names.iter().map(|name| (*name, "31 % ±3".to_owned())).collect()
        };
        assert_eq!(in_words(&shown(&["a"]), 0), "`a` 31 % ±3");
        assert_eq!(in_words(&shown(&["a", "b"]), 0), "`a` and `b`, 31 % ±3 and 31 % ±3 (cannot tell which is hotter)");
        assert_eq!(
            in_words(&shown(&["a", "b"]), 3),
            "`a`, `b` and 3 more, 31 % ±3 and 31 % ±3 (cannot tell which is hottest)"
        );
    }
}
