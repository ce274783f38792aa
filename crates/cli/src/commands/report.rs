//! `hotloop report`: shows a saved run.

use super::{CommandError, CommandOutput, load, run_report};
use crate::args::Report;

/// The run as text, or as it was saved.
pub fn run(options: &Report) -> Result<CommandOutput, CommandError> {
    let found = load::run(&options.store.open()?, &options.run)?;
    if options.json {
        return Ok(CommandOutput::text(found.text));
    }
    Ok(CommandOutput::paged(run_report::full(&found.run, &options.shown, found.id.as_ref())))
}
