//! What a gate leaves behind: files for people and for programs, and what GitHub Actions reads.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use record::{Duel, Gate};

use super::super::Refusal;
use super::super::export::replace;

/// The folder of the outputs.
pub struct Folder(PathBuf);

impl Folder {
    /// Makes it, and tries to write there: what would fail behind an hour of measuring fails now.
    pub fn open(path: &Path) -> Result<Self, Refusal> {
        let failed = |error: io::Error| Refusal {
            error: format!("cannot write to {}: {error}", path.display()),
            hint: "name a folder with --out that can be written to",
        };
        fs::create_dir_all(path).map_err(failed)?;
        let trial = path.join(format!(".{}.part", std::process::id()));
        fs::write(&trial, "").and_then(|()| fs::remove_file(&trial)).map_err(failed)?;
        Ok(Self(path.to_owned()))
    }

    /// Keeps a duel with all its samples; gives the name of its file.
    pub fn keep(&self, cell: &str, duel: &Duel) -> Result<String, String> {
        let name = format!("duel-{cell}.json");
        self.write(&name, &duel.to_json())?;
        Ok(name)
    }

    /// All forms of the verdict.
    pub fn finish(&self, gate: &Gate) -> Result<(), String> {
        self.write("comment.md", &report::gate_comment(gate))?;
        self.write("junit.xml", &report::gate_junit(gate))?;
        self.write("badge.svg", &report::gate_badge(gate))?;
        // The last one: who finds it finds the others.
        self.write("verdict.json", &gate.to_json())
    }

    fn write(&self, name: &str, text: &str) -> Result<(), String> {
        let path = self.0.join(name);
        replace(&path, text.as_bytes()).map_err(|error| format!("cannot write {}: {error}", path.display()))
    }
}

/// What the workflow that runs us shows by itself: a summary of the step, and annotations.
pub fn tell_workflow(gate: &Gate) -> Result<(), String> {
    if std::env::var("GITHUB_ACTIONS").is_ok_and(|value| value == "true") {
        // Annotations that nobody can be shown are in the other outputs too.
        let _ = io::stderr().lock().write_all(report::gate_annotations(gate).as_bytes());
    }
    let Some(summary) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()) else { return Ok(()) };
    let opened = fs::OpenOptions::new().create(true).append(true).open(&summary);
    let written = opened.and_then(|mut file| file.write_all(report::gate_comment(gate).as_bytes()));
    written.map_err(|error| format!("cannot write {}: {error}", Path::new(&summary).display()))
}
