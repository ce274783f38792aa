//! What was read from the files of other programs.

use record::{ImportedFile, ImportedRun, Importing, Unread};

use crate::document::{Block, Document, Section};
use crate::units::{count, plural};

/// Skipped parts of a file that are named; the JSON has all of them.
const SKIPPED_SHOWN: usize = 20;
/// Digits of an id.
const ID_DIGITS: usize = 12;

/// Each file with its runs, and what of it was skipped.
#[must_use]
pub fn document(importing: &Importing) -> Document {
    Document::untitled(importing.files.iter().map(file).collect())
}

fn file(file: &ImportedFile) -> Section {
    let about = format!("{}: {}, {}", file.path, file.format, plural(file.runs.len() as u64, "run"));
    let section = Section::new("IMPORTED", &about).with(Block::Facts(file.runs.iter().map(run).collect()));
    if file.unread.is_empty() {
        return section.with(Block::Text("Nothing was skipped.".to_owned()));
    }
    let skipped = format!("Skipped: {}", plural(file.unread.len() as u64, "part"));
    let named = file.unread.iter().take(SKIPPED_SHOWN).map(skipped_part).collect();
    let mut section = section.with(Block::Text(skipped)).with(Block::List(named));
    let hidden = file.unread.len().saturating_sub(SKIPPED_SHOWN) as u64;
    if hidden > 0 {
        section.text(format!("({} more; --json lists all)", count(hidden)));
    }
    section
}

fn skipped_part(part: &Unread) -> String {
    let line = part.line.map_or(String::new(), |line| format!("line {line}: "));
    format!("{line}{} ({})", part.text, part.why)
}

fn run(found: &ImportedRun) -> (String, String) {
    let run = &found.run;
    let origin = run.imported.as_ref();
    let id = found.id.as_deref().map_or("not saved", |id| id.get(..ID_DIGITS).unwrap_or(id));
    let part = origin.and_then(|origin| origin.part.as_ref()).map_or(String::new(), |part| format!(" ({part})"));
    let scopes = run.profile.as_ref().map_or(0, |profile| profile.scopes.len());
    let mut parts = vec![format!("{} on {}", run.workload.name, run.subject.name)];
    for (number, what) in [(run.rows.len(), "row"), (run.samples.len(), "sample"), (scopes, "scope")] {
        if number > 0 {
            parts.push(plural(number as u64, what));
        }
    }
    if origin.is_some_and(|origin| origin.single_shot) {
        parts.push("measured once".to_owned());
    }
    if origin.is_some_and(|origin| origin.summarised) {
        parts.push("summaries, no raw samples".to_owned());
    }
    if !run.notes.is_empty() {
        parts.push(plural(run.notes.len() as u64, "note"));
    }
    if let Some(name) = &found.copy_of {
        parts.push(format!("already saved from {name}, which has the same content"));
    }
    (format!("{id}{part}"), parts.join(", "))
}
