//! From the text of a config to its keys with their values, and the lines on which they stand. JSON and TOML.

use std::fs;
use std::io::Read;
use std::path::Path;

use serde_json::{Map, Number, Value};
use toml::de::{DeTable, DeValue};

use crate::{Error, Result};

/// Larger files are something else.
const MOST_BYTES: u64 = 1 << 20;

/// A key with a value that is no table.
#[derive(Debug, Clone)]
pub(super) struct ConfigValue {
    /// `training.batch_size`.
    pub(super) path: String,
    pub(super) value: Value,
    pub(super) origin: Origin,
}

/// Who said so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// That line of the file.
    Line(usize),
    /// The command line.
    Set,
}

/// All keys of a file, in its order.
pub(super) fn read(file: &Path) -> Result<Vec<ConfigValue>> {
    let io = |error: std::io::Error| {
        Error::new(format!("{}: {error}", file.display()), "give the path of a config, JSON or TOML")
    };
    let opened = fs::File::open(file).map_err(io)?;
    let mut bytes = Vec::new();
    opened.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(io)?;
    if bytes.len() as u64 > MOST_BYTES {
        let message = format!("{}: larger than {MOST_BYTES} bytes: not a config", file.display());
        return Err(Error::new(message, "give the path of a config, JSON or TOML"));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Error::new(format!("{}: invalid UTF-8 at byte {at}", file.display()), "save the config as UTF-8")
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let is_toml = match file.extension().and_then(|ending| ending.to_str()) {
        Some("toml") => true,
        Some("json") => false,
        _ => !text.trim_start().starts_with('{'),
    };
    if is_toml { read_toml(file, text) } else { read_json(file, text) }
}

fn read_json(file: &Path, text: &str) -> Result<Vec<ConfigValue>> {
    let root: Value = serde_json::from_str(text).map_err(|error| {
        let message = format!("{}:{}: {error}", file.display(), error.line());
        Error::new(message, "correct the JSON there")
    })?;
    let Value::Object(root) = root else {
        let message = format!("{}:1: expected an object with sections such as \"model\"", file.display());
        return Err(Error::new(message, "start with { \"model\": …"));
    };
    let mut scan = Scan { bytes: text.as_bytes(), at: 0, line: 1, path: Vec::new(), keys: Vec::new() };
    scan.value();
    let mut keys = scan.keys;
    keys.sort();
    if let Some(pair) = keys.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        let (key, first, second) = (&pair[0].0, pair[0].1, pair[1].1);
        let message = format!("{}:{second}: duplicate key {key}, first on line {first}", file.display());
        return Err(Error::new(message, "remove one of them"));
    }
    let mut leaves = Vec::new();
    flatten(&mut Vec::new(), root, &keys, &mut leaves);
    leaves.sort_by_key(|leaf| match leaf.origin {
        Origin::Line(line) => line,
        Origin::Set => usize::MAX,
    });
    Ok(leaves)
}

fn flatten(path: &mut Vec<String>, table: Map<String, Value>, keys: &[(String, usize)], leaves: &mut Vec<ConfigValue>) {
    for (name, value) in table {
        path.push(name);
        match value {
            Value::Object(table) if !table.is_empty() => flatten(path, table, keys, leaves),
            value => {
                let path = path.join(".");
                let line = keys.binary_search_by(|(key, _)| key.cmp(&path)).map_or(1, |at| keys[at].1);
                leaves.push(ConfigValue { path, value, origin: Origin::Line(line) });
            }
        }
        path.pop();
    }
}

/// Finds the lines of keys in a text that is known to be JSON.
struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
    line: usize,
    path: Vec<String>,
    keys: Vec<(String, usize)>,
}

impl Scan<'_> {
    fn peek(&mut self) -> u8 {
        while let Some(byte) = self.bytes.get(self.at) {
            self.line += usize::from(*byte == b'\n');
            if !byte.is_ascii_whitespace() && *byte != b',' && *byte != b':' {
                return *byte;
            }
            self.at += 1;
        }
        0
    }

    fn value(&mut self) {
        match self.peek() {
            b'{' => {
                self.at += 1;
                while !matches!(self.peek(), b'}' | 0) {
                    let name = self.text();
                    self.path.push(name);
                    self.keys.push((self.path.join("."), self.line));
                    self.value();
                    self.path.pop();
                }
                self.at += 1;
            }
            b'[' => {
                self.at += 1;
                // What lies in a list is no key of its own.
                let keys = self.keys.len();
                while !matches!(self.peek(), b']' | 0) {
                    self.value();
                }
                self.keys.truncate(keys);
                self.at += 1;
            }
            b'"' => drop(self.text()),
            _ => {
                let end = |byte: &u8| byte.is_ascii_whitespace() || b",]}".contains(byte);
                let rest = self.bytes.get(self.at..).unwrap_or_default();
                self.at += rest.iter().position(end).unwrap_or(rest.len()).max(1);
            }
        }
    }

    fn text(&mut self) -> String {
        let from = self.at;
        self.at += 1;
        while let Some(byte) = self.bytes.get(self.at) {
            self.at += 1 + usize::from(*byte == b'\\');
            if *byte == b'"' {
                break;
            }
        }
        let quoted = self.bytes.get(from..self.at).unwrap_or_default();
        serde_json::from_slice(quoted).unwrap_or_default()
    }
}

fn read_toml(file: &Path, text: &str) -> Result<Vec<ConfigValue>> {
    let line = |at: usize| 1 + text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count();
    let root = DeTable::parse(text).map_err(|error| {
        let place = error.span().map_or(1, |span| line(span.start));
        Error::new(format!("{}:{place}: {}", file.display(), error.message()), "correct the TOML there")
    })?;
    let mut leaves = Vec::new();
    flatten_toml(&mut Vec::new(), root.into_inner(), &line, &mut leaves);
    leaves.sort_by_key(|leaf| match leaf.origin {
        Origin::Line(line) => line,
        Origin::Set => usize::MAX,
    });
    Ok(leaves)
}

fn flatten_toml(
    path: &mut Vec<String>,
    table: DeTable<'_>,
    line: &dyn Fn(usize) -> usize,
    leaves: &mut Vec<ConfigValue>,
) {
    for (name, value) in table {
        let place = line(name.span().start);
        path.push(name.into_inner().into_owned());
        match value.into_inner() {
            DeValue::Table(table) if !table.is_empty() => flatten_toml(path, table, line, leaves),
            value => {
                leaves.push(ConfigValue { path: path.join("."), value: plain(value), origin: Origin::Line(place) });
            }
        }
        path.pop();
    }
}

/// The same in the words of JSON. What JSON has not stays as it is written, a text that no number takes.
fn plain(value: DeValue<'_>) -> Value {
    let number = |text: &str| serde_json::from_str::<Number>(text).ok();
    match value {
        DeValue::String(text) => Value::String(text.into_owned()),
        DeValue::Integer(digits) => match i64::from_str_radix(digits.as_str(), digits.radix()) {
            Ok(whole) => Value::Number(whole.into()),
            Err(_) => Value::String(digits.to_string()),
        },
        DeValue::Float(digits) => {
            number(digits.as_str()).map_or_else(|| Value::String(digits.as_str().to_owned()), Value::Number)
        }
        DeValue::Boolean(yes) => Value::Bool(yes),
        DeValue::Datetime(time) => Value::String(time.to_string()),
        DeValue::Array(all) => Value::Array(all.into_iter().map(|value| plain(value.into_inner())).collect()),
        DeValue::Table(table) => {
            let entries = table.into_iter();
            let plain = |(name, value): (toml::Spanned<std::borrow::Cow<'_, str>>, toml::Spanned<DeValue<'_>>)| {
                (name.into_inner().into_owned(), plain(value.into_inner()))
            };
            Value::Object(entries.map(plain).collect())
        }
    }
}
