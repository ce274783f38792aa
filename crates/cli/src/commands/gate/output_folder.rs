//! What a gate writes: files for people and for programs, and what GitHub Actions reads.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use record::{Duel, Gate};

use super::super::CommandError;
use super::super::export::replace;

/// The folder of the outputs.
pub struct OutputFolder(PathBuf);

impl OutputFolder {
    /// Creates it, and tries to write there, so that a failure comes before an hour of measuring.
    pub fn open(path: &Path) -> Result<Self, CommandError> {
        let failed = |error: io::Error| {
            CommandError::new(
                format!("cannot write to {}: {error}", path.display()),
                "name a writable folder with --out",
            )
        };
        fs::create_dir_all(path).map_err(failed)?;
        let trial = path.join(format!(".{}.part", std::process::id()));
        fs::write(&trial, "").and_then(|()| fs::remove_file(&trial)).map_err(failed)?;
        Ok(Self(path.to_owned()))
    }

    /// Saves a duel with all its samples; returns the name of its file.
    pub fn save(&self, cell: &str, duel: &Duel) -> Result<String, String> {
        let name = format!("duel-{cell}.json");
        self.write(&name, &duel.to_json())?;
        Ok(name)
    }

    /// All forms of the verdict.
    pub fn finish(&self, gate: &Gate) -> Result<(), String> {
        self.write("comment.md", &report::gate_comment(gate))?;
        self.write("junit.xml", &report::gate_junit(gate))?;
        self.write("badge.svg", &report::gate_badge(gate))?;
        // Last, so that a program that finds it finds the others.
        self.write("verdict.json", &gate.to_json())
    }

    fn write(&self, name: &str, text: &str) -> Result<(), String> {
        let path = self.0.join(name);
        replace(&path, text.as_bytes()).map_err(|error| format!("cannot write {}: {error}", path.display()))
    }
}

/// What GitHub Actions shows: a summary of the step, and annotations.
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
