//! What a generation took, as lines for people.

use record::Generation;

use crate::layout::labelled;
use crate::units::{bytes, digits, plural, seconds};

const LABELS: usize = 12;

/// The figures behind a text.
pub fn text(generation: &Generation) -> String {
    let line = |label: &str, sentence: String| labelled(label, LABELS, &sentence);
    let lines = [
        line("model", model(generation)),
        line("settings", settings(generation)),
        line("load", seconds(generation.speed.load_s)),
        line("prompt", prompt(generation)),
        line(
            "first token",
            generation.speed.first_token_s.map_or_else(not_measured, |time| format!("after {}", seconds(time))),
        ),
        line("generated", generated(generation)),
        line("memory", memory(generation)),
    ];
    lines.concat()
}

fn not_measured() -> String {
    "not measured".to_owned()
}

fn model(generation: &Generation) -> String {
    let model = &generation.model;
    let millions = digits(model.active_parameters as f64 / 1e6);
    format!("{}: {}, {millions} M parameters per token, {}", model.name, model.architecture, model.format)
}

fn settings(generation: &Generation) -> String {
    let settings = &generation.settings;
    let mut parts = vec![plural(settings.threads, "thread"), settings.isa.clone(), format!("cache {}", settings.cache)];
    parts.push(format!("context {}", settings.context));
    for (yes, what) in [
        (settings.in_place, "weights in place"),
        (settings.exact, "weights made f32"),
        (!settings.kv_cache, "no KV cache"),
        (!settings.pooling, "no pooling"),
    ] {
        if yes {
            parts.push(what.to_owned());
        }
    }
    parts.join(", ")
}

fn prompt(generation: &Generation) -> String {
    let tokens: usize = generation.sequences.iter().map(|sequence| sequence.prompt_tokens.len()).sum();
    let speed = generation.speed.prompt_tokens_per_s;
    format!("{}{}", plural(tokens as u64, "token"), speed.map_or_else(String::new, per_second))
}

fn generated(generation: &Generation) -> String {
    let tokens: usize = generation.sequences.iter().map(|sequence| sequence.tokens.len()).sum();
    let speed = generation.speed.tokens_per_s.map_or_else(String::new, per_second);
    let each = match &generation.sequences[..] {
        [only] => format!("; {}", ended(&only.ended)),
        all => format!("; {}", plural(all.len() as u64, "text")),
    };
    format!("{}{speed}{each}", plural(tokens as u64, "token"))
}

fn per_second(speed: f64) -> String {
    format!(", {} tokens/s", digits(speed))
}

fn ended(why: &str) -> &str {
    match why {
        "end" => "the model ended",
        "stop" => "a stop text came",
        "limit" => "as many as were asked for",
        "context" => "the context is full",
        other => other,
    }
}

fn memory(generation: &Generation) -> String {
    let memory = &generation.memory;
    let mut parts = vec![
        format!("weights {}", bytes(memory.weights)),
        format!("KV cache {} ({} per token)", bytes(memory.cache), bytes(memory.cache_per_token)),
        format!("scratch {}", bytes(memory.scratch + memory.positions)),
    ];
    if let Some(peak) = memory.peak_rss {
        parts.push(format!("peak of the process {}", bytes(peak)));
    }
    parts.join(", ")
}
