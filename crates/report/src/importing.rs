//! What was read of the files of other programs, as lines for people.

use std::fmt::Write as _;

use record::{ImportedFile, ImportedRun, Importing, Unread};

use crate::units::{count, plural};

/// Parts of a file that were not read and are named; a program finds all of them in the JSON.
const UNREAD_SHOWN: usize = 20;
/// Digits of an id that are shown, as everywhere.
const SHORT: usize = 12;

/// Each file with its runs, and what of it was not read.
#[must_use]
pub fn text(importing: &Importing) -> String {
    importing.files.iter().map(file).collect()
}

fn file(file: &ImportedFile) -> String {
    let mut text = format!("{}: {}, {}\n", file.path, file.format, plural(file.runs.len() as u64, "run"));
    for found in &file.runs {
        text.push_str(&run(found));
    }
    if file.unread.is_empty() {
        text.push_str("  all of it was read\n");
        return text;
    }
    let _ = writeln!(text, "  not read: {}", plural(file.unread.len() as u64, "part"));
    for part in file.unread.iter().take(UNREAD_SHOWN) {
        let _ = writeln!(text, "    {}", unread(part));
    }
    let hidden = file.unread.len().saturating_sub(UNREAD_SHOWN) as u64;
    if hidden > 0 {
        let _ = writeln!(text, "    ({} more; --json has all)", count(hidden));
    }
    text
}

fn unread(part: &Unread) -> String {
    let line = part.line.map_or(String::new(), |line| format!("line {line}: "));
    format!("{line}{} ({})", part.text, part.why)
}

fn run(found: &ImportedRun) -> String {
    let run = &found.run;
    let origin = run.imported.as_ref();
    let id = found.id.as_deref().map_or("not kept", |id| id.get(..SHORT).unwrap_or(id));
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
        parts.push(format!("kept before, from {name} with the same content"));
    }
    format!("  {id}{part}: {}\n", parts.join(", "))
}
