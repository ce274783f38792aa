//! How a training ended, and what to do with what it left.

use record::{Training, TrainingEnd, TrainingEvent, TrainingStep, TrainingValidation};

use super::{loss, per_second, perplexity, shares, tenths, waiting};
use crate::document::{Block, Document, Section};
use crate::run::command_line;
use crate::units::{count, digits, plural, tokens_per_s};

/// Checkpoints that are named; the last ones.
const CHECKPOINTS: usize = 2;

/// What was written besides, and how to go on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Files {
    /// The log.
    pub log: Option<String>,
    /// The curve.
    pub curve: Option<String>,
    /// The command that goes on with this training, in words.
    pub resume: Vec<String>,
}

/// The whole training in a few lines.
#[must_use]
pub fn document(training: &Training, files: &Files) -> Document {
    let events = &training.events;
    let end =
        events.iter().rev().find_map(|event| if let TrainingEvent::Ended(end) = event { Some(end) } else { None });
    let steps: Vec<&TrainingStep> = events
        .iter()
        .filter_map(|event| if let TrainingEvent::Step(step) = event { Some(step) } else { None })
        .collect();
    let facts = Section::of_facts([
        ("loss", losses(events, &steps)),
        ("validation", validation(events, end)),
        ("speed", speed(&steps, end)),
        ("time", phases(training)),
    ]);
    let labels = ["files"].into_iter().chain(std::iter::repeat(""));
    let written = labels.zip(written(events, end, files));
    let generate = end.and_then(|end| end.model.as_deref()).map(|model| ("generate", generate(events, model)));
    let resume = (!files.resume.is_empty()).then(|| ("resume", command_line::joined(&files.resume)));
    let copied = written.chain(generate).chain(resume).map(|(label, line)| (label.to_owned(), line)).collect();
    let sections = vec![facts, Section::new("", "").with(Block::Copied(copied))];
    Document { kind: "TRAINING", title: headline(end, &steps), sections, ..Document::default() }
}

fn headline(end: Option<&TrainingEnd>, steps: &[&TrainingStep]) -> String {
    match end {
        Some(end) => {
            format!("{}: {} in {}", end.why, plural(end.steps, "step"), waiting(end.seconds))
        }
        None => format!("interrupted after step {}", count(steps.last().map_or(0, |step| step.step))),
    }
}

fn losses(events: &[TrainingEvent], steps: &[&TrainingStep]) -> Option<String> {
    let (first, last) = (steps.first()?, steps.last()?);
    // Who is interrupted between two epochs has an empty one.
    let epoch = events.iter().rev().find_map(|event| match event {
        TrainingEvent::Epoch(epoch) if epoch.steps > 0 => Some(epoch),
        _ => None,
    });
    let mean = epoch.map_or_else(String::new, |epoch| format!("; last epoch average {}", loss(epoch.loss)));
    Some(format!(
        "{} (step {}) to {} (step {}){mean}",
        loss(first.loss),
        count(first.step),
        loss(last.loss),
        count(last.step)
    ))
}

fn validation(events: &[TrainingEvent], end: Option<&TrainingEnd>) -> Option<String> {
    let validations =
        || events.iter().filter_map(|event| if let TrainingEvent::Validated(one) = event { Some(one) } else { None });
    let described = |one: &TrainingValidation| {
        format!("loss {}, perplexity {} (step {})", loss(one.loss), perplexity(one.perplexity), count(one.step))
    };
    let best = validations().min_by(|a, b| a.loss.total_cmp(&b.loss));
    let before = end.and_then(|end| end.best_validation);
    let Some(best) = best else {
        // Without a text to validate on, the best is that of an epoch.
        let validates = |event: &TrainingEvent| matches!(event, TrainingEvent::Started(start) if start.resumed_at.is_some() && start.validation_tokens > 0);
        let before = before.filter(|_| events.iter().any(validates));
        return before.map(|before| format!("best {} (before resuming)", loss(before)));
    };
    let last = validations().next_back().filter(|last| last.step != best.step);
    // The best of all may be of a process before this one.
    let earlier =
        before.filter(|before| *before < best.loss).map(|before| format!("; {} before resuming", loss(before)));
    Some(format!(
        "best {}{}{}",
        described(best),
        last.map_or_else(String::new, |last| format!("; last {}", described(last))),
        earlier.unwrap_or_default()
    ))
}

/// Over the steps, and over the whole time, which includes validation and checkpoints.
fn speed(steps: &[&TrainingStep], end: Option<&TrainingEnd>) -> Option<String> {
    let sum = |of: fn(&TrainingStep) -> f64| steps.iter().map(|step| of(step)).sum::<f64>();
    let (tokens, sequences, seconds) =
        (sum(|step| step.tokens as f64), sum(|step| step.sequences as f64), sum(|step| step.seconds));
    let speed = tokens_per_s(per_second(tokens, seconds)?);
    let samples =
        per_second(sequences, seconds).map_or_else(String::new, |rate| format!(", {} samples/s", digits(rate)));
    let whole = end.and_then(|end| per_second(end.tokens as f64, end.seconds));
    let whole = whole.map_or_else(String::new, |rate| format!("; {} overall", tokens_per_s(rate)));
    Some(format!("{speed}{samples} (steps only){whole}"))
}

fn phases(training: &Training) -> Option<String> {
    let shares = shares(&training.phases);
    let known: Vec<String> = shares
        .iter()
        .filter(|(_, seconds, _)| *seconds > 0.0)
        .map(|(name, _, share)| format!("{name} {}", tenths(*share)))
        .collect();
    (!known.is_empty()).then(|| known.join(", "))
}

fn written(events: &[TrainingEvent], end: Option<&TrainingEnd>, files: &Files) -> Vec<String> {
    let model = end.and_then(|end| {
        let which = if end.model_is_best { "model (best validation)" } else { "model" };
        Some(format!("{}: {which}", end.model.as_ref()?))
    });
    let log = files.log.as_ref().map(|path| format!("{path}: log"));
    let curve = files.curve.as_ref().map(|path| format!("{path}: loss curve"));
    let saved: Vec<String> = events
        .iter()
        .filter_map(|event| if let TrainingEvent::Saved(saved) = event { Some(saved) } else { None })
        .map(|saved| format!("{}: checkpoint of step {}", saved.path, count(saved.step)))
        .collect();
    let last = saved.len().saturating_sub(CHECKPOINTS);
    model.into_iter().chain(saved.into_iter().skip(last)).chain(log).chain(curve).collect()
}

/// The command that lets the model write, with the prompt of its last sample.
fn generate(events: &[TrainingEvent], model: &str) -> String {
    let sampled =
        events.iter().rev().find_map(|event| if let TrainingEvent::Sampled(one) = event { Some(one) } else { None });
    let prompt = sampled.map(|sample| sample.prompt.clone()).filter(|prompt| !prompt.is_empty());
    let mut words = ["hotloop", "generate", "--model", model].map(str::to_owned).to_vec();
    words.extend(prompt.into_iter().flat_map(|prompt| ["--prompt".to_owned(), prompt]));
    command_line::joined(&words)
}
