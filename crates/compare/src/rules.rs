//! All constants of the verdicts, with their reasons.

use record::{Metric, Per};

/// The accepted probability of a false verdict, for all gates and candidates of a duel together.
pub const ALPHA: f64 = 0.05;

/// The share of discoveries among metrics that decide nothing which may be false: they are hints, and are looked at as such.
pub const EXPLORATORY_Q: f64 = 0.10;

/// The minimum duration of a round in seconds. On a loaded machine, rounds of 4 ms vary by 70 %, rounds of 80 ms by 18 %.
pub const ROUND_S: f64 = 0.2;

/// Metrics that may be declared as gates of one duel: each costs all others certainty.
pub const MOST_GATES: usize = 5;

/// The share of the error rate that each look may spend. The last look gets most, because it has the most samples.
const LOOK_SHARES: [f64; 3] = [0.25, 0.25, 0.5];

/// The machine counts as unstable if base and placebo differ significantly and by more than this share of the threshold.
pub const PLACEBO_SHARE: f64 = 0.5;
/// The significance level of that test. A duel tests it once per metric, so 5 % would discard good duels too often.
pub const PLACEBO_ALPHA: f64 = 0.01;

/// Advice never asks for more launches than this.
pub const MOST_LAUNCHES_ADVISED: u64 = 200;
/// Advice is given only if a duel of that size resolves with this probability.
pub const ADVICE_POWER: f64 = 0.85;

/// More than this share of the cells has to move alike before it is called a drift.
pub const DRIFT_SHARE: f64 = 0.8;
/// With fewer cells, all of them moving alike is no surprise.
pub const DRIFT_CELLS: usize = 5;
/// How far from the middle of all changes one may lie and count as alike, as a factor.
pub const DRIFT_ALIKE: f64 = 2.0;

/// The chance of being wrong about a budget that is allowed, either way.
pub const BUDGET_ALPHA: f64 = 0.05;

/// How much a duel measures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DuelMode {
    /// Its name.
    pub name: &'static str,
    /// Maximum number of launches: fresh processes of each arm.
    pub launches: u64,
    /// Rounds per launch. Multiples of 3 let each of three arms take each place in the order equally often.
    pub rounds: u64,
    /// Whether a copy of the base runs as a placebo, which shows what the machine adds where nothing changed.
    pub placebo: bool,
    /// The numbers of launches after which the duel may stop early.
    pub looks: &'static [u64],
    /// The smallest change it may call regressed or improved: 0.25 is a factor of 1.25 either way.
    pub decides_from: f64,
    /// Whether a verdict is measured a second time before it is believed.
    pub confirms: bool,
}

impl DuelMode {
    /// For screening. Without a placebo and with few launches, it only decides large changes.
    pub const QUICK: DuelMode = DuelMode {
        name: "quick",
        launches: 4,
        rounds: 3,
        placebo: false,
        looks: &[4],
        decides_from: 0.25,
        confirms: false,
    };
    /// Eight launches: with fewer, Student's factor is large; more rounds in their place do not help.
    pub const STANDARD: DuelMode = DuelMode {
        name: "standard",
        launches: 8,
        rounds: 6,
        placebo: true,
        looks: &[4, 8],
        decides_from: 0.0,
        confirms: true,
    };
    /// For small changes.
    pub const THOROUGH: DuelMode = DuelMode {
        name: "thorough",
        launches: 14,
        rounds: 9,
        placebo: true,
        looks: &[4, 8, 14],
        decides_from: 0.0,
        confirms: true,
    };
    /// All modes, shortest first.
    pub const ALL: [DuelMode; 3] = [Self::QUICK, Self::STANDARD, Self::THOROUGH];

    /// Whether it is for screening only: it neither shows that two sides are the same nor finds small changes.
    #[must_use]
    pub fn is_screening(&self) -> bool {
        self.decides_from > 0.0
    }

    /// The mode of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<DuelMode> {
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

/// The default threshold of a metric, as a share.
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

/// The name of a metric in sentences.
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
        assert_eq!(shares(2), [0.25, 0.75]);
        assert_eq!(shares(3), [0.25, 0.25, 0.5]);
    }

    #[test]
    fn modes_end_with_a_look() {
        for mode in DuelMode::ALL {
            assert_eq!(mode.looks.last(), Some(&mode.launches), "{}", mode.name);
            assert_eq!(DuelMode::named(mode.name), Some(mode));
        }
        assert_eq!(DuelMode::named("stored"), None);
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
