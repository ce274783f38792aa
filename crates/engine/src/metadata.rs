//! What a model file says about itself: keys and values, as in GGUF.
//!
//! Other formats are translated into the same keys, so that the rest of the engine knows one language.

use std::collections::BTreeMap;

use crate::{Error, Result};

/// A value of the metadata.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A whole number; a file has them in several widths.
    Unsigned(u64),
    /// A whole number with a sign.
    Signed(i64),
    /// A floating-point number; f32 in most files.
    Float(f64),
    /// Yes or no.
    Bool(bool),
    /// A text.
    Text(String),
    /// Many of one kind.
    Array(Array),
}

/// Many values of one kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Array {
    /// Whole numbers.
    Unsigned(Vec<u64>),
    /// Whole numbers with a sign.
    Signed(Vec<i64>),
    /// Floating-point numbers.
    Float(Vec<f32>),
    /// Yes or no.
    Bool(Vec<bool>),
    /// Texts. Tokens may hold bytes that are no UTF-8 in damaged files; such files are refused.
    Text(Vec<String>),
}

impl Array {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Unsigned(all) => all.len(),
            Self::Signed(all) => all.len(),
            Self::Float(all) => all.len(),
            Self::Bool(all) => all.len(),
            Self::Text(all) => all.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// All keys of a file with their values.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Metadata {
    values: BTreeMap<String, Value>,
}

impl Metadata {
    /// Sets a key; what it had before is returned.
    pub fn set(&mut self, key: impl Into<String>, value: Value) -> Option<Value> {
        self.values.insert(key.into(), value)
    }

    /// Takes a key away.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        self.values.remove(key)
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.values.get(key)
    }

    /// All keys with their values, in the order of the keys.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.values.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// A whole number, not negative.
    pub fn unsigned(&self, key: &str) -> Result<Option<u64>> {
        self.read(key, "a whole number", |value| match value {
            Value::Unsigned(number) => Some(*number),
            Value::Signed(number) => u64::try_from(*number).ok(),
            _ => None,
        })
    }

    /// A whole number that counts things in memory.
    pub fn count(&self, key: &str) -> Result<Option<usize>> {
        self.read(key, "a count", |value| match value {
            Value::Unsigned(number) => usize::try_from(*number).ok(),
            Value::Signed(number) => usize::try_from(*number).ok(),
            _ => None,
        })
    }

    /// A number of any kind.
    pub fn number(&self, key: &str) -> Result<Option<f64>> {
        self.read(key, "a number", |value| match value {
            Value::Float(number) => Some(*number),
            Value::Unsigned(number) => Some(*number as f64),
            Value::Signed(number) => Some(*number as f64),
            _ => None,
        })
    }

    /// Yes or no.
    pub fn bool(&self, key: &str) -> Result<Option<bool>> {
        self.read(key, "yes or no", |value| if let Value::Bool(yes) = value { Some(*yes) } else { None })
    }

    /// A text.
    pub fn text(&self, key: &str) -> Result<Option<&str>> {
        self.read(key, "a text", |value| if let Value::Text(text) = value { Some(text.as_str()) } else { None })
    }

    /// Many values.
    pub fn array(&self, key: &str) -> Result<Option<&Array>> {
        self.read(key, "an array", |value| if let Value::Array(array) = value { Some(array) } else { None })
    }

    /// Many texts.
    pub fn texts(&self, key: &str) -> Result<Option<&[String]>> {
        self.read(key, "an array of texts", |value| match value {
            Value::Array(Array::Text(texts)) => Some(texts.as_slice()),
            _ => None,
        })
    }

    fn read<'a, T>(&'a self, key: &str, wanted: &str, read: impl Fn(&'a Value) -> Option<T>) -> Result<Option<T>> {
        match self.values.get(key) {
            None => Ok(None),
            Some(value) => read(value).map(Some).ok_or_else(|| Error::malformed(format!("key {key}: not {wanted}"))),
        }
    }
}

impl FromIterator<(String, Value)> for Metadata {
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(values: I) -> Self {
        Self { values: values.into_iter().collect() }
    }
}
