//! The progress of a duel on a terminal: the interval as it narrows, and the remaining time.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use indicatif::ProgressBar;
use lab::duel::{ChangeSoFar, DuelObserver, DuelProgress, DuelStage};

use super::super::{interrupt, progress};

/// The visible bar, so that a message does not break its line.
static CURRENT_BAR: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Confirms a request to stop.
#[allow(clippy::print_stderr, reason = "there may be no bar to say it on")]
pub fn acknowledge() {
    let said = "stopping after this call; press Ctrl-C again to stop at once";
    let shown = CURRENT_BAR.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match shown.filter(|bar| !bar.is_hidden() && !bar.is_finished()) {
        Some(bar) => bar.println(said),
        None => eprintln!("{said}"),
    }
}

/// The progress bar of a duel.
pub struct DuelBar {
    bar: ProgressBar,
    /// Which one of several; empty where there is one.
    which: String,
}

impl DuelBar {
    pub fn new() -> Self {
        let bar = progress("{pos:>3} of {len} rounds", "");
        *CURRENT_BAR.lock().unwrap_or_else(PoisonError::into_inner) = Some(bar.clone());
        Self { bar, which: String::new() }
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

impl DuelObserver for DuelBar {
    fn tell(&mut self, progress: &DuelProgress<'_>) {
        let stage = match progress.stage {
            DuelStage::Calibrating => "sizing rounds",
            DuelStage::Launching => "starting",
            DuelStage::WarmingUp => "warming up",
            DuelStage::Profiling => "profiling",
            DuelStage::Measuring => "measuring",
        };
        let again = if progress.confirmation { ", second measurement" } else { "" };
        let left = progress.left.map_or_else(String::new, |left| format!(", at most {} left", time(left)));
        let launch = format!("launch {} of {}", progress.launch.max(1), progress.launches);
        let so_far = progress.so_far.map_or_else(String::new, |ChangeSoFar { metric, change }| {
            format!("; {metric} {:+.1} to {:+.1} %", change.low * 100.0, change.high * 100.0)
        });
        self.bar.set_length(progress.launches * progress.rounds);
        self.bar.set_position(progress.launch.saturating_sub(1) * progress.rounds + progress.round);
        self.say(&format!("{stage}, {launch}{again}{left}{so_far}"));
    }

    fn is_stopped(&self) -> bool {
        interrupt::is_requested()
    }

    fn is_seen(&self) -> bool {
        !self.bar.is_hidden()
    }
}

/// Whole seconds, or minutes and seconds.
fn time(left: Duration) -> String {
    match left.as_secs_f64().ceil() as u64 {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_are_left_are_short() {
        let left = [0.2, 41.0, 119.5, 185.0].map(|seconds| time(Duration::from_secs_f64(seconds)));
        assert_eq!(left, ["1 s", "41 s", "2 min 0 s", "3 min 5 s"]);
    }
}
