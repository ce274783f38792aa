//! How far the gate is, on a terminal.

use indicatif::ProgressBar;
use lab::duel::{Doing, Progress, SoFar, Watch};

use super::super::{interrupt, progress};

/// Shows one cell after the other.
pub struct Follower {
    bar: ProgressBar,
    /// The cell that is measured, and which one of how many.
    cell: String,
}

impl Follower {
    pub fn new() -> Self {
        Self { bar: progress("{pos:>3} of {len} rounds", ""), cell: String::new() }
    }

    /// The next cell.
    pub fn cell(&mut self, name: &str, number: usize, of: usize) {
        self.cell = format!("{name} ({number} of {of})");
        self.say("");
    }

    /// Something before the first round.
    pub fn say(&self, what: &str) {
        self.bar.set_message(format!("{} {what}", self.cell));
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Watch for Follower {
    fn tell(&mut self, progress: &Progress<'_>) {
        let doing = match (progress.doing, progress.confirmation) {
            (Doing::Calibrating, _) => "sizing rounds",
            (Doing::Launching, _) => "starting",
            (Doing::WarmingUp, _) => "warming up",
            (Doing::Profiling, _) => "profiling",
            (Doing::Measuring, false) => "measuring",
            (Doing::Measuring, true) => "measuring again what regressed",
        };
        let so_far = progress.so_far.map_or_else(String::new, |SoFar { metric, change }| {
            format!(", {metric} {:+.1} % to {:+.1} %", change.low * 100.0, change.high * 100.0)
        });
        self.bar.set_length(progress.launches * progress.rounds);
        self.bar.set_position(progress.launch.saturating_sub(1) * progress.rounds + progress.round);
        self.say(&format!("{doing}{so_far}"));
    }

    fn is_stopped(&self) -> bool {
        interrupt::asked()
    }
}
