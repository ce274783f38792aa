//! Metadata as in GGUF, as JSON: a checkpoint keeps the vocabulary and the sizes of the model with it.

use engine::{Array, Metadata, Value};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A value with its kind, so that it is read as it was.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Word {
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Bool(bool),
    Text(String),
    Unsigneds(Vec<u64>),
    Signeds(Vec<i64>),
    Floats(Vec<f32>),
    Bools(Vec<bool>),
    Texts(Vec<String>),
}

pub(super) fn write(metadata: &Metadata) -> String {
    let words: BTreeMap<&str, Word> = metadata.iter().map(|(key, value)| (key, word(value))).collect();
    serde_json::to_string(&words).unwrap_or_default()
}

pub(super) fn read(text: &str) -> Result<Metadata, String> {
    let words: BTreeMap<String, Word> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    Ok(words.into_iter().map(|(key, word)| (key, value(word))).collect())
}

fn word(value: &Value) -> Word {
    match value.clone() {
        Value::Unsigned(number) => Word::Unsigned(number),
        Value::Signed(number) => Word::Signed(number),
        Value::Float(number) => Word::Float(number),
        Value::Bool(yes) => Word::Bool(yes),
        Value::Text(text) => Word::Text(text),
        Value::Array(Array::Unsigned(all)) => Word::Unsigneds(all),
        Value::Array(Array::Signed(all)) => Word::Signeds(all),
        Value::Array(Array::Float(all)) => Word::Floats(all),
        Value::Array(Array::Bool(all)) => Word::Bools(all),
        Value::Array(Array::Text(all)) => Word::Texts(all),
    }
}

fn value(word: Word) -> Value {
    match word {
        Word::Unsigned(number) => Value::Unsigned(number),
        Word::Signed(number) => Value::Signed(number),
        Word::Float(number) => Value::Float(number),
        Word::Bool(yes) => Value::Bool(yes),
        Word::Text(text) => Value::Text(text),
        Word::Unsigneds(all) => Value::Array(Array::Unsigned(all)),
        Word::Signeds(all) => Value::Array(Array::Signed(all)),
        Word::Floats(all) => Value::Array(Array::Float(all)),
        Word::Bools(all) => Value::Array(Array::Bool(all)),
        Word::Texts(all) => Value::Array(Array::Text(all)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut metadata = Metadata::default();
        metadata.set("a", Value::Unsigned(u64::MAX));
        metadata.set("b", Value::Signed(-1));
        metadata.set("c", Value::Float(0.1));
        metadata.set("d", Value::Text("ein \"Wort\"\n\u{0}".to_owned()));
        metadata.set("e", Value::Array(Array::Float(vec![0.1, -1e-30, 3.4e38])));
        metadata.set("f", Value::Array(Array::Text(vec!["\u{120}a".to_owned()])));
        metadata.set("g", Value::Array(Array::Bool(vec![true, false])));
        metadata.set("h", Value::Array(Array::Signed(vec![])));
        assert_eq!(read(&write(&metadata)), Ok(metadata));
        assert!(read("{\"a\": 1}").is_err());
    }
}
