//! What Cargo is asked.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};

use serde::Deserialize;

use super::{BuildError, Project};

/// Lines of the compiler that are shown where it fails.
const LAST_LINES: usize = 30;

/// What Cargo says of what it made; of all it says, the part that matters here.
#[derive(Deserialize)]
struct CargoMessage {
    reason: String,
    #[serde(default)]
    executable: Option<PathBuf>,
    #[serde(default)]
    target: Option<CargoTarget>,
}

#[derive(Deserialize)]
struct CargoTarget {
    name: String,
    #[serde(default)]
    kind: Vec<String>,
}

/// The compiler that a folder gets, in its own words: a project may choose one in a file.
pub(super) fn compiler(folder: &Path) -> Result<String, BuildError> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let name = rustc.to_string_lossy();
    let asked = Command::new(&rustc).arg("-vV").current_dir(folder).stdin(Stdio::null()).output();
    let ended = asked.map_err(|error| BuildError::Failed(format!("cannot start `{name}`: {error}")))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match ended.status.success() {
        true => Ok(text(&ended.stdout)),
        false => {
            Err(BuildError::Failed(format!("`{name} -vV` ended with {}: {}", ended.status, text(&ended.stderr).trim())))
        }
    }
}

/// Builds the program of a project in a folder; `tell` hears every line of Cargo.
pub(super) fn build(
    project: &Project,
    folder: &Path,
    target: &Path,
    tell: &mut dyn FnMut(&str),
) -> Result<PathBuf, BuildError> {
    let failed = |error: String| BuildError::Failed(error);
    let mut child =
        cargo(project, folder, target).spawn().map_err(|error| failed(format!("cannot start `cargo`: {error}")))?;
    let (Some(output), Some(complaints)) = (child.stdout.take(), child.stderr.take()) else {
        return Err(failed("`cargo` has no streams".to_owned()));
    };
    let reader = std::thread::spawn(move || programs(output));
    let last = follow(complaints, tell);
    let ended = child.wait().map_err(|error| failed(error.to_string()))?;
    let programs = reader.join().unwrap_or_default();
    if !ended.success() {
        return Err(failed(format!("cargo ended with {ended}\n{}", last.join("\n"))));
    }
    the_one(programs, project.bin.as_deref()).map_err(BuildError::Refused)
}

fn cargo(project: &Project, folder: &Path, target: &Path) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--message-format=json-render-diagnostics", "--profile", project.profile()]);
    for (option, value) in [("--package", &project.package), ("--bin", &project.bin)] {
        cargo.args(value.iter().flat_map(|value| [option, value]));
    }
    if project.bin.is_none() {
        cargo.arg("--bins");
    }
    if !project.features.is_empty() {
        cargo.args(["--features", &project.features.join(",")]);
    }
    cargo.arg("--target-dir").arg(target).current_dir(folder);
    cargo.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    cargo
}

/// Tells every line, and gives the last ones.
fn follow(complaints: impl Read, tell: &mut dyn FnMut(&str)) -> Vec<String> {
    let mut last = VecDeque::new();
    for line in BufReader::new(complaints).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line).trim_end().to_owned();
        tell(line.trim());
        last.push_back(line);
        if last.len() > LAST_LINES {
            last.pop_front();
        }
    }
    last.into()
}

/// Programs that Cargo made, with their names.
fn programs(output: ChildStdout) -> Vec<(String, PathBuf)> {
    let lines = BufReader::new(output).split(b'\n').map_while(Result::ok);
    lines.filter_map(|line| program(&line)).collect()
}

fn program(line: &[u8]) -> Option<(String, PathBuf)> {
    let CargoMessage { reason, executable, target } = serde_json::from_slice(line).ok()?;
    let target =
        target.filter(|target| reason == "compiler-artifact" && target.kind.iter().any(|kind| kind == "bin"))?;
    Some((target.name, executable?))
}

fn the_one(mut programs: Vec<(String, PathBuf)>, wanted: Option<&str>) -> Result<PathBuf, String> {
    programs.retain(|(name, _)| wanted.is_none_or(|wanted| name == wanted));
    match programs.len() {
        1 => Ok(programs.remove(0).1),
        0 => Err("the package has no program; choose another one with `--package`".to_owned()),
        _ => {
            let names: Vec<&str> = programs.iter().map(|(name, _)| name.as_str()).collect();
            Err(format!("the package has several programs, {}; choose one with `--bin`", names.join(", ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_in_what_cargo_says() {
        let line =
            br#"{"reason":"compiler-artifact","target":{"name":"a","kind":["bin"]},"executable":"/t/a","fresh":true}"#;
        assert_eq!(program(line), Some(("a".to_owned(), "/t/a".into())));
        let library = br#"{"reason":"compiler-artifact","target":{"name":"a","kind":["lib"]},"executable":null}"#;
        assert_eq!((program(library), program(b"{\"reason\":\"build-finished\"}"), program(b"x")), (None, None, None));
    }

    #[test]
    fn one_program_is_wanted() {
        let two = || vec![("a".to_owned(), "/t/a".into()), ("b".to_owned(), "/t/b".into())];
        assert_eq!(the_one(two(), Some("b")), Ok("/t/b".into()));
        assert!(the_one(two(), None).unwrap_err().contains("a, b; choose one with `--bin`"));
        assert!(the_one(two(), Some("c")).unwrap_err().contains("no program"));
    }
}
