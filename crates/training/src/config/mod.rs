//! Configs: LoopOS's JSON as it is, the same with more keys, and TOML.
//!
//! [`KEYS`] lists every key with what it expects and means. Keys that are not known are returned
//! with a guess at what was meant, and keys of LoopOS that mean nothing here with the reason;
//! neither stops a training. A value that cannot be is refused, with file, line and key.
//!
//! Paths: what is read (`data.input_file`, vocabularies) is looked for from the folder of the
//! config, then from the current folder, where LoopOS is started; a note says so in that case. What
//! is written (`data.output_dir`, `checkpointing.save_path`) goes to the folder from which
//! `data.input_file` was found: the config's, or the current one. Paths that are typed on the
//! command line begin where they are typed, and then everything is written there too.

mod check;
mod document;
mod idle;
mod keys;
mod paths;
mod set;
mod settings;

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value};

use crate::{Error, Result};
use document::{ConfigValue, Origin};

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
    /// What else has to be known: which of two places a path was found at, and keys without effect beside the others.
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
    settle(leaves, SourcePositions { file, here })
}

/// What only `--set` says, over the defaults.
///
/// # Errors
/// As for [`read`].
pub fn defaults(sets: &[String]) -> Result<Read> {
    let leaves = sets.iter().map(|text| set::parse(text)).collect::<Result<Vec<_>>>()?;
    settle(leaves, SourcePositions { file: Path::new(""), here: Path::new("") })
}

/// Where the config is, and where the program was started.
#[derive(Debug, Clone, Copy)]
struct SourcePositions<'a> {
    file: &'a Path,
    here: &'a Path,
}

impl SourcePositions<'_> {
    /// How errors name where something was said.
    fn of(self, origin: Origin) -> String {
        match origin {
            Origin::Line(line) => format!("{}:{line}: ", self.file.display()),
            Origin::Set => "--set ".to_owned(),
        }
    }
}

fn settle(leaves: Vec<ConfigValue>, places: SourcePositions<'_>) -> Result<Read> {
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
        Error::new(format!("{}: {error}", places.file.display()), "`hotloop train --keys` lists all keys")
    })?;
    check::whole(&settings, &known, places)?;
    let mut notes = paths::resolve(&mut settings, &known, places);
    notes.extend(idle::notes(&settings, &known));
    Ok(Read { settings, unknown, notes })
}

/// Known keys under their own names, each once; the others are told of.
fn sort_out(
    leaves: Vec<ConfigValue>,
    places: SourcePositions<'_>,
    unknown: &mut Vec<Unknown>,
) -> Result<Vec<ConfigValue>> {
    let is_off = |leaf: &ConfigValue| leaf.path == ADAPTIVE_SWITCH && leaf.value == Value::Bool(false);
    let adaptive = !leaves.iter().any(is_off);
    let mut known: BTreeMap<&'static str, (Weight, ConfigValue)> = BTreeMap::new();
    for mut leaf in leaves {
        let is_idle = leaf.path.starts_with(ADAPTIVE) && !adaptive;
        if leaf.path == ADAPTIVE_SWITCH || leaf.value.is_null() || is_idle {
            continue;
        }
        let Some(key) = keys::find(&leaf.path) else {
            unknown.extend(no_effect(&leaf, places)?);
            continue;
        };
        set::translate(&mut leaf, places)?;
        let weight = weight(&leaf, key);
        let weaker = match known.remove(key.path) {
            Some((other, kept)) if other > weight => {
                known.insert(key.path, (other, kept));
                Some(leaf)
            }
            kept => {
                known.insert(key.path, (weight, leaf));
                kept.map(|(_, leaf)| leaf)
            }
        };
        if let (Some(weaker), Some((_, kept))) = (weaker, known.get(key.path))
            && kept.origin != Origin::Set
        {
            unknown.push(Unknown { line: line(&weaker), path: weaker.path, why: format!("{} decides", kept.path) });
        }
    }
    unknown.sort_by_key(|key| key.line);
    let renamed =
        |(path, (_, leaf)): (&'static str, (Weight, ConfigValue))| ConfigValue { path: path.to_owned(), ..leaf };
    Ok(known.into_iter().map(renamed).collect())
}

const ADAPTIVE: &str = "training.adaptive_lr.";
const ADAPTIVE_SWITCH: &str = "training.adaptive_lr.enabled";

/// What is taken where something is said twice under two names: a schedule's rate is more than the
/// one beside it, and what is typed is more than both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    OtherName,
    OwnName,
    Schedule,
    Typed,
}

fn weight(leaf: &ConfigValue, key: &Key) -> Weight {
    match leaf.origin {
        Origin::Set => Weight::Typed,
        Origin::Line(_) if leaf.path.starts_with(ADAPTIVE) => Weight::Schedule,
        Origin::Line(_) if leaf.path == key.path => Weight::OwnName,
        Origin::Line(_) => Weight::OtherName,
    }
}

fn line(leaf: &ConfigValue) -> usize {
    if let Origin::Line(line) = leaf.origin { line } else { 0 }
}

/// What is to be said of a key that is not known.
fn no_effect(leaf: &ConfigValue, places: SourcePositions<'_>) -> Result<Option<Unknown>> {
    if keys::is_section(&leaf.path) {
        if matches!(&leaf.value, Value::Object(table) if table.is_empty()) {
            return Ok(None);
        }
        let message = format!("{}{} = {}: expected a table of keys", places.of(leaf.origin), leaf.path, leaf.value);
        return Err(Error::new(message, "write { … } around its keys"));
    }
    let why = match keys::meaningless(&leaf.path) {
        Some(why) => why.to_owned(),
        None => match keys::nearest(&leaf.path) {
            Some(near) => format!("unknown key; did you mean {near}?"),
            None => "unknown key".to_owned(),
        },
    };
    Ok(Some(Unknown { path: leaf.path.clone(), line: line(leaf), why }))
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
