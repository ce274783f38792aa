//! `docs/recommendations.md`: what SmallMind's reports recommend, proved or disproved by duels of the engine on this machine.

mod found;
mod page;
mod questions;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use found::Found;
use page::Answer;
use questions::{Fight, QUESTIONS};

use crate::steps::cargo;

/// Where it is kept.
const PLACE: &str = "docs/recommendations.md";
/// How the program is built, and told where it lies.
const BUILD: &str = "build --release --bin hotloop --message-format json";

/// Fights every duel and writes the page. It takes about a quarter of an hour.
pub fn write(root: &Path) -> Result<(), String> {
    let program = Program::build(root)?;
    let mut answers = Vec::new();
    for question in QUESTIONS {
        println!("\n== {}", question.title);
        let answer = |fight| answer(root, &program, fight);
        answers.push(question.duels.iter().map(answer).collect::<Result<Vec<_>, _>>()?);
    }
    let path = root.join(PLACE);
    std::fs::write(&path, page::page(&answers)).map_err(|error| format!("cannot write {PLACE}: {error}"))?;
    println!("wrote {PLACE}");
    Ok(())
}

/// A copy of the program: all duels are of the same one, whatever is built meanwhile. It goes away with this.
struct Program(PathBuf);

impl Program {
    fn build(root: &Path) -> Result<Self, String> {
        println!("$ cargo {BUILD}");
        let mut command = Command::new(cargo());
        command.args(BUILD.split_whitespace()).current_dir(root).stderr(Stdio::inherit());
        let output = command.output().map_err(|error| format!("cargo did not start: {error}"))?;
        if !output.status.success() {
            return Err(format!("`cargo {BUILD}` ended with {}", output.status));
        }
        let messages = output.stdout.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok());
        let built = messages.filter_map(|message: Value| message["executable"].as_str().map(PathBuf::from)).next_back();
        let built = built.ok_or("cargo did not tell where it built the program")?;
        let copy = std::env::temp_dir().join(format!("hotloop-recommendations-{}", std::process::id()));
        std::fs::copy(&built, &copy).map_err(|error| format!("cannot copy {}: {error}", built.display()))?;
        Ok(Self(copy))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // What stays is in a place that the system empties.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Why it cannot be fought here is an answer too; that it failed is none.
fn answer(root: &Path, program: &Program, fight: &Fight) -> Result<Answer, String> {
    let absent = fight.arguments.split_whitespace().find(|word| word.starts_with("../") && !root.join(word).exists());
    if let Some(file) = absent {
        println!("skipped: there is no {file}");
        return Ok(Err(format!("`{}` is missing", file_name(file))));
    }
    let asked = format!("duel {} --metric {} --json", fight.arguments, fight.metric);
    println!("$ hotloop {asked}");
    let mut command = Command::new(&program.0);
    command.args(asked.split_whitespace()).current_dir(root).stderr(Stdio::inherit());
    let output = command.output().map_err(|error| format!("hotloop did not start: {error}"))?;
    // A duel ends with the code of its verdict: what counts is whether it printed one.
    let duel = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("`hotloop {asked}` ended with {} and printed no duel: {error}", output.status))?;
    let arguments: Vec<&str> = fight.arguments.split_whitespace().map(file_name).collect();
    let command = format!("hotloop duel {} --metric {}", arguments.join(" "), fight.metric);
    Ok(Ok(Found { command, duel }))
}

/// The page names files without the folder where this project keeps them.
fn file_name(word: &str) -> &str {
    if word.starts_with("../") { word.rsplit('/').next().unwrap_or(word) } else { word }
}
