//! Whole trainings, small enough to be repeated many times.

mod learning;
mod limits;
mod profile;
mod resume;

use std::path::Path;

use engine::Compute;
use record::{Training, TrainingEvent, TrainingStep};
use training::config::{self, Settings};
use training::{Result, TrainingObserver, train};

use crate::folder::Folder;

/// Some lines of different lengths.
pub const LINES: &str = "\
    the quick brown fox jumps over the lazy dog\n\
    a stitch in time saves nine\n\
    all that glitters is not gold\n\
    the early bird catches the worm\n\
    a rolling stone gathers no moss\n\
    birds of a feather flock together\n\
    too many cooks spoil the broth\n\
    the pen is mightier than the sword\n\
    when in rome do as the romans do\n\
    the squeaky wheel gets the grease\n\
    no man is an island\n\
    fortune favors the bold\n";

/// A tiny model that learns these lines; `sets` say what is different.
pub fn settings(folder: &Folder, sets: &[&str]) -> Settings {
    settings_in(folder.root(), sets)
}

/// The same in any folder, which has the text then.
pub fn settings_in(folder: &Path, sets: &[&str]) -> Settings {
    // Written once: who reads it may be another process.
    let text = folder.join("text.txt");
    if !text.exists() {
        std::fs::write(&text, LINES).expect("a temporary file can be written");
    }
    let small = [
        "model.d_model=32",
        "model.num_heads=4",
        "model.num_layers=2",
        "tokenizer.kind=characters",
        "training.max_length=64",
        "training.batch_size=4",
        "training.learning_rate=0.003",
        "training.num_epochs=2",
        "checkpointing.save_every_n_batches=0",
        "sample.length=0",
    ];
    let mut all: Vec<String> = small.iter().chain(sets).map(ToString::to_string).collect();
    all.push(format!("data.input_file={}", text.display()));
    all.push(format!("data.output_dir={}", folder.join("out").display()));
    config::defaults(&all).expect("these settings can be").settings
}

/// Ends after so many steps, if asked to; and keeps what it was told.
#[derive(Default)]
pub struct Listener {
    pub events: Vec<TrainingEvent>,
    pub stop_after: Option<u64>,
    steps: u64,
}

impl Listener {
    pub fn stopping_after(steps: u64) -> Self {
        Self { stop_after: Some(steps), ..Self::default() }
    }
}

impl TrainingObserver for Listener {
    fn event(&mut self, event: &TrainingEvent) {
        self.steps += u64::from(matches!(event, TrainingEvent::Step(_)));
        self.events.push(event.clone());
    }

    fn wants_to_stop(&mut self) -> bool {
        self.stop_after.is_some_and(|most| self.steps >= most)
    }
}

pub fn run(settings: &Settings, resume: Option<&str>, listener: &mut Listener) -> Result<Training> {
    let compute = Compute::new(Some(1)).expect("one thread is there");
    train(settings, resume.map(Path::new), &compute, listener)
}

/// Every step, with what the clock says taken out.
pub fn steps(events: &[TrainingEvent]) -> Vec<TrainingStep> {
    let of_step = |event: &TrainingEvent| match event {
        TrainingEvent::Step(step) => Some(TrainingStep { seconds: 0.0, ..step.clone() }),
        _ => None,
    };
    events.iter().filter_map(of_step).collect()
}
