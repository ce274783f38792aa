//! Types and modules have names that can be searched for.

use std::collections::BTreeSet;

use crate::files::File;
use crate::source::code_only;

/// Names of types that say nothing about what the type holds.
const TYPES: &[&str] = &[
    "Board", "Course", "Data", "Found", "Info", "Kept", "Known", "Made", "Manager", "Measured", "Outcome", "Part",
    "Parts", "Piece", "Settings", "Shelf", "Shown", "Stuff", "Thing", "Told", "Watch", "Way", "Written",
];

/// Names of modules that say nothing about what the module holds.
const MODULES: &[&str] = &["kept", "made", "parts", "shown", "things", "told"];

/// Types that still have such a name: the file and the name. Nothing is added here; what is renamed goes.
const OLD: &[(&str, &str)] = &[
    ("crates/cli/benches/duels/outcome.rs", "Outcome"),
    ("crates/cli/benches/duels/table.rs", "Measured"),
    ("crates/cli/src/commands/load.rs", "Found"),
    ("crates/cli/src/subject/settings.rs", "Settings"),
    ("crates/compare/tests/it/models.rs", "Made"),
    ("crates/engine/benches/engines/launch.rs", "Watch"),
    ("crates/engine/benches/engines/rounds.rs", "Course"),
    ("crates/engine/benches/profiled.rs", "Way"),
    ("crates/engine/src/tokenizer/words.rs", "Known"),
    ("crates/engine/tests/it/safetensors/mod.rs", "Part"),
    ("crates/hotloop/src/tree/estimate.rs", "Parts"),
    ("crates/hotloop/src/tree/interruptions.rs", "Kept"),
    ("crates/hotloop/tests/simulated.rs", "Measured"),
    ("crates/kernels/src/limits/mod.rs", "Measured"),
    ("crates/kernels/tests/it/attention/mod.rs", "Way"),
    ("crates/kernels/tests/it/int8.rs", "Parts"),
    ("crates/report/examples/large_run.rs", "Written"),
    ("crates/report/src/run/rows.rs", "Measured"),
    ("crates/report/src/run/variants.rs", "Written"),
    ("crates/training/src/config/settings.rs", "Settings"),
    ("crates/training/src/data/text.rs", "Piece"),
    ("crates/training/src/written.rs", "Written"),
    ("xtask/src/default_model/corpus.rs", "Written"),
    ("xtask/src/default_model/stories/words.rs", "Thing"),
    ("xtask/src/recommendations/found.rs", "Found"),
    ("xtask/src/steps.rs", "Outcome"),
];

/// Types and modules of a file whose names are too general, with their lines.
pub fn check(file: &File, code: &str) -> Vec<(usize, String)> {
    if !file.path.ends_with(".rs") {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (number, line) in (1..).zip(code.lines()) {
        if let Some(name) =
            declared_type(line).filter(|name| TYPES.contains(name) && !OLD.contains(&(&file.path, name)))
        {
            found.push((number, format!("type `{name}`: name what it holds, by a word that can be searched for")));
        }
    }
    if let Some(name) = module(&file.path).filter(|name| MODULES.contains(name)) {
        found.push((1, format!("module `{name}`: name what it holds, by a noun")));
    }
    found
}

/// Entries of the list of old names that are no longer needed.
pub fn stale(files: &[File]) -> Vec<String> {
    let mut left: BTreeSet<&(&str, &str)> = OLD.iter().collect();
    for file in files {
        if !left.iter().any(|(path, _)| *path == file.path) {
            continue;
        }
        let code = file.text.as_deref().map(code_only).unwrap_or_default();
        let names: Vec<&str> = code.lines().filter_map(declared_type).collect();
        left.retain(|(path, name)| *path != file.path || !names.contains(name));
    }
    left.iter().map(|(path, name)| format!("{path} has no type `{name}` any more: remove it from OLD")).collect()
}

/// The type that a line declares.
fn declared_type(line: &str) -> Option<&str> {
    let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    let is_declaration = |word: &&str| matches!(*word, "struct" | "enum" | "trait" | "type" | "union");
    let may_precede = |word: &&str| matches!(*word, "pub" | "crate" | "super" | "self" | "in" | "unsafe");
    let first = words.find(|word| !may_precede(word))?;
    is_declaration(&first).then(|| words.next())?
}

/// The last part of a module's path: the file's name, or its folder's for `mod.rs`.
fn module(path: &str) -> Option<&str> {
    let stem = path.strip_suffix("/mod.rs").or_else(|| path.strip_suffix(".rs"))?;
    stem.rsplit('/').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn lines(path: &str, text: &str) -> Vec<usize> {
        let file = File { path: path.to_owned(), size: 0, text: None };
        check(&file, &code_only(text)).into_iter().map(|(line, _)| line).collect()
    }

    #[test]
    fn types_that_say_nothing_are_refused() {
        for name in TYPES {
            for line in
                ["struct X;", "pub struct X<'a> {", "    pub(crate) enum X {", "pub trait X: Copy {", "type X = u8;"]
            {
                let text = format!("//! Doc.\n{}\n", line.replace('X', name));
                assert_eq!(lines("a.rs", &text), [2], "{text}");
            }
            let uses = format!(
                "let x = {name}::new();\nuse a::{name};\nimpl {name} {{}}\nstruct Call{name};\n// struct {name}\n"
            );
            assert_eq!(lines("a.rs", &uses), [0; 0], "{uses}");
        }
    }

    #[test]
    fn modules_that_say_nothing_are_refused() {
        for name in MODULES {
            assert_eq!(lines(&format!("src/{name}.rs"), "x"), [1]);
            assert_eq!(lines(&format!("src/{name}/mod.rs"), "x"), [1]);
            assert_eq!(lines(&format!("src/{name}/sizes.rs"), "x"), [0; 0]);
        }
    }
}
