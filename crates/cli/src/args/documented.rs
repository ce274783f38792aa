//! Every command that the README, the documents and the help show is one that can be typed.

use std::path::{Path, PathBuf};

use testing::{DocumentedCommand, commands_of_line, documented_commands};

/// The documents that show commands.
fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut paths = vec![root.join("README.md"), root.join("CONTRIBUTING.md"), root.join("crates/cli/README.md")];
    let docs = std::fs::read_dir(root.join("docs")).expect("there are documents");
    paths.extend(docs.map(|entry| entry.expect("it can be read").path()));
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
    paths.sort();
    paths
}

/// Why a command is refused; those that ask for help or the version print that and do nothing else.
fn fault(command: &DocumentedCommand) -> Option<String> {
    if command.words.iter().any(|word| ["--help", "-h", "--version", "-V"].contains(&word.as_str())) {
        return None;
    }
    super::parse(&command.words).err().map(|error| format!("{}: {}: {error}", command.place, command.words.join(" ")))
}

#[test]
fn every_command_in_the_documents_parses() {
    let read = |path: &PathBuf| std::fs::read_to_string(path).expect("a document can be read");
    let found: Vec<DocumentedCommand> =
        documents().iter().flat_map(|path| documented_commands(&path.to_string_lossy(), &read(path))).collect();
    assert!(found.len() >= 40, "only {} commands were found", found.len());
    let faults: Vec<String> = found.iter().filter_map(fault).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_command_that_does_not_exist_is_noticed() {
    let command = |line: &str| commands_of_line("here", line).remove(0);
    assert_eq!(fault(&command("hotloop report @latest")), None);
    assert!(fault(&command("hotloop report --no-such-option")).is_some_and(|fault| fault.starts_with("here: report ")));
}
