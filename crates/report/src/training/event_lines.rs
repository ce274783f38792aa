//! One event as lines, for a terminal or a file.

use record::{
    TrainingCheckpoint, TrainingEnd, TrainingEpoch, TrainingEvent, TrainingSample, TrainingStart, TrainingStep,
    TrainingValidation,
};

use super::{loss, per_second, perplexity, rate, shares, tenths, waiting};
use crate::document::printable;
use crate::document::width::wrapped;
use crate::units::{bytes, count, digits, fine_digits, plural, seconds, tokens_per_s};

/// Characters of a line of a sample.
const SAMPLE_WIDTH: usize = 96;
/// Lines of a sample that are shown; the log has all.
const SAMPLE_LINES: usize = 12;

/// What it says, in whole lines.
#[must_use]
pub fn text(event: &TrainingEvent) -> String {
    match event {
        TrainingEvent::Started(start) => started(start),
        TrainingEvent::Step(step) => step_line(step),
        TrainingEvent::Validated(validation) => validated(validation),
        TrainingEvent::Sampled(sample) => sampled(sample),
        TrainingEvent::Saved(checkpoint) => saved(checkpoint),
        TrainingEvent::Epoch(epoch) => completed(epoch),
        TrainingEvent::Ended(end) => ended(end),
    }
}

fn started(start: &TrainingStart) -> String {
    let what = plural(start.parameters, "parameter");
    match start.resumed_at {
        Some(step) => format!("{what}, resuming after step {} of {}\n", count(step), count(start.steps)),
        None => format!("{what}, {}\n", plural(start.steps, "step")),
    }
}

fn step_line(step: &TrainingStep) -> String {
    let speed = per_second(step.tokens as f64, step.seconds).map_or_else(|| "not measured".to_owned(), tokens_per_s);
    format!(
        "step {}: loss {}, {speed}, learning rate {}, gradient {}\n",
        count(step.step),
        loss(step.loss),
        rate(step.learning_rate),
        fine_digits(step.gradient_norm)
    )
}

fn validated(validation: &TrainingValidation) -> String {
    let best = if validation.best { ", best so far" } else { "" };
    format!(
        "step {}: validation loss {}, perplexity {}{best} ({} in {})\n",
        count(validation.step),
        loss(validation.loss),
        perplexity(validation.perplexity),
        plural(validation.tokens, "token"),
        seconds(validation.seconds)
    )
}

/// The text as the model wrote it, line by line, without control characters.
fn sampled(sample: &TrainingSample) -> String {
    let whole = format!("{}{}", sample.prompt, sample.text);
    let lines: Vec<String> = whole.lines().flat_map(|line| wrapped(&printable(line), SAMPLE_WIDTH)).collect();
    let shown = lines.iter().take(SAMPLE_LINES).map(|line| format!("  | {line}").trim_end().to_owned() + "\n");
    let rest = match lines.len().saturating_sub(SAMPLE_LINES) {
        0 => String::new(),
        hidden => format!("  | ({})\n", plural(hidden as u64, "more line")),
    };
    format!("step {}: sample\n{}{rest}", count(sample.step), shown.collect::<String>())
}

fn saved(checkpoint: &TrainingCheckpoint) -> String {
    format!(
        "step {}: saved {} ({} in {})\n",
        count(checkpoint.step),
        printable(&checkpoint.path),
        bytes(checkpoint.bytes),
        seconds(checkpoint.seconds)
    )
}

/// LoopOS's two lines. Its `parallel speedup` was no such thing: here are the CPUs that were busy.
fn completed(epoch: &TrainingEpoch) -> String {
    let speed = per_second(epoch.tokens as f64, epoch.seconds).map_or_else(|| "not measured".to_owned(), speed);
    let busy = epoch.cpu_seconds.and_then(|cpu| per_second(cpu, epoch.seconds));
    let busy = busy.map_or_else(String::new, |busy| format!(" | CPUs busy: {}", digits(busy)));
    let time = if epoch.seconds < 60.0 { seconds(epoch.seconds) } else { waiting(epoch.seconds) };
    let phases = shares(&epoch.phases).into_iter().map(|(name, spent, share)| {
        let (first, rest) = name.split_at(1);
        format!("{}{rest} {} ({})", first.to_uppercase(), seconds(spent), tenths(share))
    });
    let how = if epoch.broken_off { "interrupted" } else { "completed" };
    let breakdown = format!("Timing breakdown - {}", phases.collect::<Vec<_>>().join(", "));
    format!(
        "Epoch {} {how} - Sequences: {} | Avg loss: {} | Avg tokens/sec: {speed}{busy} | Total time: {time}\n{}\n",
        count(epoch.epoch),
        count(epoch.sequences),
        loss(epoch.loss),
        wrapped(&breakdown, SAMPLE_WIDTH).into_iter().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
    )
}

/// Without the unit, which the line has in LoopOS's words.
fn speed(per_second: f64) -> String {
    tokens_per_s(per_second).trim_end_matches(" tok/s").to_owned()
}

fn ended(end: &TrainingEnd) -> String {
    format!("{} at step {} after {}\n", printable(&end.why), count(end.steps), waiting(end.seconds))
}
