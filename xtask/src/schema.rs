//! The JSON Schema of runs, for those who read them with other programs. An example of `record` prints it: so the feature that
//! it needs, and what that builds, is in nobody else's way.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::steps::{Outcome, cargo};

/// Where it is kept; the number is that of the record.
const PLACE: &str = "docs/schema/hotloop-run-1.json";
/// In release, so that it is built from what the tests have built.
const PRINT: &str = "run --quiet --release --package hotloop-record --features schema --example schema";

/// Writes it.
pub fn write(root: &Path) -> Result<(), String> {
    let text = current(root)?;
    let (path, folder) = place(root);
    let written = fs::create_dir_all(&folder).and_then(|()| fs::write(&path, text));
    written.map_err(|error| format!("cannot write {PLACE}: {error}"))?;
    println!("wrote {PLACE}");
    Ok(())
}

/// Says when it is not what the record is.
pub fn check(root: &Path) -> Outcome {
    match current(root) {
        Err(message) => Outcome::Failed(message),
        Ok(text) => compared(&text, fs::read_to_string(place(root).0).ok().as_deref()),
    }
}

fn compared(current: &str, kept: Option<&str>) -> Outcome {
    match kept {
        Some(kept) if kept == current => Outcome::Passed,
        Some(_) => Outcome::Failed(format!("{PLACE} is stale; `cargo xtask schema` writes it")),
        None => Outcome::Failed(format!("{PLACE} is missing; `cargo xtask schema` writes it")),
    }
}

fn place(root: &Path) -> (PathBuf, PathBuf) {
    let path = root.join(PLACE);
    let folder = path.parent().map_or_else(|| root.to_owned(), Path::to_owned);
    (path, folder)
}

fn current(root: &Path) -> Result<String, String> {
    println!("$ cargo {PRINT}");
    let mut command = Command::new(cargo());
    command.args(PRINT.split_whitespace()).current_dir(root).stderr(Stdio::inherit());
    let output = command.output().map_err(|error| format!("cargo did not start: {error}"))?;
    if !output.status.success() {
        return Err(format!("`cargo {PRINT}` ended with {}", output.status));
    }
    String::from_utf8(output.stdout).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_one_is_named() {
        assert_eq!(compared("{}\n", Some("{}\n")), Outcome::Passed);
        assert!(matches!(compared("{}\n", Some("{}")), Outcome::Failed(message) if message.contains("stale")));
        assert!(matches!(compared("{}\n", None), Outcome::Failed(message) if message.contains("missing")));
    }
}
