//! Unknown fields of later versions: preserved when a document is read and written again.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The unknown fields of a document, in the document's structure; usually empty.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct UnknownFields(Option<Value>);

impl UnknownFields {
    /// A document, and what of it is not known.
    pub(super) fn read<T: Serialize + DeserializeOwned>(text: &str) -> serde_json::Result<(T, Self)> {
        let mut is_known = true;
        let mut reader = serde_json::Deserializer::from_str(text);
        let document: T = serde_ignored::deserialize(&mut reader, |_| is_known = false)?;
        reader.end()?;
        if is_known {
            return Ok((document, Self(None)));
        }
        let all: Value = serde_json::from_str(text)?;
        let known = serde_json::to_value(&document)?;
        Ok((document, Self(beyond(all, Some(&known)))))
    }

    /// The document with what was not known, as indented JSON.
    pub(super) fn write<T: Serialize>(&self, document: &T) -> String {
        let text = match &self.0 {
            None => serde_json::to_string_pretty(document),
            Some(unknown) => serde_json::to_value(document).and_then(|mut value| {
                add(&mut value, unknown);
                serde_json::to_string_pretty(&value)
            }),
        };
        text.expect("documents are plain data") + "\n"
    }
}

/// What of `all` is not in `known`. Elements of lists that have nothing of the kind stand as null, to keep the places.
fn beyond(all: Value, known: Option<&Value>) -> Option<Value> {
    match (all, known) {
        (Value::Object(all), Some(Value::Object(known))) => {
            let fields = all.into_iter().filter_map(|(name, value)| {
                let rest = match known.get(&name) {
                    // What is absent in our writing of it is a default or an empty list, unless it holds something.
                    None => Some(value),
                    Some(known) => beyond(value, Some(known)),
                };
                rest.map(|rest| (name, rest))
            });
            let fields: serde_json::Map<String, Value> = fields.collect();
            (!fields.is_empty()).then_some(Value::Object(fields))
        }
        (Value::Array(all), Some(Value::Array(known))) => {
            let places: Vec<Option<Value>> =
                all.into_iter().enumerate().map(|(at, value)| beyond(value, known.get(at))).collect();
            let any = places.iter().any(Option::is_some);
            any.then(|| Value::Array(places.into_iter().map(Option::unwrap_or_default).collect()))
        }
        (_, Some(_)) => None,
        (value, None) => Some(value),
    }
}

/// Writes what was unknown back into its places; what has changed since stays as it is.
fn add(document: &mut Value, unknown: &Value) {
    match (document, unknown) {
        (Value::Object(document), Value::Object(unknown)) => {
            for (name, value) in unknown {
                match document.get_mut(name) {
                    Some(known) => add(known, value),
                    None => drop(document.insert(name.clone(), value.clone())),
                }
            }
        }
        (Value::Array(document), Value::Array(unknown)) => {
            document.iter_mut().zip(unknown).for_each(|(document, unknown)| add(document, unknown));
        }
        _ => {}
    }
}
