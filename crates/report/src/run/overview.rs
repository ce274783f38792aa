//! What was run, in words, and what makes its figures doubtful.

use std::collections::BTreeSet;

use record::{Imported, Model, Run, Workload, WorkloadKind};

use super::command_line;
use super::view::is_command;
use crate::document::{Block, Section, quoted};
use crate::units::{bytes, count, plural, seconds};

/// Failures that are named one by one.
const FAILURES_SHOWN: usize = 8;

pub(super) fn title(run: &Run) -> String {
    if is_command(run) && !run.subject.command.is_empty() {
        return command_line::joined(&run.subject.command);
    }
    let name = if run.workload.name.is_empty() { "a run" } else { &run.workload.name };
    format!("{name} on {}", subject(run))
}

fn subject(run: &Run) -> String {
    let version = run.subject.version.as_ref().map_or(String::new(), |version| format!(" {version}"));
    match run.subject.name.as_str() {
        "" => "unnamed program".to_owned(),
        name => format!("{name}{version}"),
    }
}

/// Loud, and before everything else.
pub(super) fn warnings(run: &Run) -> Vec<String> {
    let mut warnings = Vec::new();
    let is_empty = run.samples.is_empty() && run.profile.is_none() && run.process.is_none() && run.memory.is_empty();
    if is_empty {
        warnings.push("Nothing was measured.".to_owned());
    }
    if run.interrupted {
        warnings.push("Interrupted: less was measured than requested.".to_owned());
    }
    if run.subject.build.as_ref().and_then(|build| build.debug_assertions) == Some(true) {
        warnings.push("Debug build: its timings are not representative. Build with --release.".to_owned());
    }
    warnings.extend(run.failures.iter().take(FAILURES_SHOWN).map(|failure| format!("Failed: {failure}")));
    let hidden = run.failures.len().saturating_sub(FAILURES_SHOWN) as u64;
    if hidden > 0 {
        warnings.push(format!("Failed: {} more.", count(hidden)));
    }
    if run.correctness.as_ref().and_then(|found| found.repeats_agree) == Some(false) {
        warnings.push("The repeats generated different tokens.".to_owned());
    }
    let arms: BTreeSet<&str> = run.samples.iter().filter_map(|sample| sample.arm.as_deref()).collect();
    if arms.len() > 1 {
        let arms: Vec<&str> = arms.into_iter().collect();
        warnings.push(format!("Samples of several sides ({}) are combined here.", arms.join(", ")));
    }
    warnings
}

pub(super) fn section(run: &Run, id: Option<&str>) -> Section {
    let command = (!run.subject.command.is_empty()).then(|| command_line::joined(&run.subject.command));
    let before = [
        ("run", id.map(reachable)),
        ("when", Some(when(run)).filter(|when| !when.is_empty())),
        ("workload", Some(workload(&run.workload))),
        ("settings", settings(&run.workload)),
    ];
    let imported = [("imported", run.imported.as_ref().map(imported))];
    let models = run.models.iter().map(|known| ("model", Some(model(known))));
    let after = [
        ("command", command),
        ("output", output(run)),
        ("written by", Some(format!("{} {}", run.tool.name, run.tool.version)).filter(|tool| tool.len() > 1)),
    ];
    let facts = before.into_iter().chain(imported).chain(models).chain(after);
    let known = facts.filter_map(|(label, sentence)| Some((label.to_owned(), sentence?)));
    Section::new("RUN", "").with(Block::Facts(known.collect()))
}

/// An id, and what can be done with it.
fn reachable(id: &str) -> String {
    format!("{id} (`hotloop report {id}`, `hotloop export {id} --to chrome`)")
}

/// Where it was read from, and what is missing there.
fn imported(origin: &Imported) -> String {
    let mut parts = vec![format!("from {} as {}", quoted(&origin.source), origin.format)];
    parts.extend(origin.part.as_ref().map(|part| format!("part {}", quoted(part))));
    if origin.single_shot {
        parts.push("each value measured once".to_owned());
    }
    if origin.summarised {
        parts.push("means and medians only, no raw samples".to_owned());
    }
    if !origin.unread.is_empty() {
        parts.push(format!("{} skipped", plural(origin.unread.len() as u64, "part")));
    }
    parts.join(", ")
}

/// `2026-11-15 08:00:00 UTC` of `2026-11-15T08:00:00Z`.
fn when(run: &Run) -> String {
    match run.created.strip_suffix('Z') {
        Some(utc) => format!("{} UTC", utc.replacen('T', " ", 1)),
        None => run.created.clone(),
    }
}

fn workload(workload: &Workload) -> String {
    let what = match compare::workload_kind(workload) {
        WorkloadKind::Standard => "repeated text generation",
        WorkloadKind::Deep => "matrix products and text generation from a longer prompt",
        WorkloadKind::Enhanced => "kernels, tensor operations and models of several sizes",
        WorkloadKind::Memory => "the same work with and without memory-saving techniques",
        WorkloadKind::Training => "training steps",
        WorkloadKind::Command => "an unmodified program",
        _ if workload.name.is_empty() => return "unnamed".to_owned(),
        _ => return workload.name.clone(),
    };
    format!("{}: {what}", workload.name)
}

/// What decides the work, and how often it was to be repeated.
fn settings(workload: &Workload) -> Option<String> {
    let is_command = compare::workload_kind(workload) == WorkloadKind::Command;
    // The arguments of a program stand in its command line.
    let decisive = workload.parameters.iter().filter(|(name, _)| !is_command || *name != "arguments");
    let mut parts: Vec<String> = decisive.map(|(name, value)| parameter(name, value)).collect();
    if let Some(repeat) = workload.repeat {
        let warmup = workload.warmup.filter(|warmup| *warmup > 0);
        let after = warmup.map_or(String::new(), |warmup| format!(" after {}", plural(warmup, "warm-up")));
        parts.push(format!("{}{after}", plural(repeat, "repeat")));
    }
    // With a number of repeats the time does not decide.
    let budget = workload.time_budget_s.filter(|_| workload.repeat.is_none());
    parts.extend(budget.map(|budget| format!("at most {}", seconds(budget))));
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn parameter(name: &str, value: &str) -> String {
    let several = |word: &str| format!("{value} {word}{}", if value == "1" { "" } else { "s" });
    match name {
        "tokens" => several("generated token"),
        "steps" => several("step"),
        "prompt" | "prompt_tokens" if value.parse::<u64>().is_ok() => several("prompt token"),
        "threads" => several("thread"),
        _ => format!("{} {value}", name.replace('_', " ")),
    }
}

fn model(model: &Model) -> String {
    let active = match model.active_parameters == model.parameters {
        true => String::new(),
        false => format!(" ({} active per token)", count(model.active_parameters)),
    };
    let heads = match model.kv_heads == model.heads {
        true => plural(model.heads, "head"),
        false => format!("{} ({} for keys and values)", plural(model.heads, "head"), count(model.kv_heads)),
    };
    let shape = match model.layers {
        // Other programs do not tell it.
        0 => String::new(),
        _ => format!(
            "; {}, width {}, {heads} of dimension {}, vocabulary {}, context {}",
            plural(model.layers, "layer"),
            count(model.width),
            count(model.head_dim),
            count(model.vocab),
            count(model.context),
        ),
    };
    format!(
        "{}: {}, {} parameters{active}, {}, {} of weights{shape}",
        quoted(&model.name),
        model.architecture,
        count(model.parameters),
        model.format,
        bytes(model.weight_bytes),
    )
}

/// What tells whether another run computed the same.
fn output(run: &Run) -> Option<String> {
    let found = run.correctness.as_ref()?;
    let mut parts = Vec::new();
    parts.extend(found.tokens.map(|tokens| plural(tokens, "token")));
    parts.extend(
        found
            .repeats_agree
            .map(|agree| if agree { "identical in every repeat" } else { "different between repeats" }.to_owned()),
    );
    parts.extend(found.tokens_blake3.as_ref().map(|hash| format!("BLAKE3 {}", short_hash(hash))));
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Enough of a hash to tell two apart.
pub(super) fn short_hash(hash: &str) -> String {
    hash.chars().take(12).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_words() {
        assert_eq!(parameter("tokens", "50"), "50 generated tokens");
        assert_eq!(parameter("threads", "1"), "1 thread");
        assert_eq!(parameter("prompt", "story.txt"), "prompt story.txt");
        assert_eq!(parameter("kv_cache", "f16"), "kv cache f16");
    }
}
