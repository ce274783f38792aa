//! `hotloop doctor`: examines the machine.

use lab::machine::KernelChoice;

use super::{CommandError, CommandOutput, documents, progress};
use crate::args;

/// Examines the machine.
pub fn run(options: &args::Doctor) -> Result<CommandOutput, CommandError> {
    let chosen = KernelChoice::from_environment().map_err(CommandError::instruction_set)?;
    let threads = options.threads.and_then(|threads| u32::try_from(threads).ok());
    let progress = progress("{pos:>2} of {len}", "");
    let doctor = lab::examine(lab::ExamineOptions { quick: options.quick, threads }, chosen, |step| {
        progress.set_length(u64::from(step.of));
        progress.set_position(u64::from(step.done));
        progress.set_message(step.what.to_owned());
    });
    progress.finish_and_clear();
    let hint = "leave --threads out to use as many threads as the machine can";
    let doctor = doctor.map_err(|error| CommandError::new(error, hint))?;
    Ok(CommandOutput::text(if options.json {
        doctor.to_json()
    } else {
        documents::on_stdout(&report::doctor(&doctor))
    }))
}
