//! Where the paths of a config begin.

use std::path::{Path, PathBuf};

use super::document::{ConfigValue, Origin};
use super::{Settings, SourcePositions};
use crate::data::Inputs;

/// Where a path begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Base {
    Config,
    Here,
}

/// Puts the folder in front of every relative path; what has to be known about that.
pub(super) fn resolve(settings: &mut Settings, leaves: &[ConfigValue], places: SourcePositions<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    let typed = |path: &str| leaves.iter().any(|leaf| leaf.path == path && leaf.origin == Origin::Set);
    let mut finder = Finder { places, notes: &mut notes };
    let mut base = if typed("data.input_file") { Base::Here } else { Base::Config };
    if !typed("data.input_file") {
        for input in each(&mut settings.data.input_file) {
            if finder.find("data.input_file", input) == Base::Here {
                base = Base::Here;
            }
        }
    }
    if !typed("data.validation_file") {
        for input in each(&mut settings.data.validation_file) {
            finder.find("data.validation_file", input);
        }
    }
    let vocabularies = [
        ("data.tokenizer_vocab", &mut settings.data.tokenizer_vocab),
        ("tokenizer.file", &mut settings.tokenizer.file),
    ];
    for (key, path) in vocabularies {
        if let Some(path) = path.as_mut().filter(|_| !typed(key)) {
            let mut text = path.to_string_lossy().into_owned();
            finder.find(key, &mut text);
            *path = PathBuf::from(text);
        }
    }
    let folder = if base == Base::Here { places.here } else { folder_of(places.file) };
    let targets = [
        ("data.output_dir", &mut settings.data.output_dir),
        ("checkpointing.save_path", &mut settings.checkpointing.save_path),
    ];
    for (key, path) in targets {
        let Some(path) = path else { continue };
        *path = if typed(key) { places.here.join(&*path) } else { folder.join(&*path) };
    }
    if settings.data.output_dir.is_none() {
        settings.data.output_dir = Some(folder.join("outputs"));
    }
    notes
}

/// The folder of a config.
fn folder_of(file: &Path) -> &Path {
    file.parent().unwrap_or(Path::new(""))
}

fn each(inputs: &mut Inputs) -> impl Iterator<Item = &mut String> {
    match inputs {
        Inputs::One(one) => std::slice::from_mut(one).iter_mut(),
        Inputs::Many(many) => many.iter_mut(),
    }
}

struct Finder<'a> {
    places: SourcePositions<'a>,
    notes: &'a mut Vec<String>,
}

impl Finder<'_> {
    /// Puts the folder in front where it is found: the config's, or the current one.
    fn find(&mut self, key: &str, text: &mut String) -> Base {
        let folder = folder_of(self.places.file);
        if text.is_empty() || text == "-" || Path::new(text.as_str()).is_absolute() {
            return Base::Config;
        }
        let fixed = fixed_part(text);
        let there = |folder: &Path| folder.join(&fixed).exists();
        let base = if !there(folder) && there(self.places.here) { Base::Here } else { Base::Config };
        let taken = if base == Base::Here { self.places.here } else { folder }.join(&*text);
        if base == Base::Here && folder != self.places.here {
            let note = format!("{key}: {text} not found next to the config; using the one in the current folder");
            let written = if key == "data.input_file" { "; output goes there too" } else { "" };
            self.notes.push(format!("{note}{written}"));
        }
        *text = taken.to_string_lossy().into_owned();
        base
    }
}

/// What stands before the first sign of a pattern.
fn fixed_part(text: &str) -> PathBuf {
    let is_pattern = |part: &&str| part.contains(['*', '?', '[', '{']);
    Path::new(text).iter().take_while(|part| !part.to_str().is_some_and(|part| is_pattern(&part))).collect()
}
