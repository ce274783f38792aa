//! `hotloop completions` and `hotloop man`: the command line for shells and for `man`.

use super::{CommandError, CommandOutput};
use crate::args::{Completions, Man, definition};
use crate::suggest::did_you_mean;

/// The completion script of a shell.
pub fn completions(options: &Completions) -> CommandOutput {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut definition(), "hotloop", &mut script);
    CommandOutput::text(script)
}

/// The manual page, as roff.
pub fn man(options: &Man) -> Result<CommandOutput, CommandError> {
    let mut whole = definition();
    whole.build();
    let command = match &options.command {
        None => whole,
        Some(name) => {
            let found = whole.find_subcommand(name).ok_or_else(|| unknown(name, &whole))?;
            found.clone().name(format!("hotloop-{name}"))
        }
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut page)
        .map_err(|error| CommandError::without_hint(format!("cannot make the manual page: {error}")))?;
    Ok(CommandOutput::text(page))
}

fn unknown(name: &str, whole: &clap::Command) -> CommandError {
    let known = whole.get_subcommands().filter(|command| !command.is_hide_set()).map(clap::Command::get_name);
    let meant = did_you_mean(name, known);
    CommandError::new(format!("there is no command `{name}`{meant}"), "`hotloop --help` lists the commands")
}
