//! Whether values can be, one by one and together.

use serde_json::Value;

use super::document::ConfigValue;
use super::{Expects, Key, ModelFamily, Settings, SourcePositions};
use crate::{Error, Result};

/// Larger numbers are beyond any training, and sums of them do not overflow.
const LARGEST: u64 = 1 << 40;

/// The value, in the form that the settings take; or what was expected.
pub(super) fn value(key: &Key, leaf: &ConfigValue, places: SourcePositions<'_>) -> Result<Value> {
    let found = match key.expects {
        Expects::Whole(least) => whole_number(key, &leaf.value).filter(|number| *number >= least).map(Value::from),
        Expects::Number(bounds) => leaf.value.as_f64().filter(|number| bounds.has(*number)).map(Value::from),
        Expects::Flag => leaf.value.as_bool().map(Value::from),
        Expects::Text | Expects::Target | Expects::Source => leaf.value.as_str().map(Value::from),
        Expects::Choice(choices) => leaf.value.as_str().filter(|text| choices.contains(text)).map(Value::from),
        Expects::Sources => sources(&leaf.value),
    };
    found.ok_or_else(|| wrong(leaf, &format!("expected {}", key.expects.words()), places))
}

/// A whole number, also one that is written as 8.0.
fn whole_number(key: &Key, value: &Value) -> Option<u64> {
    let number = value.as_u64().or_else(|| {
        let number = value.as_f64()?;
        (number.fract() == 0.0 && (0.0..LARGEST as f64).contains(&number)).then_some(number as u64)
    });
    // A seed may be anything.
    number.filter(|number| *number <= LARGEST || key.path.ends_with("seed"))
}

fn sources(value: &Value) -> Option<Value> {
    match value {
        Value::String(_) => Some(value.clone()),
        Value::Array(all) if all.iter().all(Value::is_string) => Some(value.clone()),
        _ => None,
    }
}

fn wrong(leaf: &ConfigValue, expected: &str, places: SourcePositions<'_>) -> Error {
    let shown = leaf.value.to_string();
    let shown: String = shown.chars().take(80).collect();
    let message = format!("{}{} = {shown}: {expected}", places.of(leaf.origin), leaf.path);
    Error::new(message, "correct the value in the config or with --set")
}

/// Whether the settings fit together.
pub(super) fn whole(settings: &Settings, leaves: &[ConfigValue], places: SourcePositions<'_>) -> Result<()> {
    let refused = |path: &str, message: String| {
        let place = leaves.iter().find(|leaf| leaf.path == path).map(|leaf| places.of(leaf.origin));
        let place = place.unwrap_or_else(|| format!("{}: ", places.file.display()));
        Err(Error::new(format!("{place}{path}: {message}"), "correct the value in the config or with --set"))
    };
    let (model, computation) = (&settings.model, &settings.computation);
    if computation.mode != "pretraining" {
        let mode = &computation.mode;
        return refused("computation.mode", format!("{mode} is not supported; only autoregressive pretraining is"));
    }
    if computation.method != "autoregressive" {
        let method = &computation.method;
        return refused("computation.method", format!("{method} is not supported; only autoregressive pretraining is"));
    }
    for (path, found, most) in bounds(settings) {
        if found > most {
            return refused(path, format!("{found} exceeds the maximum of {most}"));
        }
    }
    let (width, heads) = (model.d_model, model.num_heads);
    if !width.is_multiple_of(heads) {
        return refused("model.num_heads", format!("d_model {width} is not divisible by {heads} heads"));
    }
    let kv_heads = model.kv_heads.unwrap_or(heads);
    if !heads.is_multiple_of(kv_heads) {
        return refused("model.kv_heads", format!("{heads} heads are not divisible by {kv_heads} key/value heads"));
    }
    if model.architecture == ModelFamily::Gpt2 && kv_heads != heads {
        return refused("model.kv_heads", format!("gpt2 needs as many key/value heads as query heads, {heads}"));
    }
    if model.architecture == ModelFamily::Llama && !(width / heads).is_multiple_of(2) {
        let head = width / heads;
        return refused("model.num_heads", format!("head size {head} is odd, but RoPE rotates pairs"));
    }
    let (length, context) = (settings.training.max_length, model.context);
    if let Some(context) = context.filter(|context| *context < length) {
        return refused(
            "model.context",
            format!("{context} positions are fewer than the sequence length {length} (training.max_length)"),
        );
    }
    let (rate, least) = (settings.training.learning_rate, settings.training.schedule.min_learning_rate);
    if least > rate {
        return refused("training.schedule.min_learning_rate", format!("{least} is above the learning rate, {rate}"));
    }
    Ok(())
}

/// What is counted one by one before memory is asked for: larger numbers would take for ever to be refused.
fn bounds(settings: &Settings) -> [(&'static str, usize, usize); 6] {
    let (model, training) = (&settings.model, &settings.training);
    [
        ("model.d_model", model.d_model, 1 << 20),
        ("model.num_layers", model.num_layers, 1 << 12),
        ("training.max_length", training.max_length, 1 << 24),
        ("training.gradient_accumulation", training.gradient_accumulation, 1 << 20),
        ("training.num_workers", training.num_workers, 1 << 10),
        ("training.threads", training.threads, 1 << 12),
    ]
}
