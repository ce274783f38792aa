//! Compares models: speed, memory, quality and scaling.
//!
//! No model is ranked by speed alone: memory and quality are shown next to it.

mod cells;
mod figures;
pub mod fitness;
mod front;
mod launches;
mod ranking;
mod scaling;
mod threads;
mod trades;

use record::{Difference, MODELS_SCHEMA, MODELS_VERSION, MeasuredModel, Models, Run, WorkloadKind};

use crate::{ComparisonSide, comparable, workload_kind};
use cells::ModelEntry;

pub use ranking::{CPU_THRESHOLD, WALL_THRESHOLD};

/// The confidence level of intervals.
const CONFIDENCE: f64 = 0.95;

/// A run of a model, and its id in the store.
#[derive(Debug, Clone, Copy)]
pub struct ModelRun<'a> {
    /// The run.
    pub run: &'a Run,
    /// Its id.
    pub id: Option<&'a str>,
}

/// All models of some runs beside each other. Who writes the document is for the caller to say.
#[must_use]
pub fn models(runs: &[ModelRun<'_>]) -> Models {
    let entries: Vec<ModelEntry<'_>> = runs.iter().flat_map(cells::entries).collect();
    let one_sitting = runs.len() > 1 && runs.windows(2).all(|pair| is_one_sitting(pair[0].run, pair[1].run));
    let mut models: Vec<MeasuredModel> = entries.iter().map(figures::of).collect();
    let judge = one_sitting.then(|| ranking::judge(&entries)).flatten();
    if let Some(judge) = &judge {
        complete(&entries, &mut models, judge);
    }
    let first = runs.first().map(|first| first.run);
    let is_of_one = |run: &&Run| runs.iter().all(|other| other.run.subject == run.subject);
    Models {
        schema: MODELS_SCHEMA.to_owned(),
        version: MODELS_VERSION,
        created: runs.iter().map(|observed| observed.run.created.clone()).min().unwrap_or_default(),
        one_sitting,
        subject: first.filter(is_of_one).map(|run| run.subject.clone()),
        environment: first.filter(|_| one_sitting || runs.len() == 1).map(|run| run.environment.clone()),
        ranking: judge.as_ref().map(|judge| judge.ranking(&entries)),
        trades: trades::of(&entries, &models, judge.as_ref()),
        scaling: scaling::of(&entries, one_sitting),
        threads: threads::of(&entries),
        interrupted: runs.iter().any(|observed| observed.run.interrupted),
        notes: notes(runs, one_sitting),
        models,
        ..Models::default()
    }
}

/// Fills in what follows from the comparison with the other models.
fn complete(entries: &[ModelEntry<'_>], models: &mut [MeasuredModel], judge: &ranking::SpeedJudge) {
    front::mark(entries, models, judge);
    for (at, model) in models.iter_mut().enumerate() {
        let original = ranking::original(entries, at);
        model.same_as = (original != at).then(|| entries[original].model.name.clone());
        let cell = entries[at].cells.first().filter(|_| judge.is_by_cpu());
        model.decode_cpu = cell.and_then(|cell| figures::rate(1.0, &cell.decode_cpu_s));
    }
}

/// Whether two runs were measured in turns: then their start, machine limits and noise are identical.
fn is_one_sitting(a: &Run, b: &Run) -> bool {
    let is_such = |run: &Run| workload_kind(&run.workload) == WorkloadKind::Models;
    is_such(a) && is_such(b) && a.created == b.created && a.environment == b.environment && a.subject == b.subject
}

fn notes(runs: &[ModelRun<'_>], one_sitting: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if runs.len() > 1 && !one_sitting {
        notes.push(
            "the runs were not measured in turns, so differences may come from the machine and no speeds are compared; \
             `hotloop models FILE FILE` measures in turns"
                .to_owned(),
        );
        notes.extend(runs[1..].iter().filter_map(|other| unlike(runs[0].run, other.run)));
    }
    let more = runs.iter().flat_map(|observed| observed.run.notes.iter().chain(&observed.run.failures));
    for note in more {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    notes
}

/// In what two runs differ beside their models.
fn unlike(first: &Run, other: &Run) -> Option<String> {
    let of_models = |difference: &&Difference| {
        let field = difference.field.as_str();
        // Other vocabularies have other tokens; their number is a setting.
        field.starts_with("model") || field == "prompt"
    };
    let differences = comparable(&ComparisonSide::from(first), &ComparisonSide::from(other));
    let told = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_owned());
    let words = differences.iter().filter(|difference| !of_models(difference)).map(|difference| {
        format!("{} ({} and {})", difference.field, told(&difference.base), told(&difference.candidate))
    });
    let words: Vec<String> = words.collect();
    let name = |run: &Run| run.models.first().map_or_else(|| run.created.clone(), |model| model.name.clone());
    (!words.is_empty())
        .then(|| format!("the runs of {} and {} differ in {}", name(first), name(other), words.join(", ")))
}
