//! Reports as text, as the tests read them.

use record::*;
use report::{Page, RunOptions};

pub fn run_text(run: &Run, options: &RunOptions) -> String {
    report::run(run, options).terminal(options.page())
}

pub fn run_markdown(run: &Run, options: &RunOptions) -> String {
    report::run(run, options).markdown()
}

pub fn comparison_text(comparison: &Comparison, options: &RunOptions) -> String {
    report::comparison(comparison, options).terminal(options.page())
}

pub fn comparison_markdown(comparison: &Comparison, options: &RunOptions) -> String {
    report::comparison(comparison, options).markdown()
}

pub fn duel_text(duel: &Duel, options: &RunOptions) -> String {
    report::duel(duel, options).terminal(options.page())
}

pub fn duel_markdown(duel: &Duel, options: &RunOptions) -> String {
    report::duel(duel, options).markdown()
}

pub fn models_text(models: &Models) -> String {
    report::models(models).terminal(Page::default())
}

pub fn models_markdown(models: &Models) -> String {
    report::models(models).markdown()
}

pub fn gate_text(gate: &Gate) -> String {
    report::gate(gate).terminal(Page::default())
}

pub fn training_plan_text(start: &TrainingStart, machine: Option<&Machine>, build: Option<&Build>) -> String {
    report::training_plan(start, machine, build).terminal(Page::default())
}

pub fn training_summary_text(training: &Training, files: &report::TrainingFiles) -> String {
    report::training_summary(training, files).terminal(Page::default())
}
