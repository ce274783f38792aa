//! What a generation took.

use record::Generation;

use crate::document::{Document, Section, not_measured};
use crate::units::{bytes, digits, plural, seconds, tokens_per_s};

/// The figures behind a text.
#[must_use]
pub fn document(generation: &Generation) -> Document {
    let speed = &generation.speed;
    Document::untitled(vec![Section::of_facts([
        ("model", Some(model(generation))),
        ("settings", Some(settings(generation))),
        ("load", Some(seconds(speed.load_s))),
        ("prompt", Some(prompt(generation))),
        ("first token", Some(speed.first_token_s.map_or_else(not_measured, seconds))),
        ("generated", Some(generated(generation))),
        ("memory", Some(memory(generation))),
    ])])
}

fn model(generation: &Generation) -> String {
    let model = &generation.model;
    let millions = digits(model.active_parameters as f64 / 1e6);
    format!("{}: {}, {millions} M parameters per token, {}", model.name, model.architecture, model.format)
}

fn settings(generation: &Generation) -> String {
    let settings = &generation.settings;
    let mut parts =
        vec![plural(settings.threads, "thread"), settings.isa.clone(), format!("{} KV cache", settings.cache)];
    parts.push(format!("context {}", settings.context));
    for (yes, what) in [
        (settings.in_place, "weights used in place"),
        (settings.exact, "weights converted to f32"),
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
    format!("{}{}", plural(tokens as u64, "token"), speed.map_or_else(String::new, at))
}

fn generated(generation: &Generation) -> String {
    let tokens: usize = generation.sequences.iter().map(|sequence| sequence.tokens.len()).sum();
    let speed = generation.speed.tokens_per_s.map_or_else(String::new, at);
    let end = match &generation.sequences[..] {
        [only] => format!("stopped: {}", reason(&only.ended)),
        all => plural(all.len() as u64, "text"),
    };
    format!("{}{speed}; {end}", plural(tokens as u64, "token"))
}

fn at(speed: f64) -> String {
    format!(", {}", tokens_per_s(speed))
}

/// Why a text ended.
fn reason(ended: &str) -> &str {
    match ended {
        "end" => "end of text",
        "stop" => "stop string",
        "limit" => "token limit",
        "context" => "context full",
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
    parts.extend(memory.peak_rss.map(|peak| format!("peak of the process {}", bytes(peak))));
    parts.join(", ")
}
