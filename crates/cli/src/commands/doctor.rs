//! `hotloop doctor`: examines the machine.

use lab::machine::KernelChoice;

use super::{Refusal, progress};
use crate::args;

/// The examination as text or JSON.
pub fn run(options: &args::Doctor) -> Result<String, Refusal> {
    let hint = "leave the variable out to use the best that this CPU has";
    let chosen = KernelChoice::from_environment().map_err(|error| Refusal { error, hint })?;
    let threads = options.threads.and_then(|threads| u32::try_from(threads).ok());
    let progress = progress("{pos:>2} of {len}", "");
    let doctor = lab::examine(lab::ExamineOptions { quick: options.quick, threads }, chosen, |step| {
        progress.set_length(u64::from(step.of));
        progress.set_position(u64::from(step.done));
        progress.set_message(step.what.to_owned());
    });
    progress.finish_and_clear();
    let hint = "leave --threads out to use as many as make sense here";
    let doctor = doctor.map_err(|error| Refusal { error, hint })?;
    Ok(if options.json { doctor.to_json() } else { report::doctor_text(&doctor) })
}
