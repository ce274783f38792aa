//! Configs: LoopOS's JSON as it is, the same with more keys, and TOML.
//!
//! [`KEYS`] lists every key with what it expects and means. Keys that are not known are returned with a guess at what was
//! meant, and keys of LoopOS that mean nothing here with the reason; neither stops a training. A value that cannot be is refused, with
//! file, line and key.
//!
//! Paths: what is read (`data.input_file`, vocabularies) is looked for from the folder of the config, then from the current folder, where LoopOS
//! is started; a note says so in that case. What is written (`data.output_dir`, `checkpointing.save_path`) goes to the folder
//! from which `data.input_file` was found: the config's, or the current one. Paths that are typed on the command line begin where
//! they are typed, and then everything is written there too.

mod check;
mod document;
mod keys;
mod paths;
mod set;
mod settings;

use std::path::Path;

use serde_json::{Map, Value};

use crate::{Error, Result};
use document::{Leaf, Origin};

pub use keys::{ALIASES, Bounds, Expects, KEYS, Key};
pub use settings::{
    CheckpointSettings, ComputationSettings, EarlyStopping, ModelFamily, ModelSettings, OptimizerKind,
    ProfilingSettings, SampleSettings, ScheduleKind, ScheduleSettings, Settings, TrainingSettings,
};

/// A config as it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Read {
    /// What it asks for.
    pub settings: Settings,
    /// Keys that have no effect.
    pub unknown: Vec<Unknown>,
    /// What else has to be known: which of two places a path was found at.
    pub notes: Vec<String>,
}

/// A key that has no effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// `training.random_offset`.
    pub path: String,
    /// Where it stands.
    pub line: usize,
    /// Why it has none, and which key was perhaps meant.
    pub why: String,
}

impl std::fmt::Display for Unknown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} (line {}) has no effect: {}", self.path, self.line, self.why)
    }
}

/// Reads a config, and what `--set` says instead of it, each as `key=value`.
///
/// # Errors
/// Where the file cannot be read, a value cannot be, or a key of `sets` is not known.
pub fn read(file: &Path, sets: &[String]) -> Result<Read> {
    read_from(file, sets, Path::new(""))
}

/// The same, started in the folder `here`.
///
/// # Errors
/// As for [`read`].
pub fn read_from(file: &Path, sets: &[String], here: &Path) -> Result<Read> {
    let mut leaves = document::read(file)?;
    for text in sets {
        let leaf = set::parse(text)?;
        leaves.retain(|other| other.path != leaf.path);
        leaves.push(leaf);
    }
    settle(leaves, Places { file, here })
}

/// What only `--set` says, over the defaults.
///
/// # Errors
/// As for [`read`].
pub fn defaults(sets: &[String]) -> Result<Read> {
    let leaves = sets.iter().map(|text| set::parse(text)).collect::<Result<Vec<_>>>()?;
    settle(leaves, Places { file: Path::new(""), here: Path::new("") })
}

/// Where the config is, and where the program was started.
#[derive(Debug, Clone, Copy)]
struct Places<'a> {
    file: &'a Path,
    here: &'a Path,
}

impl Places<'_> {
    /// How errors name where something was said.
    fn of(self, origin: Origin) -> String {
        match origin {
            Origin::Line(line) => format!("{}:{line}: ", self.file.display()),
            Origin::Set => "--set ".to_owned(),
        }
    }
}

fn settle(leaves: Vec<Leaf>, places: Places<'_>) -> Result<Read> {
    let mut unknown = Vec::new();
    let known = sort_out(leaves, places, &mut unknown)?;
    let mut root = Map::new();
    for leaf in &known {
        let key = keys::find(&leaf.path).map(|key| (key, check::value(key, leaf, places)));
        if let Some((key, value)) = key {
            put(&mut root, key.path, value?);
        }
    }
    let mut settings: Settings = serde_json::from_value(Value::Object(root)).map_err(|error| {
        Error::new(format!("{}: {error}", places.file.display()), "see the list of keys in the documentation")
    })?;
    check::whole(&settings, &known, places)?;
    let notes = paths::resolve(&mut settings, &known, places);
    Ok(Read { settings, unknown, notes })
}

/// Known keys under their own names, each once; the others are told of.
fn sort_out(leaves: Vec<Leaf>, places: Places<'_>, unknown: &mut Vec<Unknown>) -> Result<Vec<Leaf>> {
    let adaptive = !leaves
        .iter()
        .any(|leaf| leaf.path == "training.adaptive_lr.enabled" && matches!(leaf.value, Value::Bool(false)));
    let mut known: Vec<Leaf> = Vec::new();
    for mut leaf in leaves {
        if leaf.path == "training.adaptive_lr.enabled" || leaf.value.is_null() {
            continue;
        }
        if leaf.path.starts_with("training.adaptive_lr.") && !adaptive {
            continue;
        }
        let line = if let Origin::Line(line) = leaf.origin { line } else { 0 };
        let Some(key) = keys::find(&leaf.path) else {
            unknown.extend(no_effect(&leaf, line, places)?);
            continue;
        };
        set::translate(&mut leaf, places)?;
        let is_alias = leaf.path != key.path;
        let said = known.iter().position(|other| other.path == key.path);
        match said {
            // A rate of the schedule is more than the one beside it; the command line is more than both.
            Some(at) if wins(&leaf, is_alias, &known[at]) => known[at] = Leaf { path: key.path.to_owned(), ..leaf },
            Some(_) => unknown.push(Unknown { path: leaf.path, line, why: format!("{} decides", key.path) }),
            None => known.push(Leaf { path: key.path.to_owned(), ..leaf }),
        }
    }
    Ok(known)
}

/// Whether what is said later is taken, where a key is said twice under two names.
fn wins(leaf: &Leaf, is_alias: bool, other: &Leaf) -> bool {
    match (leaf.origin, other.origin) {
        (Origin::Set, _) => true,
        (_, Origin::Set) => false,
        _ => !is_alias || leaf.path.starts_with("training.adaptive_lr."),
    }
}

/// What is to be said of a key that is not known.
fn no_effect(leaf: &Leaf, line: usize, places: Places<'_>) -> Result<Option<Unknown>> {
    if keys::is_section(&leaf.path) {
        if matches!(&leaf.value, Value::Object(table) if table.is_empty()) {
            return Ok(None);
        }
        let message = format!("{}{} = {}: a table of keys is expected", places.of(leaf.origin), leaf.path, leaf.value);
        return Err(Error::new(message, "write { … } around its keys"));
    }
    let why = match keys::meaningless(&leaf.path) {
        Some(why) => why.to_owned(),
        None => match keys::nearest(&leaf.path) {
            Some(near) => format!("there is no such key; did you mean {near}?"),
            None => "there is no such key".to_owned(),
        },
    };
    Ok(Some(Unknown { path: leaf.path.clone(), line, why }))
}

fn put(root: &mut Map<String, Value>, path: &str, value: Value) {
    match path.split_once('.') {
        None => drop(root.insert(path.to_owned(), value)),
        Some((section, rest)) => {
            let below = root.entry(section).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(below) = below {
                put(below, rest, value);
            }
        }
    }
}
