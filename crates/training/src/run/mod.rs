//! The loop: steps of learning, and what happens between them.

mod build;
mod clock;
mod fault;
mod pauses;
mod resume;
mod step;

use std::path::{Path, PathBuf};

use engine::Compute;
use engine::steps;
use record::{Tool, Training, TrainingEnd, TrainingEpoch, TrainingEvent, TrainingPhases};

use crate::config::Settings;
use crate::data::Progress;
use crate::{Result, checkpoint};
use build::Build;
use clock::{Clock, Phase};

/// Follows a training, and may end it.
pub trait TrainingObserver {
    /// Something has happened.
    fn event(&mut self, event: &TrainingEvent);

    /// Whether to end orderly after this step: a checkpoint is written, and the training can go on from there.
    fn wants_to_stop(&mut self) -> bool {
        false
    }

    /// Something went wrong that the training survives.
    fn warning(&mut self, message: &str) {
        let _ = message;
    }

    /// The corpus is being made ready.
    fn preparing(&mut self, progress: Progress) {
        let _ = progress;
    }
}

/// Trains a model. `resume` is a checkpoint, a folder of them, or the word `latest`: the training
/// goes on bit for bit as if it had never stopped, with any number of threads.
///
/// # Errors
/// What cannot be read, written or computed, and what to do. Where a loss or a gradient is not a number, the error tells step, layer and batch;
/// the last checkpoint stays as it is.
pub fn train(
    settings: &Settings,
    resume: Option<&Path>,
    compute: &Compute,
    watch: &mut dyn TrainingObserver,
) -> Result<Training> {
    let parts = build::build(settings, resume, watch)?;
    let tool = Tool { name: "hotloop".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() };
    // Room for what is told of each step, so that steps allocate nothing.
    let events = Vec::with_capacity(2 * usize::try_from(parts.span.steps).unwrap_or(usize::MAX).min(1 << 16) + 64);
    let saved = parts.resumed.clone();
    let has_best = saved.is_some() && parts.folder.best().exists();
    let clock = Clock::start();
    let (before, best_at_the_end, postponed) = (0, None, None);
    let mut run =
        Run { settings, compute, watch, parts, clock, events, before, saved, has_best, postponed, best_at_the_end };
    let phases = run.go()?;
    let (schema, version) = (record::TRAINING_SCHEMA.to_owned(), record::TRAINING_VERSION);
    Ok(Training { schema, version, tool, events: run.events, phases })
}

/// The newest checkpoint that `--resume` would take, with the settings it was made with.
///
/// # Errors
/// Where there is none, or it is not whole; then the newest that is whole is named.
pub fn resumable(resume: &Path, settings: &Settings) -> Result<checkpoint::Checkpoint> {
    checkpoint::find(resume, &settings.checkpoints())
}

/// A training that is going on.
struct Run<'a> {
    settings: &'a Settings,
    compute: &'a Compute,
    watch: &'a mut dyn TrainingObserver,
    parts: Build,
    clock: Clock,
    events: Vec<TrainingEvent>,
    /// Batches before the last step.
    before: u64,
    /// The step of the last checkpoint and where it is.
    saved: Option<(u64, PathBuf)>,
    /// Whether the best checkpoint is that of the best validation of this training.
    has_best: bool,
    /// A checkpoint that could not be written, and is tried again.
    postponed: Option<Postponed>,
    /// The loss of a validation behind the last step that was better than all before.
    best_at_the_end: Option<f64>,
}

/// When a checkpoint is tried again.
#[derive(Debug, Clone, Copy)]
struct Postponed {
    /// The step behind which it is.
    at: u64,
    /// Steps that were waited: twice as many after each failure.
    waited: u64,
}

/// Why there are no more steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    Finished,
    EarlyStop,
    Interrupted,
}

impl Why {
    fn words(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::EarlyStop => "early stop",
            Self::Interrupted => "interrupted",
        }
    }
}

/// What an epoch was, as far as this process saw it.
#[derive(Debug, Default)]
struct Tally {
    steps: u64,
    sequences: u64,
    tokens: u64,
    /// The mean loss of the whole epoch, that before a pause included.
    loss: f64,
}

impl Run<'_> {
    /// To the end; where the time went until then.
    fn go(&mut self) -> Result<TrainingPhases> {
        let started = self.started();
        self.tell(TrainingEvent::Started(started));
        self.clock = Clock::start();
        let mut tokens = 0;
        let mut loss = None;
        let mut model = None;
        let mut end = self.enough();
        if let Some(why) = end {
            model = self.close(why)?;
        }
        while end.is_none() {
            let number = self.parts.state.position.epoch;
            hotloop::scope!(steps::TRAIN_EPOCH);
            let mut tally = Tally::default();
            end = self.epoch(&mut tally)?;
            if let Some(why) = end {
                model = self.close(why)?;
            }
            tokens += tally.tokens;
            if tally.steps > 0 {
                loss = Some(tally.loss);
            }
            self.tell_epoch(number, &tally);
        }
        let phases = self.clock.all();
        self.tell(TrainingEvent::Ended(TrainingEnd {
            time: clock::now(),
            why: end.unwrap_or(Why::Finished).words().to_owned(),
            steps: self.parts.state.step,
            tokens,
            seconds: clock::whole(&phases),
            loss,
            best_validation: self.best_validation(),
            model_is_best: end.is_some_and(|why| model.is_some() && self.exports_best(why)),
            model: model.map(|path| path.display().to_string()),
        }));
        Ok(phases)
    }

    /// The best loss of a validation; where there is no text to validate on, there is none.
    fn best_validation(&self) -> Option<f64> {
        let best = self.best_at_the_end.or(self.parts.state.best);
        best.filter(|_| self.parts.validation.is_some())
    }

    /// Whether there are no more steps, and why.
    fn enough(&self) -> Option<Why> {
        let (state, stopping) = (&self.parts.state, &self.settings.training.early_stopping);
        if stopping.patience > 0 && state.waited >= stopping.patience {
            return Some(Why::EarlyStop);
        }
        (state.step >= self.parts.span.steps).then_some(Why::Finished)
    }

    /// Steps until the epoch ends, or all do.
    fn epoch(&mut self, tally: &mut Tally) -> Result<Option<Why>> {
        let epoch = self.parts.state.position.epoch;
        loop {
            if self.watch.wants_to_stop() {
                return Ok(Some(Why::Interrupted));
            }
            let event = self.step()?;
            tally.steps += 1;
            tally.sequences += event.sequences;
            tally.tokens += event.tokens;
            let state = &mut self.parts.state;
            tally.loss = state.epoch.loss / state.epoch.tokens.max(1) as f64;
            let is_last = state.position.epoch != epoch;
            if is_last {
                state.epoch = checkpoint::EpochState::default();
            }
            self.tell(TrainingEvent::Step(event));
            self.pause(is_last, tally.loss)?;
            let end = self.enough();
            if is_last || end.is_some() {
                return Ok(end);
            }
        }
    }

    fn tell_epoch(&mut self, number: u64, tally: &Tally) {
        let phases = self.clock.end_epoch();
        let cpu_seconds = self.clock.cpu_of_epoch();
        self.tell(TrainingEvent::Epoch(TrainingEpoch {
            epoch: number + 1,
            steps: tally.steps,
            sequences: tally.sequences,
            tokens: tally.tokens,
            loss: tally.loss,
            seconds: clock::whole(&phases),
            cpu_seconds,
            phases,
            broken_off: self.parts.state.position.epoch == number,
        }));
    }

    /// Tells whoever listens, and keeps it.
    fn tell(&mut self, event: TrainingEvent) {
        hotloop::scope!(steps::LOG);
        self.watch.event(&event);
        self.events.push(event);
        self.clock.lap(Phase::Overhead);
    }
}
