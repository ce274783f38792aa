//! `hotloop completions` and `hotloop man`: what shells and `man` are told about the command line.

use super::Refusal;
use crate::args::{Completions, Man, definition};

/// The script for a shell.
pub fn completions(options: &Completions) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut definition(), "hotloop", &mut script);
    script
}

/// The page, as roff.
pub fn man(options: &Man) -> Result<Vec<u8>, Refusal> {
    let whole = definition();
    let command = match &options.command {
        None => whole,
        Some(name) => {
            let found = whole.find_subcommand(name).ok_or_else(|| Refusal {
                error: format!("there is no command `{name}`"),
                hint: "`hotloop --help` lists them",
            })?;
            found.clone().name(format!("hotloop-{name}"))
        }
    };
    let mut page = Vec::new();
    let written = clap_mangen::Man::new(command).render(&mut page);
    let hint = "report this: the definition of the command line is at fault";
    written.map_err(|error| Refusal { error: format!("the page cannot be made: {error}"), hint })?;
    Ok(page)
}
