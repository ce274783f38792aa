//! What will be trained, on what, with what: before the first step.

use record::{Build, Machine, TrainingStart};

use crate::layout::labelled;
use crate::run::printable;
use crate::run::system;
use crate::units::{bytes, count, plural, rate};

const LABELS: usize = 12;

/// The machine, the model, the corpus, and what has to be known.
#[must_use]
pub fn text(start: &TrainingStart, machine: Option<&Machine>, build: Option<&Build>) -> String {
    let mut text = String::new();
    let mut line = |label: &str, sentence: Option<String>| {
        text.extend(sentence.map(|sentence| labelled(label, LABELS, &printable(&sentence))));
    };
    line("cpu", machine.map(|machine| with_instructions(machine, start.threads)));
    line("build", build.and_then(system::build));
    line("model", Some(model(start)));
    line("vocabulary", Some(plural(start.vocabulary, "token")));
    line("corpus", Some(corpus(start)));
    line("plan", Some(plan(start)));
    line("memory", memory(start));
    line("resumed", start.resumed_at.map(|step| format!("from the checkpoint behind step {}", count(step))));
    for note in &start.notes {
        line("note", Some(note.clone()));
    }
    text
}

fn with_instructions(machine: &Machine, threads: u64) -> String {
    let isa = Some(&machine.isa.chosen).filter(|isa| !isa.is_empty());
    let isa = isa.map(|isa| format!("; {}", system::instructions(machine, isa))).unwrap_or_default();
    format!("{}{isa}; {} to train with", system::cpu(machine), plural(threads, "thread"))
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
        0 => ", none kept back to validate".to_owned(),
        tokens => format!(", {} kept back to validate", plural(tokens, "token")),
    };
    let files = if start.corpus.is_empty() { String::new() } else { format!("; {}", start.corpus.join(", ")) };
    format!("{} in {}{kept}{files}", plural(start.tokens, "token"), plural(start.sequences, "sequence"))
}

fn plan(start: &TrainingStart) -> String {
    let epochs = start.epochs.map_or_else(String::new, |epochs| format!(" in {}", plural(epochs, "epoch")));
    let each = format!("{} of each epoch", count(start.steps_per_epoch));
    let work = match start.flops_per_step {
        0 => String::new(),
        flops => format!(", {}", rate(flops as f64, "FLOP")),
    };
    let tokens = plural(start.tokens_per_step, "token");
    format!("{}{epochs} ({each}), up to {tokens} a step{work}", plural(start.steps, "step"))
}

fn memory(start: &TrainingStart) -> Option<String> {
    let whole = crate::units::sum_of(start.memory.values().copied());
    let parts: Vec<String> = start.memory.iter().map(|(purpose, size)| format!("{purpose} {}", bytes(*size))).collect();
    (!parts.is_empty()).then(|| format!("{}: {}", bytes(whole), parts.join(", ")))
}
