//! Figures of all models, a row for each.

use record::{Figure, LimitShare, MeasuredModel, Models};

use super::Names;
use crate::document::{Block, Section, Table, not_measured};
use crate::run::limits::operations;
use crate::run::rows::between;
use crate::units::{bytes, count, digits, mean_bytes, mean_count, rate, seconds, tokens_per_s, whole_percent};

/// A row for each model: its name, and what `cells` gives.
fn rows<const N: usize>(
    models: &Models,
    names: &Names<'_>,
    mut table: Table,
    cells: impl Fn(&MeasuredModel) -> [String; N],
) -> Block {
    for (name, model) in names.all().into_iter().zip(&models.models) {
        table.row(std::iter::once(name).chain(cells(model)));
    }
    Block::Table(table)
}

/// Where a value lies; that there are too few samples to say, where there is a value.
pub(super) fn interval(figure: Option<&Figure>, written: fn(f64) -> String) -> String {
    match figure {
        None => String::new(),
        Some(Figure { low: Some(low), high: Some(high), .. }) => between(&written(*low), &written(*high)),
        Some(_) => "too few".to_owned(),
    }
}

fn value(figure: Option<&Figure>, written: fn(f64) -> String) -> String {
    figure.map_or_else(not_measured, |figure| written(figure.value))
}

pub(super) fn speed(models: &Models, names: &Names<'_>) -> Section {
    let headings = ["model", "decode", "95 % CI", "per CPU second", "prefill", "95 % CI", "n"];
    let table = rows(models, names, Table::new(&headings), |model| {
        let decode = model.decode.as_ref().map(|speed| &speed.tokens_per_s);
        let prefill = model.prefill.as_ref().map(|speed| &speed.tokens_per_s);
        [
            value(decode, tokens_per_s),
            interval(decode, tokens_per_s),
            model.decode_cpu.as_ref().map_or_else(String::new, |figure| tokens_per_s(figure.value)),
            value(prefill, tokens_per_s),
            interval(prefill, tokens_per_s),
            decode.map_or_else(String::new, |figure| count(figure.samples)),
        ]
    });
    let explanation = format!("{}; medians; decode excludes the first token; n: rounds", work(models));
    Section::new("SPEED", &explanation).with(table)
}

/// What all of them were asked to do, where that is the same.
pub(super) fn work(models: &Models) -> String {
    let same = |of: &dyn Fn(&MeasuredModel) -> Option<u64>| {
        let first = models.models.first().and_then(of)?;
        models.models.iter().all(|model| of(model) == Some(first)).then_some(first)
    };
    let parts = [
        (same(&|model| model.prompt_tokens), "prompt token"),
        (same(&|model| model.tokens), "token generated"),
        (same(&|model| model.threads), "thread"),
    ];
    let known: Vec<String> = parts
        .iter()
        .filter_map(|(number, word)| number.map(|number| (number, word)))
        .map(|(number, word)| match (number, word.split_once(' ')) {
            (1, _) => format!("1 {word}"),
            (_, Some(("token", rest))) => format!("{} tokens {rest}", count(number)),
            _ => format!("{} {word}s", count(number)),
        })
        .collect();
    if known.is_empty() { "different work".to_owned() } else { known.join(", ") }
}

/// Times of single tokens; no table where nobody has any.
pub(super) fn tokens(models: &Models, names: &Names<'_>) -> Option<Section> {
    models.models.iter().find(|model| model.token_s.is_some() || model.first_token_s.is_some())?;
    let table = Table::new(&["model", "first token", "p50", "p90", "p99", "tokens"]);
    let table = rows(models, names, table, |model| {
        let times = model.token_s.as_ref();
        let quantile = |figure: Option<&Figure>| match (times, figure) {
            (None, _) => String::new(),
            (Some(times), None) => format!("slowest of {}: {}", count(times.p50.samples), seconds(times.slowest)),
            (Some(_), Some(figure)) => with_interval(figure),
        };
        [
            model.first_token_s.as_ref().map_or_else(not_measured, with_interval),
            times.map_or_else(not_measured, |times| seconds(times.p50.value)),
            quantile(times.and_then(|times| times.p90.as_ref())),
            quantile(times.and_then(|times| times.p99.as_ref())),
            times.map_or_else(String::new, |times| count(times.p50.samples)),
        ]
    });
    let explanation = "with 95 % CI; p90 needs 36 tokens, p99 368";
    Some(Section::new("TIME PER TOKEN", explanation).with(table))
}

/// `417 us (400-430 us)`
fn with_interval(figure: &Figure) -> String {
    format!("{} ({})", seconds(figure.value), interval(Some(figure), seconds))
}

pub(super) fn memory(models: &Models, names: &Names<'_>) -> Section {
    let headings = ["model", "weights", "all", "cache/token", "measured", "peak RSS", "allocs/token", "bytes/token"];
    let table = rows(models, names, Table::new(&headings), |model| {
        let memory = &model.memory;
        let mapped = if memory.weights_mapped { ", mapped" } else { "" };
        [
            memory.weight_bytes.map_or_else(not_measured, |weights| format!("{}{mapped}", bytes(weights))),
            memory.bytes.map_or_else(not_measured, bytes),
            memory.cache_per_token_formula.map_or_else(not_measured, mean_bytes),
            memory.cache_per_token_measured.map_or_else(not_measured, mean_bytes),
            memory.peak_rss_bytes.map_or_else(not_measured, bytes),
            memory.allocs_per_token.map_or_else(not_measured, mean_count),
            memory.alloc_bytes_per_token.map_or_else(not_measured, mean_bytes),
        ]
    });
    let explanation = "all: weights, cache, activations, scratch; cache/token: expected, then measured";
    Section::new("MEMORY", explanation).with(table)
}

pub(super) fn quality(models: &Models, names: &Names<'_>) -> Section {
    let table = Table::new(&["model", "perplexity", "95 % CI", "bits/byte", "tokens", "window", "Pareto-optimal"])
        .with_words_last();
    let table = rows(models, names, table, |model| {
        let quality = model.quality.as_ref();
        let front = match (model.pareto, &model.beaten_by) {
            (Some(true), _) => "yes".to_owned(),
            (Some(false), Some(by)) => format!("no: {}", names.name(by)),
            _ => "unknown".to_owned(),
        };
        [
            quality.map_or_else(not_measured, |quality| perplexity(quality.perplexity)),
            quality
                .and_then(|quality| quality.perplexity_interval)
                .map_or_else(String::new, |[low, high]| between(&perplexity(low), &perplexity(high))),
            quality.map_or_else(not_measured, |quality| format!("{:.3}", quality.bits_per_byte)),
            quality.map_or_else(String::new, |quality| count(quality.tokens)),
            quality.map_or_else(String::new, |quality| count(quality.window)),
            front,
        ]
    });
    let explanation = format!("{}; lower is better; across tokenizers compare bits/byte", text_of(models));
    Section::new("QUALITY", &explanation).with(table)
}

/// Two places: models of the same sizes lie near each other.
pub(super) fn perplexity(value: f64) -> String {
    if value < 1_000.0 { format!("{value:.2}") } else { mean_count(value) }
}

/// Which text it was.
fn text_of(models: &Models) -> String {
    let mut texts: Vec<(&str, &str)> = Vec::new();
    for quality in models.models.iter().filter_map(|model| model.quality.as_ref()) {
        let text = (quality.text.as_str(), quality.text_blake3.as_str());
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    match texts[..] {
        [] => "no text, or random weights".to_owned(),
        [(name, hash)] => {
            let hash: String = hash.chars().take(12).collect();
            let name = if name == "bundled" { "the bundled text".to_owned() } else { format!("the text {name}") };
            format!("on {name} (BLAKE3 {hash})")
        }
        _ => "on different texts".to_owned(),
    }
}

pub(super) fn limits(models: &Models, names: &Names<'_>) -> Section {
    let headings = ["model", "prefill", "of compute", "per token", "decode", "of bandwidth", "per token"];
    let table = rows(models, names, Table::new(&headings), |model| {
        let arithmetic = model.prefill.as_ref().and_then(|speed| speed.arithmetic.as_ref());
        let reading = model.decode.as_ref().and_then(|speed| speed.reading.as_ref());
        [
            arithmetic.map_or_else(not_measured, share),
            arithmetic.map_or_else(String::new, |limit| {
                format!("{} {}", limit.by, rate(limit.per_second, operations(&limit.by)))
            }),
            arithmetic.map_or_else(String::new, |limit| {
                rate(limit.per_token, operations(&limit.by)).trim_end_matches("/s").to_owned()
            }),
            reading.map_or_else(not_measured, share),
            reading.map_or_else(String::new, |limit| format!("{} {}", limit.by, rate(limit.per_second, "B/s"))),
            reading.map_or_else(String::new, |limit| mean_bytes(limit.per_token)),
        ]
    });
    let explanation = "% of machine peak: prefill by its arithmetic, decode by the bytes it reads";
    Section::new("LIMITS", explanation).with(table)
}

fn share(limit: &LimitShare) -> String {
    format!("{}{}", whole_percent(limit.share), if limit.impossible { ": impossible" } else { "" })
}

pub(super) fn models(models: &Models, names: &Names<'_>) -> Section {
    let headings = ["model", "family", "parameters", "active", "format", "layers", "width", "vocab", "context", "run"];
    let table = Table::new(&headings).least_important(&["family", "vocab", "width"]);
    let table = rows(models, names, table, |measured| {
        let model = &measured.model;
        [
            model.architecture.clone(),
            millions(model.parameters),
            millions(model.active_parameters),
            model.format.clone(),
            count(model.layers),
            count(model.width),
            count(model.vocab),
            count(model.context),
            measured.run.clone().unwrap_or_default(),
        ]
    });
    Section::new("MODELS", "active: parameters used per token").with(table)
}

fn millions(number: u64) -> String {
    match number {
        0 => "unknown".to_owned(),
        1..1_000_000 => count(number),
        _ => format!("{} M", digits(number as f64 / 1e6)),
    }
}
