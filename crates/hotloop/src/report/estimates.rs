//! Times that may be estimates: how they are written, marked and ranked. The one place for these rules.

use super::units::{percent, percent_within, share, short_time, time, time_within};
use crate::snapshot::{ScopeStats, Snapshot};

/// Half the width of a 95 % interval, in standard errors.
const HALF_WIDTH: f64 = 1.96;

/// A time and half the width of its 95 % interval; a measured one has none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Estimate {
    ns: f64,
    half: Option<f64>,
    /// Not every call was timed.
    is_sampled: bool,
}

impl Estimate {
    fn new(scope: &ScopeStats, ns: f64, se: Option<f64>) -> Self {
        Estimate { ns, half: se.map(|se| HALF_WIDTH * se), is_sampled: scope.is_sampled }
    }

    pub(super) fn total(scope: &ScopeStats) -> Self {
        Estimate::new(scope, scope.total_ns as f64, scope.total_se_ns.map(|se| se as f64))
    }

    pub(super) fn own(scope: &ScopeStats) -> Self {
        Estimate::new(scope, scope.self_ns as f64, scope.self_se_ns.map(|se| se as f64))
    }

    /// The mean time of a call; calls are exact.
    pub(super) fn mean(scope: &ScopeStats) -> Self {
        let calls = scope.calls.max(1) as f64;
        Estimate::new(scope, scope.mean_ns(), scope.total_se_ns.map(|se| se as f64 / calls))
    }

    pub(super) fn low(self) -> f64 {
        (self.ns - self.half.unwrap_or(0.0)).max(0.0)
    }

    pub(super) fn high(self) -> f64 {
        self.ns + self.half.unwrap_or(0.0)
    }

    /// Whether nobody can tell which of both is larger: the intervals overlap. Measured values have none.
    pub(super) fn ties_with(self, other: Estimate) -> bool {
        let is_estimate = self.half.is_some() || other.half.is_some();
        is_estimate && self.low() <= other.high() && other.low() <= self.high()
    }

    /// `1.23 ms ±0.05`.
    pub(super) fn text(self) -> String {
        match self.half {
            Some(half) => time_within(self.ns, half),
            None => {
                let mark = if self.is_sampled { "~" } else { "" };
                let is_fraction = self.ns < 100.0 && self.ns.fract() > 0.0;
                format!("{mark}{}", if is_fraction { short_time(self.ns) } else { time(self.ns as u64) })
            }
        }
    }

    /// Its share as `32.0 % ±2.1`.
    pub(super) fn percent_of(self, whole_ns: u64) -> String {
        let whole = whole_ns.max(1) as f64;
        match self.half {
            Some(half) => percent_within(self.ns / whole, half / whole),
            None => percent(self.ns / whole),
        }
    }
}

/// What is made of an estimated time, where its error is not shown.
pub(super) fn tilde(scope: &ScopeStats, value: String) -> String {
    if scope.is_sampled { format!("~{value}") } else { value }
}

/// Timed calls of a sampled scope from which on a percentile holds: ten beyond it.
const ENOUGH_FOR_P99: u64 = 1000;
const ENOUGH_FOR_P90: u64 = 100;

/// Whether so few calls lie beyond a percentile of a sampled scope that the next run may show another one.
pub(super) fn rests_on_few(scope: &ScopeStats, q: f64) -> bool {
    let enough = match q {
        0.99.. => ENOUGH_FOR_P99,
        0.9.. => ENOUGH_FOR_P90,
        _ => 0,
    };
    scope.is_sampled && scope.timed_calls < enough
}

/// A percentile, marked where few calls tell of it.
pub(super) fn percentile_text(scope: &ScopeStats, q: f64, ns: u64) -> String {
    format!("{}{}", time(ns), if rests_on_few(scope, q) { "?" } else { "" })
}

/// The longest timed call: of a sampled scope there may have been a longer one.
pub(super) fn longest_text(scope: &ScopeStats) -> String {
    format!("{}{}", if scope.is_sampled { "\u{2265}" } else { "" }, time(scope.max_ns))
}

/// What the marks mean, in one line, where scopes were sampled.
pub(super) fn marks(names: &[ScopeStats]) -> Option<String> {
    let any = |is_marked: fn(&ScopeStats) -> bool| names.iter().any(is_marked);
    let has_thin = any(|scope| scope.p90_ns.is_some() && (rests_on_few(scope, 0.99) || rests_on_few(scope, 0.9)));
    let meanings = [
        (any(|scope| scope.self_se_ns.is_some()), "\u{b1}: 95 % interval, where only some calls were timed"),
        (any(|scope| scope.is_sampled), "~: estimated"),
        (has_thin, "?: rests on few timed calls"),
        (any(|scope| scope.is_sampled), "\u{2265}: not all calls were timed"),
    ];
    let used: Vec<&str> = meanings.iter().filter(|(is_used, _)| *is_used).map(|(_, meaning)| *meaning).collect();
    (!used.is_empty()).then(|| used.join("; "))
}

/// The first of a ranking by self time and all that nobody can tell from it, by the overlap of their 95 % intervals.
pub(super) fn hottest(names: &[ScopeStats]) -> Vec<&ScopeStats> {
    let mut by_self: Vec<&ScopeStats> = names.iter().collect();
    by_self.sort_by_key(|scope| std::cmp::Reverse(scope.self_ns));
    let mut tied: Vec<&ScopeStats> = Vec::new();
    for scope in by_self {
        let ties = tied.iter().any(|other| Estimate::own(other).ties_with(Estimate::own(scope)));
        if !tied.is_empty() && !ties {
            break;
        }
        tied.push(scope);
    }
    tied
}

/// The wall time without waiting for a CPU, of which scopes have their shares: of several threads without the part that they
/// waited in the mean.
pub(super) fn on_cpu_ns(snapshot: &Snapshot) -> u64 {
    let threads = threads_wall_ns(snapshot);
    let waited = snapshot.waiting_ns.unwrap_or(0).min(threads);
    if waited == 0 { snapshot.wall_ns } else { (snapshot.wall_ns as f64 * share(threads - waited, threads)) as u64 }
}

pub(super) fn threads_wall_ns(snapshot: &Snapshot) -> u64 {
    snapshot.threads.iter().map(|thread| thread.wall_ns).sum()
}

/// What shares of scopes are of.
pub(super) fn whole(snapshot: &Snapshot) -> &'static str {
    if snapshot.waiting_ns.is_some() { "the time on a CPU" } else { "the wall time" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(self_ns: u64) -> ScopeStats {
        let mut scope = ScopeStats::default();
        (scope.self_ns, scope.total_ns) = (self_ns, self_ns);
        scope
    }

    fn sampled(self_ns: u64, se: u64) -> ScopeStats {
        let mut scope = measured(self_ns);
        (scope.self_se_ns, scope.total_se_ns, scope.is_sampled) = (Some(se), Some(se), true);
        scope
    }

    #[test]
    fn errors_are_written_beside_what_they_are_of() {
        let mut scope = sampled(32_000_000, 1_071_429);
        scope.calls = 1000;
        assert_eq!(Estimate::own(&scope).text(), "32.0 ms \u{b1}2.1");
        assert_eq!(Estimate::total(&scope).percent_of(100_000_000), "32.0 % \u{b1}2.1");
        assert_eq!(Estimate::mean(&scope).text(), "32.0 us \u{b1}2.1");
        let own = Estimate::own(&measured(32_000_000));
        assert_eq!([own.text(), own.percent_of(64_000_000)], ["32.0 ms", "50.0 %"]);
        scope.self_se_ns = None;
        assert_eq!(Estimate::own(&scope).text(), "~32.0 ms", "its error is not known");
    }

    #[test]
    fn few_samples_are_marked() {
        let scope = |is_sampled: bool, timed_calls: u64| {
            let mut scope = measured(0);
            (scope.is_sampled, scope.timed_calls, scope.max_ns) = (is_sampled, timed_calls, 9);
            scope
        };
        assert!(rests_on_few(&scope(true, 999), 0.99) && !rests_on_few(&scope(true, 1000), 0.99));
        assert!(rests_on_few(&scope(true, 99), 0.9) && !rests_on_few(&scope(true, 100), 0.9));
        assert!(!rests_on_few(&scope(true, 1), 0.5) && !rests_on_few(&scope(false, 1), 0.99));
        assert_eq!([true, false].map(|sampled| percentile_text(&scope(sampled, 9), 0.9, 5)), ["5 ns?", "5 ns"]);
        assert_eq!([true, false].map(|sampled| longest_text(&scope(sampled, 9))), ["\u{2265}9 ns", "9 ns"]);
    }

    #[test]
    fn overlapping_intervals_are_ties() {
        let names = |names: &[ScopeStats]| hottest(names).iter().map(|scope| scope.self_ns).collect::<Vec<_>>();
        assert_eq!(names(&[sampled(300, 15), sampled(310, 15), sampled(100, 5)]), [310, 300]);
        assert_eq!(names(&[sampled(300, 2), sampled(310, 2)]), [310]);
        assert_eq!(names(&[measured(300), measured(300)]), [300], "what was measured is not tied");
    }
}
