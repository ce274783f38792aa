//! What must not compile, and with which message: the files in `tests/ui`.
//!
//! A line that ends in `//~ ERROR text` has an error, and each error there has that text; no other line has any.

#![cfg(feature = "enabled")]
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A file's name and the line in it.
type Place = (String, usize);

#[test]
fn errors_are_those_the_files_announce() {
    let cases = cases();
    assert!(!cases.is_empty(), "tests/ui has no files");
    let announced: BTreeMap<_, _> = cases.iter().flat_map(|case| announced_errors(case)).collect();
    let (found, output) = compile(&cases);

    let mut differences = String::new();
    for (place, text) in &announced {
        let messages = found.get(place).map_or(&[][..], Vec::as_slice);
        if messages.is_empty() || !messages.iter().all(|message| message.contains(text)) {
            writeln!(differences, "{place:?}: announced {text:?}, found {messages:?}").unwrap();
        }
    }
    for (place, messages) in found.iter().filter(|(place, _)| !announced.contains_key(place)) {
        writeln!(differences, "{place:?}: not announced, found {messages:?}").unwrap();
    }
    assert!(differences.is_empty(), "{differences}\n{output}");
}

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ui");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut cases: Vec<_> = files.filter(|path| path.extension() == Some(OsStr::new("rs"))).collect();
    cases.sort();
    cases
}

fn announced_errors(case: &Path) -> Vec<(Place, String)> {
    let source = fs::read_to_string(case).unwrap();
    let lines = source.lines().enumerate();
    lines
        .filter_map(|(at, line)| {
            let (_, text) = line.split_once("//~ ERROR ")?;
            Some(((file_name(case), at + 1), text.trim().to_owned()))
        })
        .collect()
}

/// Checks all cases as the binaries of one package, which lies in the target folder.
fn compile(cases: &[PathBuf]) -> (BTreeMap<Place, Vec<String>>, String) {
    let package = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ui");
    fs::create_dir_all(&package).unwrap();
    fs::write(package.join("Cargo.toml"), manifest(cases)).unwrap();
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock");
    if lock.is_file() {
        fs::copy(lock, package.join("Cargo.lock")).unwrap();
    }
    let output = Command::new(env!("CARGO"))
        .args(["check", "--offline", "--keep-going", "--bins", "--message-format=short"])
        .current_dir(&package)
        .env("CARGO_TARGET_DIR", package.join("target"))
        .env_remove("RUSTFLAGS")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    (found_errors(&text), text)
}

fn manifest(cases: &[PathBuf]) -> String {
    let mut manifest = format!(
        "[package]\nname = \"ui\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n\
         hotloop = {{ path = {:?}, features = [\"enabled\"] }}\n",
        env!("CARGO_MANIFEST_DIR")
    );
    for case in cases {
        let name = case.file_stem().unwrap().to_string_lossy();
        writeln!(manifest, "\n[[bin]]\nname = {name:?}\npath = {case:?}").unwrap();
    }
    manifest
}

/// From lines such as `/path/to/const_fn.rs:2:1: error[E0277]: message`.
fn found_errors(output: &str) -> BTreeMap<Place, Vec<String>> {
    let mut errors = BTreeMap::<Place, Vec<String>>::new();
    for line in output.lines() {
        let Some((place, message)) = line.split_once(": error") else {
            continue;
        };
        let mut parts = place.rsplitn(3, ':');
        let (_column, line_number, path) = (parts.next(), parts.next(), parts.next());
        let Some((path, line_number)) = path.zip(line_number.and_then(|number| number.parse().ok())) else {
            continue;
        };
        let place = (file_name(Path::new(path)), line_number);
        errors.entry(place).or_default().push(message.to_owned());
    }
    errors
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}
