//! A JSON document whose fields are taken one by one; what nobody took is named.

use record::Unread;
use serde_json::{Map, Value};

/// Places that are named one by one.
const NAMED: usize = 200;
/// As much of a value as is shown.
const SHOWN: usize = 80;

/// An object, and where it stands.
pub(crate) struct Object {
    fields: Map<String, Value>,
    place: String,
}

impl Object {
    /// Nothing where the value is no object.
    pub(crate) fn new(value: Value, place: impl Into<String>) -> Option<Self> {
        match value {
            Value::Object(fields) => Some(Object { fields, place: place.into() }),
            _ => None,
        }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.fields.contains_key(name)
    }

    /// A text that is not empty.
    pub(crate) fn text(&mut self, name: &str) -> Option<String> {
        let text = self.fields.get(name)?.as_str()?.to_owned();
        self.fields.remove(name);
        Some(text).filter(|text| !text.is_empty())
    }

    /// A finite number; what else stands there stays.
    pub(crate) fn number(&mut self, name: &str) -> Option<f64> {
        let number = self.fields.get(name)?.as_f64().filter(|number| number.is_finite())?;
        self.fields.remove(name);
        Some(number)
    }

    /// A number that is not less than zero.
    pub(crate) fn amount(&mut self, name: &str) -> Option<f64> {
        let is_amount = self.fields.get(name)?.as_f64().is_some_and(|number| number >= 0.0);
        if is_amount { self.number(name) } else { None }
    }

    /// A whole number.
    pub(crate) fn count(&mut self, name: &str) -> Option<u64> {
        let number = self.fields.get(name)?.as_u64()?;
        self.fields.remove(name);
        Some(number)
    }

    pub(crate) fn flag(&mut self, name: &str) -> Option<bool> {
        let flag = self.fields.get(name)?.as_bool()?;
        self.fields.remove(name);
        Some(flag)
    }

    pub(crate) fn object(&mut self, name: &str) -> Option<Object> {
        if !self.fields.get(name)?.is_object() {
            return None;
        }
        let place = self.place_of(name);
        self.fields.remove(name).and_then(|value| Object::new(value, place))
    }

    pub(crate) fn list(&mut self, name: &str) -> Option<Vec<Value>> {
        match self.fields.get(name)? {
            Value::Array(_) => self.fields.remove(name).and_then(|value| match value {
                Value::Array(list) => Some(list),
                _ => None,
            }),
            _ => None,
        }
    }

    /// Numbers of a list that are finite and not less than zero, each with its place; the rest is named.
    pub(crate) fn amounts(&mut self, name: &str, unread: &mut Vec<Unread>) -> Vec<(usize, f64)> {
        let place = self.place_of(name);
        let list = self.list(name).unwrap_or_default();
        let mut amounts = Vec::with_capacity(list.len());
        for (at, value) in list.iter().enumerate() {
            match value.as_f64().filter(|number| number.is_finite() && *number >= 0.0) {
                Some(number) => amounts.push((at, number)),
                None => refuse(unread, format!("{place}[{at}]: {}", shown(value)), "not a number ≥ 0"),
            }
        }
        amounts
    }

    /// Takes fields that say nothing that matters.
    pub(crate) fn ignore(&mut self, names: &[&str]) {
        names.iter().for_each(|name| drop(self.fields.remove(*name)));
    }

    /// All numbers that are left, by their names.
    pub(crate) fn numbers(&mut self) -> Vec<(String, f64)> {
        let finite = |value: &Value| value.as_f64().filter(|number| number.is_finite());
        let all: Vec<(String, f64)> =
            self.fields.iter().filter_map(|(name, value)| Some((name.clone(), finite(value)?))).collect();
        all.iter().for_each(|(name, _)| drop(self.fields.remove(name)));
        all
    }

    /// All plain values that are left, as text.
    pub(crate) fn texts(&mut self) -> Vec<(String, String)> {
        let plain = |value: &Value| match value {
            Value::String(text) => Some(text.clone()),
            Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
            _ => None,
        };
        let all: Vec<(String, String)> =
            self.fields.iter().filter_map(|(name, value)| Some((name.clone(), plain(value)?))).collect();
        all.iter().for_each(|(name, _)| drop(self.fields.remove(name)));
        all
    }

    fn place_of(&self, name: &str) -> String {
        if self.place.is_empty() { name.to_owned() } else { format!("{}.{name}", self.place) }
    }

    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    /// Names what nobody took.
    pub(crate) fn finish(self, unread: &mut Vec<Unread>) {
        for (name, value) in &self.fields {
            if !value.is_null() {
                refuse(unread, format!("{}: {}", self.place_of(name), shown(value)), "unknown field");
            }
        }
    }
}

/// Names a part of a document that was not read. Behind so many the last tells of the rest.
pub(crate) fn refuse(unread: &mut Vec<Unread>, text: String, why: &str) {
    if unread.len() < NAMED {
        unread.push(Unread { line: None, text, why: why.to_owned() });
    } else if unread.len() == NAMED {
        let text = "and more".to_owned();
        unread.push(Unread { line: None, text, why: "too many unread parts to list them all".to_owned() });
    }
}

fn shown(value: &Value) -> String {
    let what = match value {
        Value::Array(list) => return format!("a list of {}", list.len()),
        Value::Object(fields) => return format!("an object of {} fields", fields.len()),
        plain => plain.to_string(),
    };
    let end = what.floor_char_boundary(SHOWN);
    what[..end].to_owned()
}
