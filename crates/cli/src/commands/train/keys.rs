//! The list of all keys of a config.

use serde_json::Value;
use training::config::{KEYS, Settings};

/// Each key with its default, meaning and values.
pub fn text() -> String {
    // Through text, because f32 numbers have fewer digits there.
    let defaults = serde_json::to_string(&Settings::default()).unwrap_or_default();
    let defaults: Value = serde_json::from_str(&defaults).unwrap_or_default();
    let line = |key: &training::config::Key| {
        let default = default_of(&defaults, key.path).map_or_else(String::new, |value| format!(" = {value}"));
        format!("{}{default}\n    {} ({})\n", key.path, key.meaning, key.expects.words())
    };
    KEYS.iter().map(line).collect()
}

/// Nothing if there is none, or if it follows from other keys.
fn default_of(defaults: &Value, path: &str) -> Option<String> {
    let value = path.split('.').try_fold(defaults, |value, name| value.get(name))?;
    match value {
        Value::Null => None,
        Value::Array(all) if all.is_empty() => None,
        Value::String(text) if text.is_empty() => None,
        value => Some(value.to_string()),
    }
}
