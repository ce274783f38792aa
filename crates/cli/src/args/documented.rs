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

/// The examples behind the help of a command and its subcommands.
fn examples(command: &clap::Command, found: &mut Vec<DocumentedCommand>) {
    let place = format!("{} --help", command.get_name());
    let help = command.get_after_long_help().or_else(|| command.get_after_help()).map(ToString::to_string);
    for line in help.unwrap_or_default().lines().filter(|line| line.starts_with("  ")) {
        // What an example does stands beside it, two columns away.
        let example = line.trim_start();
        let example = example.split_once("  ").map_or(example, |(example, _)| example);
        found.extend(commands_of_line(&place, example));
    }
    command.get_subcommands().for_each(|subcommand| examples(subcommand, found));
}

/// Why a command is refused.
fn fault(command: &DocumentedCommand) -> Option<String> {
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
fn every_example_of_the_help_parses() {
    let mut found = Vec::new();
    examples(&super::definition(), &mut found);
    assert!(found.len() >= 30, "only {} examples were found", found.len());
    let faults: Vec<String> = found.iter().filter_map(fault).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_command_that_does_not_exist_is_noticed() {
    let command = |line: &str| commands_of_line("here", line).remove(0);
    assert_eq!(fault(&command("hotloop report @latest")), None);
    assert!(fault(&command("hotloop report --no-such-option")).is_some_and(|fault| fault.starts_with("here: report ")));
}
