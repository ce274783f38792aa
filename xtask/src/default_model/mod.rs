//! The bundled model: a corpus of stories that are made here, a model that `hotloop train` makes from it, and a look at what it writes.
//!
//! The program that trains has the last model in it, so that file must be there; any will do.

mod corpus;
mod stories;

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::steps::{CommandLine, Outcome, cargo};
use stories::Critic;

/// Where everything goes that is not committed.
const FOLDER: &str = "target/default-model";
/// What is committed.
const MODEL: &str = "crates/cli/model/stories.gguf";
/// The most that it may take: every clone and every program has it.
const MOST_BYTES: u64 = 1_000_000;

const TRAIN: CommandLine = CommandLine {
    variables: &[],
    words: "cargo run --release --quiet -p hotloop-cli -- train crates/cli/model/stories.toml",
};
const QUANTISE: CommandLine = CommandLine {
    variables: &[],
    words: "cargo run --release --quiet -p hotloop-cli -- quantize target/default-model/run/model.gguf \
            crates/cli/model/stories.gguf --type q5_1 --force",
};
/// A hundred stories. The model is named, because the program may still have the one before in it.
const WRITE: &str = "run --release --quiet -p hotloop-cli -- generate --model crates/cli/model/stories.gguf --prompt Once --tokens 240 --batch 100 --json";
/// So many of them may have a fault. Of the model that was committed 11 had one: names or grown-ups that change on the way.
const FAULTY: usize = 20;

/// Writes the corpus alone.
pub fn write_corpus(root: &Path) -> Result<(), String> {
    corpus::write(&root.join(FOLDER))
}

/// Writes the corpus, trains, quantises, and reads what the model writes.
pub fn make(root: &Path) -> Result<(), String> {
    write_corpus(root)?;
    for command in [TRAIN, QUANTISE] {
        if let Outcome::Failed(message) = command.execute(root) {
            return Err(message);
        }
    }
    let bytes = std::fs::metadata(root.join(MODEL)).map_err(|error| format!("{MODEL}: {error}"))?.len();
    println!("wrote {MODEL}: {bytes} bytes");
    if bytes > MOST_BYTES {
        return Err(format!("{MODEL} has {bytes} bytes, {MOST_BYTES} are allowed"));
    }
    read(root)
}

/// Lets the model write, and says what is wrong with it.
pub fn read(root: &Path) -> Result<(), String> {
    println!("$ cargo {WRITE}");
    let mut command = Command::new(cargo());
    command.args(WRITE.split_whitespace()).current_dir(root).stderr(Stdio::inherit());
    let output = command.output().map_err(|error| format!("cargo did not start: {error}"))?;
    if !output.status.success() {
        return Err(format!("`cargo {WRITE}` ended with {}", output.status));
    }
    let written: Value = serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
    let texts: Vec<String> = written["sequences"].as_array().into_iter().flatten().filter_map(told).collect();
    let critic = Critic::new();
    let mut faulty = 0;
    for text in &texts {
        let faults = critic.faults(text);
        println!("\n{text}");
        faults.iter().for_each(|fault| println!("  FAULT: {fault}"));
        faulty += usize::from(!faults.is_empty());
    }
    println!("\n{} of {} stories have no fault that a program finds", texts.len() - faulty, texts.len());
    if texts.is_empty() || faulty > FAULTY {
        return Err(format!("{faulty} of {} stories have faults, {FAULTY} are allowed", texts.len()));
    }
    Ok(())
}

/// The text of a sequence, with its prompt.
fn told(sequence: &Value) -> Option<String> {
    sequence["text"].as_str().map(|text| format!("Once{}", text.trim_end()))
}
