//! Sides that are commands.

use std::ffi::OsString;

use lab::command::split;
use lab::duel::{Contestant, Program, ProgramSettings, Revision};

use super::super::CommandError;
use crate::args;

/// The place of the side in a command that all sides share.
const PLACE: &str = "{}";

/// A command, or a program that is put into the shared command.
pub fn contestant(side: &str, options: &args::Duel) -> Result<Box<dyn Contestant>, CommandError> {
    let own = split(side).map_err(|error| {
        CommandError::new(
            format!("`{side}`: {error}"),
            "quote arguments with spaces; for pipes and redirections use `sh -c '...'`",
        )
    })?;
    program(side, placed(&own, &options.command)?, None, options)
}

/// A program with its arguments, and the revision that it was built from.
pub fn program(
    label: &str,
    words: Vec<String>,
    revision: Option<Revision>,
    options: &args::Duel,
) -> Result<Box<dyn Contestant>, CommandError> {
    let (git, build) = revision.map(|revision| (revision.git, revision.build)).unzip();
    let settings = ProgramSettings {
        label: label.to_owned(),
        words: words.into_iter().map(OsString::from).collect(),
        check_output: options.judged.check_output,
        exact: options.judged.exact,
        git,
        build,
    };
    let program = Program::new(settings).map_err(|error| {
        CommandError::new(
            format!("`{label}`: {error}"),
            "check the name: a program in this folder is `./NAME`, a revision `rev:NAME`",
        )
    })?;
    Ok(Box::new(program))
}

/// The shared command with the words of a side in their place.
pub fn placed(own: &[String], command: &[String]) -> Result<Vec<String>, CommandError> {
    if command.is_empty() {
        return Ok(own.to_vec());
    }
    if !command.iter().any(|word| word.contains(PLACE)) {
        return Err(CommandError::new(
            "the command after `--` has no {} for the sides",
            "put {} where each side goes: `hotloop duel ./old ./new -- {} --steps 100`",
        ));
    }
    let whole = own.join(" ");
    Ok(command
        .iter()
        .flat_map(|word| if word == PLACE { own.to_vec() } else { vec![word.replace(PLACE, &whole)] })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_go_where_their_place_is() {
        let words = |line: &str| line.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect::<Vec<_>>();
        let placed = |own, command| placed(&words(own), &words(command)).map(|placed| placed.join(" "));
        assert_eq!(placed("./a -x", "").unwrap(), "./a -x");
        assert_eq!(placed("./a -x", "nice {} --steps 3").unwrap(), "nice ./a -x --steps 3");
        assert_eq!(placed("8", "./a --threads={}").unwrap(), "./a --threads=8");
        assert!(placed("./a", "./b").unwrap_err().message.contains("has no {}"));
    }
}
