//! The arguments of `hotloop selftest`.

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::values::{count, seconds};

/// Check how often duels are wrong on this machine
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "\
Runs duels of simulated work. In some, both sides are the same, and every change
that is reported is a false alarm. In the others, one side does 2, 5 or 10 % more
work. CPU time and wall time are judged separately.

Examples:
  hotloop selftest
  hotloop selftest --duels 100 --slowed 100 --mode thorough
  hotloop selftest --time-budget 60 --json > selftest.json")]
pub struct SelfTest {
    /// Number of duels between equal sides
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = count(1..=100_000))]
    pub duels: usize,
    /// Number of duels for each slowdown [default: half of --duels]
    #[arg(long, value_name = "N", value_parser = count(0..=100_000))]
    pub slowed: Option<usize>,
    /// How much each duel measures
    #[arg(long, value_name = "NAME", value_enum, default_value_t = SelfTestMode::Standard)]
    pub mode: SelfTestMode,
    /// Duration of a round in milliseconds; longer rounds vary less
    #[arg(long, value_name = "MS", default_value_t = 8, value_parser = count(1..=10_000))]
    pub round: usize,
    /// Start no new duel after this many seconds [default: no limit]
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub time_budget: Option<Duration>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The modes that give verdicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SelfTestMode {
    Standard,
    Thorough,
}

/// Do the work of a self-test, in a process of its own
#[derive(Debug, Clone, PartialEq, Args)]
pub struct SelfTestWorker {
    /// How much more work than the base, as a share
    #[arg(long, value_name = "SHARE")]
    pub more: f64,
}
