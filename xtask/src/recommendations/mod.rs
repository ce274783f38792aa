//! `docs/recommendations.md`: what SmallMind's reports recommend, proved or disproved by duels of the engine on this machine.

mod found;
mod page;
mod questions;

use std::path::Path;
use std::process::{Command, Stdio};

use found::Found;
use page::Answer;
use questions::{Fight, QUESTIONS};

use crate::steps::cargo;

/// Where it is kept.
const PLACE: &str = "docs/recommendations.md";
/// How the program is built and run.
const PROGRAM: &str = "run --quiet --release --bin hotloop --";

/// Fights every duel and writes the page. It takes about a quarter of an hour.
pub fn write(root: &Path) -> Result<(), String> {
    let mut answers = Vec::new();
    for question in QUESTIONS {
        println!("\n== {}", question.title);
        answers.push(question.duels.iter().map(|fight| answer(root, fight)).collect::<Result<Vec<_>, _>>()?);
    }
    let path = root.join(PLACE);
    std::fs::write(&path, page::page(&answers)).map_err(|error| format!("cannot write {PLACE}: {error}"))?;
    println!("wrote {PLACE}");
    Ok(())
}

/// Why it cannot be fought here is an answer too; that it failed is none.
fn answer(root: &Path, fight: &Fight) -> Result<Answer, String> {
    let absent = fight.arguments.split_whitespace().find(|word| word.starts_with("../") && !root.join(word).exists());
    if let Some(file) = absent {
        println!("skipped: there is no {file}");
        return Ok(Err(format!("as there is no `{file}`")));
    }
    let asked = format!("duel {} --metric {} --json", fight.arguments, fight.metric);
    println!("$ hotloop {asked}");
    let mut command = Command::new(cargo());
    command.args(PROGRAM.split_whitespace()).args(asked.split_whitespace()).current_dir(root).stderr(Stdio::inherit());
    let output = command.output().map_err(|error| format!("cargo did not start: {error}"))?;
    // A duel ends with the code of its verdict: what counts is whether it printed one.
    let duel = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("`hotloop {asked}` ended with {} and printed no duel: {error}", output.status))?;
    let command = format!(
        "hotloop duel {} --metric {}",
        fight.arguments.split_whitespace().collect::<Vec<_>>().join(" "),
        fight.metric
    );
    Ok(Ok(Found { command, duel }))
}
