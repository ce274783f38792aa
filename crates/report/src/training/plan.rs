//! What will be trained, on what, with what: before the first step.

use record::{Build, Machine, TrainingStart};

use crate::document::{Block, Document, Section};
use crate::run::system;
use crate::units::{bytes, count, plural, rate};

/// The machine, the model, the corpus, and what has to be known.
#[must_use]
pub fn document(start: &TrainingStart, machine: Option<&Machine>, build: Option<&Build>) -> Document {
    let facts = [
        ("cpu", machine.map(|machine| with_instructions(machine, start.threads))),
        ("build", build.and_then(system::build)),
        ("model", Some(model(start))),
        ("vocabulary", Some(plural(start.vocabulary, "token"))),
        ("corpus", Some(corpus(start))),
        ("plan", Some(plan(start))),
        ("memory", memory(start)),
        ("resumed", start.resumed_at.map(|step| format!("from the checkpoint at step {}", count(step)))),
    ];
    let notes = start.notes.iter().map(|note| ("note", Some(note.clone())));
    let known = facts.into_iter().chain(notes);
    let known = known.filter_map(|(label, sentence)| Some((label.to_owned(), sentence?)));
    Document::untitled(vec![Section::new("", "").with(Block::Facts(known.collect()))])
}

fn with_instructions(machine: &Machine, threads: u64) -> String {
    let isa = Some(&machine.isa.chosen).filter(|isa| !isa.is_empty());
    let isa = isa.map(|isa| format!("; {} kernels", system::instructions(machine, isa))).unwrap_or_default();
    format!("{}{isa}; {}", system::cpu(machine), plural(threads, "training thread"))
}

/// Texts and numbers by their names in the config.
fn model(start: &TrainingStart) -> String {
    let value = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let sizes: Vec<String> = start.model.iter().map(|(name, size)| format!("{name} {}", value(size))).collect();
    let sizes = if sizes.is_empty() { String::new() } else { format!("; {}", sizes.join(", ")) };
    format!("{}{sizes}", plural(start.parameters, "parameter"))
}

fn corpus(start: &TrainingStart) -> String {
    let kept = match start.validation_tokens {
        0 => ", none for validation".to_owned(),
        tokens => format!(", {} for validation", plural(tokens, "token")),
    };
    let files = if start.corpus.is_empty() { String::new() } else { format!("; {}", start.corpus.join(", ")) };
    format!("{} in {}{kept}{files}", plural(start.tokens, "token"), plural(start.sequences, "sequence"))
}

fn plan(start: &TrainingStart) -> String {
    let epochs = start.epochs.map_or_else(String::new, |epochs| format!(" in {}", plural(epochs, "epoch")));
    let each = format!("{} per epoch", count(start.steps_per_epoch));
    let work = match start.flops_per_step {
        0 => String::new(),
        flops => format!(" and {}", rate(flops as f64, "FLOP")),
    };
    let tokens = plural(start.tokens_per_step, "token");
    format!("{}{epochs} ({each}), up to {tokens}{work} per step", plural(start.steps, "step"))
}

fn memory(start: &TrainingStart) -> Option<String> {
    let whole = crate::units::sum_of(start.memory.values().copied());
    let parts: Vec<String> = start.memory.iter().map(|(purpose, size)| format!("{purpose} {}", bytes(*size))).collect();
    (!parts.is_empty()).then(|| format!("{}: {}", bytes(whole), parts.join(", ")))
}
