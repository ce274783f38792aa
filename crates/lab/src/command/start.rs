//! Starts a program: through the launcher if the system supports it, else directly.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process;

use super::executable;
use super::launcher::Launch;

/// A program that is about to be started, with all its arguments.
pub(super) enum ProgramStart {
    /// What the system counts for it is its own.
    Launched(Launch),
    /// Its peak memory is at least that of this process; and why it is not launched.
    Directly(process::Command, String),
}

impl ProgramStart {
    /// Of a program, or of another file that is called by the program's name.
    pub(super) fn new(program: &OsStr, arguments: &[OsString], instead: Option<&Path>) -> Self {
        // What is not found is left to the system, which says why or looks in places of its own.
        let found = instead.map(Path::to_owned).or_else(|| executable::file(program));
        let file = found.ok_or_else(|| "its file is not in PATH".to_owned());
        match file.and_then(|file| Launch::new(&file, program, arguments)) {
            Ok(launch) => ProgramStart::Launched(launch),
            Err(why) => ProgramStart::directly((program, instead), arguments, why),
        }
    }

    fn directly((program, instead): (&OsStr, Option<&Path>), arguments: &[OsString], why: String) -> Self {
        let mut command = process::Command::new(instead.map_or(program, Path::as_os_str));
        #[cfg(unix)]
        std::os::unix::process::CommandExt::arg0(&mut command, program);
        command.args(arguments);
        ProgramStart::Directly(command, why)
    }

    /// For streams and environment.
    pub(super) fn command(&mut self) -> &mut process::Command {
        match self {
            ProgramStart::Launched(launch) => launch.command(),
            ProgramStart::Directly(command, _) => command,
        }
    }
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use super::super::usage::{ProcessMeasurement, measure};
    use super::*;

    #[test]
    fn started_directly_a_small_program_has_no_peak_and_it_is_said_why() {
        // More than `true` has, whatever other tests hold.
        let held = std::hint::black_box(vec![1_u8; 8 << 20]);
        let start = ProgramStart::directly((OsStr::new("true"), None), &[], "it is a test".to_owned());
        let ProcessMeasurement { usage, notes, .. } = measure(start, |_| {}).expect("it runs");
        drop(held);
        assert_eq!((usage.peak_rss_bytes, usage.exit_code), (None, Some(0)));
        assert!(notes.iter().any(|note| note.contains("peak memory: not measured") && note.contains("it is a test")));
    }
}
