//! How far a duel is, on a terminal: the interval as it narrows.

use indicatif::ProgressBar;
use lab::duel::{Doing, Progress, SoFar, Watch};

use super::super::{interrupt, progress};

/// Shows a duel.
pub struct Follower {
    bar: ProgressBar,
    /// Which one of several; empty where there is one.
    which: String,
}

impl Follower {
    pub fn new() -> Self {
        Self { bar: progress("{pos:>3} of {len} rounds", ""), which: String::new() }
    }

    /// The next one of several.
    pub fn next(&mut self, name: &str, number: u64, of: usize) {
        self.which = format!("{name} ({number} of {of}): ");
        self.bar.set_position(0);
    }

    /// Something before the first round.
    pub fn say(&self, what: &str) {
        self.bar.set_message(format!("{}{what}", self.which));
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Watch for Follower {
    fn tell(&mut self, progress: &Progress<'_>) {
        let doing = match progress.doing {
            Doing::Calibrating => "sizing rounds",
            Doing::Launching => "starting",
            Doing::WarmingUp => "warming up",
            Doing::Profiling => "profiling",
            Doing::Measuring => "measuring",
        };
        let again = if progress.confirmation { ", once more what regressed" } else { "" };
        let launch = format!("launch {} of {}", progress.launch.max(1), progress.launches);
        let so_far = progress.so_far.map_or_else(String::new, |SoFar { metric, change }| {
            format!("; {metric} {:+.1} to {:+.1} %", change.low * 100.0, change.high * 100.0)
        });
        self.bar.set_length(progress.launches * progress.rounds);
        self.bar.set_position(progress.launch.saturating_sub(1) * progress.rounds + progress.round);
        self.say(&format!("{doing}, {launch}{again}{so_far}"));
    }

    fn is_stopped(&self) -> bool {
        interrupt::asked()
    }
}
