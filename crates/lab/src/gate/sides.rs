//! What a cell compares with what.

use std::collections::BTreeMap;

use toml::{Spanned, Value};

use crate::command::split;

/// What stands for the program of each side.
pub const BIN: &str = "{bin}";

/// What is compared with what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CellSides {
    /// Two revisions, built and run with the same words; `{bin}` is the program of each.
    Revisions {
        /// The command.
        command: Vec<String>,
    },
    /// Two commands.
    Commands {
        /// The base.
        a: Vec<String>,
        /// The candidate.
        b: Vec<String>,
    },
    /// The same engine with two settings.
    Settings {
        /// A file of a model.
        model: Option<String>,
        /// Or a recipe of random weights.
        synthetic: Option<String>,
        /// The base.
        a: BTreeMap<String, String>,
        /// The candidate.
        b: BTreeMap<String, String>,
    },
}

/// The keys of a cell that say what is compared.
pub(super) struct SideKeys<'a> {
    pub(super) command: Option<&'a Spanned<Value>>,
    pub(super) a: Option<&'a Spanned<Value>>,
    pub(super) b: Option<&'a Spanned<Value>>,
    pub(super) model: Option<&'a Spanned<String>>,
    pub(super) synthetic: Option<&'a Spanned<String>>,
}

/// Where something is wrong, as an offset, and what.
pub(super) type PlacedError = (Option<usize>, String);

impl SideKeys<'_> {
    /// What is compared with what; all that does not go together is refused.
    pub(super) fn sides(&self) -> Result<CellSides, PlacedError> {
        let model = self.model.or(self.synthetic);
        match (self.command, self.a, self.b) {
            (Some(command), None, None) => match model {
                Some(model) => wrong(model, "use `model` and `synthetic` with `a` and `b`, not with `command`"),
                None => revisions(command),
            },
            (Some(_), Some(other), _) | (Some(_), None, Some(other)) => {
                wrong(other, "`command` compares revisions, `a` and `b` compare two sides: use one or the other")
            }
            (None, Some(a), Some(b)) => match (self.model, self.synthetic) {
                (Some(_), Some(other)) => wrong(other, "use either `model` or `synthetic`"),
                (None, None) => commands(a, b),
                _ => self.settings(a, b),
            },
            (None, Some(a), None) => wrong(a, "`b` is missing: the side that `a` is compared with"),
            (None, None, Some(b)) => wrong(b, "`a` is missing: the side that `b` is compared with"),
            (None, None, None) => {
                Err((None, "nothing to compare: set `command` with `{bin}` for revisions, or `a` and `b`".to_owned()))
            }
        }
    }

    fn settings(&self, a: &Spanned<Value>, b: &Spanned<Value>) -> Result<CellSides, PlacedError> {
        let text = |named: Option<&Spanned<String>>| named.map(|named| named.get_ref().clone());
        Ok(CellSides::Settings {
            model: text(self.model),
            synthetic: text(self.synthetic),
            a: settings("a", a)?,
            b: settings("b", b)?,
        })
    }
}

fn wrong<T, V>(place: &Spanned<V>, message: &str) -> Result<T, PlacedError> {
    Err((Some(place.span().start), message.to_owned()))
}

fn revisions(command: &Spanned<Value>) -> Result<CellSides, PlacedError> {
    let words = command_words("command", command)?;
    if !words.iter().any(|word| word.contains(BIN)) {
        return wrong(command, "`command` needs `{bin}`, which stands for the program of each revision");
    }
    Ok(CellSides::Revisions { command: words })
}

fn commands(a: &Spanned<Value>, b: &Spanned<Value>) -> Result<CellSides, PlacedError> {
    if let Some(table) = [a, b].into_iter().find(|side| side.get_ref().is_table()) {
        return wrong(table, "settings need `model = \"FILE\"` or `synthetic = \"NAME\"` in the same cell");
    }
    let (first, second) = (command_words("a", a)?, command_words("b", b)?);
    for (side, words) in [(a, &first), (b, &second)] {
        if words.iter().any(|word| word.contains(BIN)) {
            return wrong(side, "`{bin}` is allowed only in `command`, which compares revisions");
        }
    }
    Ok(CellSides::Commands { a: first, b: second })
}

/// A command as one text or as its words.
fn command_words(key: &str, value: &Spanned<Value>) -> Result<Vec<String>, PlacedError> {
    let found = match value.get_ref() {
        Value::String(line) => split(line).map_err(|error| (Some(value.span().start), format!("`{key}`: {error}")))?,
        Value::Array(list) => {
            let words = list.iter().map(|word| word.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>();
            match words {
                Some(words) => words,
                None => return wrong(value, &format!("`{key}` as a list must contain strings only")),
            }
        }
        _ => return wrong(value, &format!("`{key}` must be a command: a string or a list of words")),
    };
    match found.first() {
        Some(program) if !program.is_empty() => Ok(found),
        _ => wrong(value, &format!("`{key}` is empty")),
    }
}

/// Names and values; numbers and truths are written as they are elsewhere.
fn settings(key: &str, value: &Spanned<Value>) -> Result<BTreeMap<String, String>, PlacedError> {
    let Value::Table(table) = value.get_ref() else {
        return wrong(value, &format!("`{key}` with a model must be a table of settings, such as {{ kv = \"off\" }}"));
    };
    let text = |(name, value): (&String, &Value)| match value {
        Value::String(text) => Ok((name.clone(), text.clone())),
        Value::Integer(number) => Ok((name.clone(), number.to_string())),
        _ => Err(name.clone()),
    };
    let read: Result<BTreeMap<String, String>, String> = table.iter().map(text).collect();
    read.or_else(|name| wrong(value, &format!("`{name}` in `{key}` must be a string or a whole number")))
}
