//! Rules that no other tool checks: sizes, names, leftovers, and where unsafe code may live.

use std::path::Path;

use crate::files::{self, File};
use crate::source::{code_only, has_word};
use crate::steps::Outcome;

mod documents;
mod phrases;
mod type_names;
mod width;

/// Above this a source file is hard to read in one go; said, not enforced.
const LINES_WARNED: usize = 500;
/// Above this it has to be split.
const LINES_ALLOWED: usize = 700;
/// Larger things slow every clone for ever; they are downloaded or made instead.
const BYTES_ALLOWED: u64 = 1 << 20;

/// Endings of files that people write and read as code.
const SOURCE_ENDINGS: &[&str] = &[".rs", ".c", ".h", ".cpp", ".hpp", ".py", ".sh", ".js", ".ts", ".css", ".html"];

/// Names that say nothing about what is inside.
const EMPTY_NAMES: &[&str] = &["utils", "common", "helpers", "manager"];

/// Roots of somebody's machine. Spelled in halves, here and below, so that this file passes its own rules.
const MACHINE_ROOTS: &[&str] =
    &[concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/Us", "ers/")];

/// Marks of unfinished work, in comments and documents too.
const LEFTOVER_WORDS: &[&str] = &[concat!("FIX", "ME"), concat!("XX", "X")];

/// Marks of unfinished work in code: it would panic, or it is a test that never runs.
const LEFTOVER_CODE: &[&str] = &["todo!", "unimplemented!", "#[ignore]", "#[ignore ", "#[ignore="];

/// The only homes of unsafe code: files (`.rs` follows) or folders (`/` follows).
const UNSAFE_PLACES: &[&str] = &[
    // Tests that take the place of the clock, or ask for a thread's.
    "crates/hotloop/tests/simulated",
    "crates/hotloop/tests/it/on_cpu",
    "benches",
    "crates/engine/src/mapping",
    "crates/hotloop-capi",
    "crates/hotloop/src/alloc",
    "crates/hotloop/src/clock",
    "crates/hotloop/src/environment",
    "crates/hotloop/src/tree",
    "crates/kernels",
];

/// Something a rule has to say about a file.
struct Finding {
    fatal: bool,
    /// Path, and line where there is one.
    place: String,
    message: String,
}

/// Looks at every file of the project and prints what it finds.
pub fn check(root: &Path) -> Outcome {
    let files = match files::list(root) {
        Ok(files) => files,
        Err(error) => return Outcome::Failed(format!("cannot read the files: {error}")),
    };
    let mut findings: Vec<Finding> = files.iter().flat_map(check_file).collect();
    let stale = type_names::stale(&files).into_iter();
    findings.extend(stale.map(|message| Finding {
        fatal: true,
        place: "xtask/src/tidy/type_names.rs".to_owned(),
        message,
    }));
    for finding in &findings {
        let kind = if finding.fatal { "error" } else { "warning" };
        println!("{kind}: {}: {}", finding.place, finding.message);
    }
    match findings.iter().filter(|finding| finding.fatal).count() {
        0 => {
            println!("{} files are tidy", files.len());
            Outcome::Passed
        }
        count => Outcome::Failed(format!("{count} untidy places, listed above")),
    }
}

fn check_file(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(size(file));
    findings.extend(empty_name(file));
    let Some(text) = &file.text else {
        return findings;
    };
    findings.extend(length(file, text));
    findings.extend(documents::check(file, text).map(|message| Finding {
        fatal: true,
        place: file.path.clone(),
        message,
    }));
    for (number, line) in (1..).zip(text.lines()) {
        let messages = [machine_path(line), leftover_word(line)];
        findings.extend(at_line(file, number, messages));
    }
    let code = if file.path.ends_with(".rs") { code_only(text) } else { String::new() };
    for (number, line) in (1..).zip(code.lines()) {
        let messages = [leftover_code(line), empty_module_name(line), misplaced_unsafe(&file.path, line)];
        findings.extend(at_line(file, number, messages));
    }
    let of_lines = [phrases::check(file, text, &code), width::check(file, text), type_names::check(file, &code)];
    for (number, message) in of_lines.into_iter().flatten() {
        findings.extend(at_line(file, number, [Some(message)]));
    }
    findings
}

fn at_line<const N: usize>(file: &File, number: usize, messages: [Option<String>; N]) -> impl Iterator<Item = Finding> {
    messages.into_iter().flatten().map(move |message| Finding {
        fatal: true,
        place: format!("{}:{number}", file.path),
        message,
    })
}

fn size(file: &File) -> Option<Finding> {
    (file.size > BYTES_ALLOWED).then(|| Finding {
        fatal: true,
        place: file.path.clone(),
        message: format!("{} bytes, {BYTES_ALLOWED} are allowed", file.size),
    })
}

fn length(file: &File, text: &str) -> Option<Finding> {
    let is_source = SOURCE_ENDINGS.iter().any(|ending| file.path.ends_with(ending));
    let lines = text.lines().count();
    (is_source && lines > LINES_WARNED).then(|| Finding {
        fatal: lines > LINES_ALLOWED,
        place: file.path.clone(),
        message: format!("{lines} lines; {LINES_WARNED} read well, {LINES_ALLOWED} are allowed"),
    })
}

fn empty_name(file: &File) -> Option<Finding> {
    let is_empty = |part: &str| {
        let stem = part.split('.').next().unwrap_or(part);
        EMPTY_NAMES.contains(&stem.to_lowercase().as_str())
    };
    let part = file.path.split('/').find(|part| is_empty(part))?;
    Some(Finding { fatal: true, place: file.path.clone(), message: format!("`{part}` does not say what is inside") })
}

fn empty_module_name(line: &str) -> Option<String> {
    let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.find(|word| *word == "mod")?;
    let name = words.next()?;
    EMPTY_NAMES.contains(&name).then(|| format!("module `{name}` does not say what is inside"))
}

fn machine_path(line: &str) -> Option<String> {
    let root = MACHINE_ROOTS.iter().find(|root| begins_a_path(line, root))?;
    Some(format!("`{root}` is a path of one machine"))
}

/// Inside a longer path or an address the same letters are harmless.
fn begins_a_path(line: &str, root: &str) -> bool {
    line.match_indices(root).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "._-~$*})]>".contains(c))
    })
}

fn leftover_word(line: &str) -> Option<String> {
    let word = LEFTOVER_WORDS.iter().find(|word| has_word(line, word))?;
    Some(format!("`{word}` marks unfinished work: finish it"))
}

fn leftover_code(line: &str) -> Option<String> {
    let code = LEFTOVER_CODE.iter().find(|code| line.contains(**code))?;
    Some(format!("`{}` marks unfinished work: finish it", code.trim_end()))
}

fn misplaced_unsafe(path: &str, line: &str) -> Option<String> {
    (has_word(line, "unsafe") && !may_be_unsafe(path))
        .then(|| "unsafe code outside of its places (UNSAFE_PLACES in xtask/src/tidy.rs)".to_owned())
}

fn may_be_unsafe(path: &str) -> bool {
    UNSAFE_PLACES
        .iter()
        .any(|place| path.strip_prefix(place).is_some_and(|rest| rest.starts_with('/') || rest == ".rs"))
}

#[cfg(test)]
mod tests;
