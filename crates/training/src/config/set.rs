//! `--set key=value`, and what LoopOS says in other words.

use serde_json::Value;

use super::document::{ConfigValue, Origin};
use super::{Expects, SourcePositions, keys};
use crate::{Error, Result};

/// Reads `key=value`: a text where the key expects one, else JSON, else a text.
pub(super) fn parse(text: &str) -> Result<ConfigValue> {
    let Some((path, value)) = text.split_once('=') else {
        let message = format!("--set {text}: no = found");
        return Err(Error::new(message, "write --set key=value, as in --set training.batch_size=16"));
    };
    let path = path.trim();
    let Some(key) = keys::find(path) else {
        return Err(wrong_key(path));
    };
    let is_text = matches!(key.expects, Expects::Text | Expects::Choice(_) | Expects::Source | Expects::Target);
    let json = serde_json::from_str::<Value>(value);
    let value = match json {
        Ok(json) if !is_text || json.is_string() || json.is_null() => json,
        // What is a text stays as it was typed, blanks included.
        _ if key.expects == Expects::Text => Value::String(value.to_owned()),
        _ => Value::String(value.trim().to_owned()),
    };
    Ok(ConfigValue { path: path.to_owned(), value, origin: Origin::Set })
}

fn wrong_key(path: &str) -> Error {
    let why = match (keys::meaningless(path), keys::nearest(path)) {
        (Some(why), _) => format!("no effect: {why}"),
        (None, _) if keys::is_section(path) => "this is a section; set its keys individually".to_owned(),
        (None, Some(near)) => format!("unknown key; did you mean {near}?"),
        (None, None) => "unknown key".to_owned(),
    };
    Error::new(format!("--set {path}: {why}"), "`hotloop train --keys` lists all keys")
}

/// LoopOS's names of schedules become ours.
pub(super) fn translate(leaf: &mut ConfigValue, places: SourcePositions<'_>) -> Result<()> {
    if leaf.path != "training.adaptive_lr.strategy" {
        return Ok(());
    }
    let ours = match leaf.value.as_str().unwrap_or_default() {
        "constant" => "constant",
        "cosine_annealing_warm_restarts" | "cosine_warm_restarts" => "cosine_warm_restarts",
        "reduce_on_plateau" | "plateau" => "plateau",
        // Times gamma after each epoch.
        "exponential" => "step",
        "cosine" | "cosine_annealing" => "cosine",
        other => {
            let place = places.of(leaf.origin);
            let message = format!("{place}{} = {other}: unknown schedule", leaf.path);
            return Err(Error::new(
                message,
                "take cosine_annealing_warm_restarts, reduce_on_plateau, exponential or constant; \
                 instead of one_cycle, training.schedule.kind = cosine with warmup_steps",
            ));
        }
    };
    leaf.value = Value::String(ours.to_owned());
    Ok(())
}
