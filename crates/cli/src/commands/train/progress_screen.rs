//! The progress of a training on standard error: one moving line on a terminal, else a line now and then.

use std::io::Write;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use record::TrainingEvent;
use report::TrainingProgress;
use training::data::{Progress, Stage};

use crate::commands::{progress, terminal};

/// Without a terminal, the time between two lines on steps.
const BETWEEN_LINES: Duration = Duration::from_secs(10);
/// On a terminal, the time between two looks: more could not be read.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// The time between two epochs that are shown, and between two validations: of small models there are hundreds in a second. The log
/// has all.
const BETWEEN_EVENTS: Duration = Duration::from_secs(1);

/// Where progress is shown.
pub struct ProgressScreen {
    progress: TrainingProgress,
    display: Display,
    last: Instant,
    last_epoch: Option<Instant>,
    last_validation: Option<Instant>,
}

enum Display {
    Nothing,
    /// One line that moves.
    Bar(ProgressBar),
    Lines,
}

/// A long line is cut off, because a wrapped line cannot move.
fn bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:16} {pos}/{len}  {wide_msg}");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> ");
    progress("{pos}/{len}", "").with_style(style)
}

impl ProgressScreen {
    /// Nothing is shown before the first event.
    pub fn new() -> Self {
        let display = match (terminal::shows_notes(), terminal::shows_progress()) {
            (false, _) => Display::Nothing,
            (true, true) => Display::Bar(bar()),
            (true, false) => Display::Lines,
        };
        let (last_epoch, last_validation) = (None, None);
        Self { progress: TrainingProgress::new(), display, last: Instant::now(), last_epoch, last_validation }
    }

    /// Shows what happened.
    pub fn take(&mut self, event: &TrainingEvent) {
        self.progress.event(event);
        match event {
            TrainingEvent::Step(_) => self.step(),
            // What begins is told with the machine around it, what ends by the summary.
            TrainingEvent::Started(_) | TrainingEvent::Ended(_) => {}
            _ if self.is_due(event) => self.say(&report::training_event_text(event)),
            _ => {}
        }
    }

    /// The first, the last, and others as often as they can be read.
    fn is_due(&mut self, event: &TrainingEvent) -> bool {
        let (done, all) = self.progress.steps();
        let last = match event {
            // Who is interrupted between two epochs has an empty one.
            TrainingEvent::Epoch(epoch) if epoch.steps == 0 => return false,
            TrainingEvent::Epoch(_) => &mut self.last_epoch,
            TrainingEvent::Validated(_) => &mut self.last_validation,
            _ => return true,
        };
        let is_due = done == all || last.is_none_or(|last| last.elapsed() >= BETWEEN_EVENTS);
        if is_due {
            *last = Some(Instant::now());
        }
        is_due
    }

    /// Shows how far the corpus is made ready, where that takes long enough to be seen.
    pub fn preparing(&mut self, progress: Progress) {
        let Display::Bar(bar) = &self.display else { return };
        if self.last.elapsed() < BETWEEN_LOOKS {
            return;
        }
        self.last = Instant::now();
        bar.set_length(progress.total.max(1));
        bar.set_position(progress.done);
        bar.set_message(match progress.stage {
            Stage::Vocabulary => "bytes of the corpus read for its vocabulary",
            Stage::Encoding => "bytes of the corpus turned into tokens",
        });
    }

    /// Lines that stay.
    pub fn say(&self, text: &str) {
        // Words that nobody can be shown are no failure of the training.
        let print = || drop(std::io::stderr().lock().write_all(text.as_bytes()));
        match &self.display {
            Display::Nothing => {}
            Display::Bar(bar) => bar.suspend(print),
            Display::Lines => print(),
        }
    }

    /// What has to be known, where nothing else is shown.
    pub fn warn(&self, notes: &[String]) {
        if matches!(self.display, Display::Nothing) {
            let text: String = notes.iter().map(|note| format!("note: {note}\n")).collect();
            // Words that nobody can be shown are no failure of the training.
            let _ = std::io::stderr().lock().write_all(text.as_bytes());
        }
    }

    /// The line that moves goes away.
    pub fn end(&self) {
        if let Display::Bar(bar) = &self.display {
            bar.finish_and_clear();
        }
    }

    fn step(&mut self) {
        let (done, all) = self.progress.steps();
        let pause = if matches!(self.display, Display::Bar(_)) { BETWEEN_LOOKS } else { BETWEEN_LINES };
        if self.last.elapsed() < pause && done != all {
            return;
        }
        self.last = Instant::now();
        match &self.display {
            Display::Nothing => {}
            Display::Bar(bar) => {
                bar.set_length(all);
                bar.set_position(done);
                bar.set_message(self.progress.figures());
            }
            Display::Lines => self.say(&(self.progress.line() + "\n")),
        }
    }
}
