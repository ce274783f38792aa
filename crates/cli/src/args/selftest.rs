//! The arguments of `hotloop selftest`.

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::whole_number;

/// Duels of two sides that are the same, unless another number is asked for.
const DUELS: usize = 20;
/// More than anybody waits for.
const MOST_DUELS: usize = 100_000;

/// How to try the verdicts of this program.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    about = "How often verdicts are false on this machine, and which slowdowns they find",
    long_about = "How often verdicts are false on this machine, and which slowdowns they find.\n\n\
        Fights duels of simulated work: of two sides that are the same, where every change that is called is a false alarm, and of \
        sides of which one has 2, 5 or 10 % more work. They are judged by CPU time and by time, each alone.",
    after_help = "Examples:\n  \
          hotloop selftest\n  \
          hotloop selftest --duels 100 --slowed 100 --mode thorough\n  \
          hotloop selftest --time-budget 60 --json > selftest.json"
)]
pub struct SelfTest {
    /// Duels of two sides that are the same.
    #[arg(long, value_name = "N", default_value_t = DUELS, hide_default_value = true, allow_hyphen_values = true,
        value_parser = whole_number("--duels", 1, MOST_DUELS),
        help = format!("duels of two sides that are the same (default {DUELS})"))]
    pub duels: usize,
    /// Duels of each slowdown.
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = whole_number("--slowed", 0, MOST_DUELS),
        help = "duels of each slowdown (default: half as many)")]
    pub slowed: Option<usize>,
    /// How much each duel measures.
    #[arg(long, value_enum, default_value_t = TriedMode::Standard, hide_default_value = true, hide_possible_values = true,
        help = "how much each duel measures: standard (default), thorough")]
    pub mode: TriedMode,
    /// What a round should take.
    #[arg(long, value_name = "MS", default_value_t = 8, hide_default_value = true, allow_hyphen_values = true,
        value_parser = whole_number("--round", 1, 10_000),
        help = "milliseconds of a round (default 8): longer ones scatter less")]
    pub round: usize,
    /// Seconds.
    #[arg(long, value_name = "S", allow_hyphen_values = true, value_parser = super::profile::seconds,
        help = "begin no duel behind so many seconds (default: none is left out)")]
    pub time_budget: Option<Duration>,
    /// Whether to print for programs.
    #[arg(long, help = "print JSON")]
    pub json: bool,
}

/// Modes that pass verdicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TriedMode {
    Standard,
    Thorough,
}

/// The work of a self-test, for the process that duels with it.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(hide = true)]
pub struct SelfTestWorker {
    /// How much more, as a share.
    #[arg(long, value_name = "SHARE")]
    pub more: f64,
}
