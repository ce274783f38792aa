//! Every number that a verdict depends on, with its reason.

use record::{Metric, Per};

/// The chance of a false verdict that is allowed, for all gates and candidates of a duel together.
pub const ALPHA: f64 = 0.05;

/// The share of discoveries among metrics that decide nothing which may be false: they are hints, and are looked at as such.
pub const EXPLORATORY_Q: f64 = 0.10;

/// What a round should take at least, in seconds: on a loaded machine rounds of 4 ms scattered by 70 %, rounds of 80 ms by 18 %.
pub const ROUND_S: f64 = 0.25;

/// Metrics that may be declared as gates of one duel: each costs all others certainty.
pub const MOST_GATES: usize = 5;

/// What each look may spend of the allowed chance. Little at first: an early end is for changes that are plain to see.
const LOOK_SHARES: [f64; 3] = [0.1, 0.3, 0.6];

/// A placebo that differs by more than this share of what matters, and certainly differs, is a fault of the machine.
pub const PLACEBO_SHARE: f64 = 0.5;

/// More launches than these are no advice.
pub const MOST_LAUNCHES_ADVISED: u64 = 200;

/// More than this share of the cells has to move alike before it is called a drift.
pub const DRIFT_SHARE: f64 = 0.8;
/// With fewer cells, all of them moving alike is no surprise.
pub const DRIFT_CELLS: usize = 5;
/// How far from the middle of all changes one may lie and count as alike, as a factor.
pub const DRIFT_ALIKE: f64 = 2.0;

/// The chance of being wrong about a budget that is allowed, either way.
pub const BUDGET_ALPHA: f64 = 0.05;

/// How much is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mode {
    /// Its name.
    pub name: &'static str,
    /// Fresh processes of each arm, at most.
    pub launches: u64,
    /// Rounds of each launch.
    pub rounds: u64,
    /// Whether the base runs twice, so that it is known what two sides differ by that are the same.
    pub placebo: bool,
    /// Launches after which it is looked whether the verdict stands.
    pub looks: &'static [u64],
    /// Whether it may say more than which way a change leans.
    pub decides: bool,
}

impl Mode {
    /// For screening: two launches know next to nothing of how launches differ.
    pub const QUICK: Mode = Mode { name: "quick", launches: 2, rounds: 6, placebo: false, looks: &[2], decides: false };
    /// Six launches: fewer make Student's factor large, and more rounds instead of launches help no further.
    pub const STANDARD: Mode =
        Mode { name: "standard", launches: 6, rounds: 8, placebo: true, looks: &[3, 6], decides: true };
    /// Finds 5 % of CPU time on a loaded machine.
    pub const THOROUGH: Mode =
        Mode { name: "thorough", launches: 10, rounds: 12, placebo: true, looks: &[3, 6, 10], decides: true };
    /// All of them, the shortest first.
    pub const ALL: [Mode; 3] = [Self::QUICK, Self::STANDARD, Self::THOROUGH];

    /// The mode of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Mode> {
        Self::ALL.into_iter().find(|mode| mode.name == name)
    }
}

/// What look number `looked` of `looks` may spend, as a share. The shares of all looks sum to 1, and the last spends what is left.
#[must_use]
pub fn look_share(looks: usize, looked: usize) -> f64 {
    let last = looks.saturating_sub(1);
    let early = last.min(LOOK_SHARES.len() - 1);
    let left = 1.0 - LOOK_SHARES[..early].iter().sum::<f64>();
    match looked.min(last) {
        look if look < early => LOOK_SHARES[look],
        // More looks than shares divide the last one evenly.
        _ => left / (looks.max(1) - early) as f64,
    }
}

/// The least change that matters, as a share, where nobody said otherwise.
#[must_use]
pub fn threshold(name: &str, metric: &Metric) -> f64 {
    match name {
        // The same work gives the same value: any difference is one.
        _ if metric.exact => 0.0,
        // Counters repeat to a few in a million on one machine, but not from one CPU to another.
        _ if name.contains("instructions") => 0.005,
        // Steadier than the clock on the wall: on a loaded machine a fifth of its scatter.
        _ if name.starts_with("cpu") => 0.02,
        // In whole pages and whole arenas of an allocator.
        _ if name.contains("rss") => 0.02,
        // Below that users do not notice, and shared machines cannot tell.
        _ => 0.03,
    }
}

/// Whether the values of a sample are the sum of its calls.
#[must_use]
pub fn is_summed(name: &str, metric: &Metric) -> bool {
    crate::per(name, metric) == Per::Sample
}

/// What people call a metric.
#[must_use]
pub fn noun(metric: &str) -> &str {
    match metric {
        "wall_s" => "time",
        "cpu_s" => "CPU time",
        "ttft_s" => "time to first token",
        "token_s" => "time per token",
        "tokens_per_s" => "tokens per second",
        "peak_rss_bytes" => "peak memory",
        "allocs" => "number of allocations",
        "alloc_bytes" => "allocated bytes",
        "peak_live_bytes" => "peak of live bytes",
        "instructions" => "number of instructions",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_spend_all_and_no_more() {
        for looks in 1..8 {
            let sum: f64 = (0..looks).map(|looked| look_share(looks, looked)).sum();
            assert!((sum - 1.0).abs() < 1e-12, "{looks}: {sum}");
        }
        let shares = |looks| (0..looks).map(|looked| look_share(looks, looked)).collect::<Vec<_>>();
        assert_eq!(shares(1), [1.0]);
        assert_eq!(shares(2), [0.1, 0.9]);
        assert!(shares(3).iter().zip([0.1, 0.3, 0.6]).all(|(a, b)| (a - b).abs() < 1e-12));
    }

    #[test]
    fn modes_end_with_a_look() {
        for mode in Mode::ALL {
            assert_eq!(mode.looks.last(), Some(&mode.launches), "{}", mode.name);
            assert_eq!(Mode::named(mode.name), Some(mode));
        }
        assert_eq!(Mode::named("stored"), None);
    }

    #[test]
    fn thresholds_follow_from_names() {
        let noisy = Metric::default();
        let exact = Metric { exact: true, ..Metric::default() };
        for (name, metric, share) in [
            ("wall_s", &noisy, 0.03),
            ("ttft_s", &noisy, 0.03),
            ("tokens_per_s", &noisy, 0.03),
            ("cpu_s", &noisy, 0.02),
            ("peak_rss_bytes", &noisy, 0.02),
            ("instructions", &noisy, 0.005),
            ("allocs", &exact, 0.0),
        ] {
            assert_eq!(threshold(name, metric), share, "{name}");
        }
    }
}
