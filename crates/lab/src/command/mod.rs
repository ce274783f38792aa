//! Measures any program from outside: the system's counters, and its profile if it uses the library.
//!
//! ```no_run
//! let command = lab::command::Command::new(["make".into(), "test".into()]).expect("a name is there");
//! let ended = command.run(&lab::command::ProfilerOptions::default(), |_process| {}).expect("it can be started");
//! println!("{} s", ended.usage.wall_s);
//! ```

mod executable;
#[cfg_attr(
    not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))),
    path = "launcher/none.rs"
)]
mod launcher;
mod measure;
mod repeat;
mod scratch;
mod snapshots;
mod start;
mod usage;
mod words;

use std::ffi::OsString;
use std::fs::File;
use std::path::PathBuf;
use std::process;

use record::{ProcessUse, Profile};

pub use executable::{StartError, StartErrorKind};
pub use measure::{CommandObserver, CommandSettings, measure};
pub use repeat::{CommandMeasurement, RepeatCounts};
pub use usage::{SchedulerTimes, terminate};
pub use words::split;

pub(crate) use scratch::Scratch;
pub(crate) use usage::NO_PEAK;

use snapshots::Snapshots;
use start::ProgramStart;

/// A command line.
#[derive(Debug, Clone)]
pub struct Command {
    program: OsString,
    arguments: Vec<OsString>,
}

/// Options for the profiler in the program.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ProfilerOptions {
    /// Calls that each thread's timeline keeps; `None`: no timeline.
    pub timeline: Option<usize>,
    /// The profiler's time budget in percent of the run, 0 to time every call; `None`: the library's default.
    pub budget_percent: Option<f64>,
}

/// Files for a program's output.
pub(crate) struct OutputFiles {
    pub(crate) output: File,
    pub(crate) stderr: File,
}

/// A command that has ended.
#[derive(Debug, Clone, Default)]
pub struct CompletedCommand {
    /// Its resource use and exit status.
    pub usage: ProcessUse,
    /// Its profile, if it wrote one.
    pub profile: Option<Profile>,
    /// The scheduler's times of its main thread, if they could be read.
    pub scheduled: Option<SchedulerTimes>,
    /// Remarks that help to understand the figures.
    pub notes: Vec<String>,
}

/// How a program is run for a duel.
#[derive(Debug, Clone, Default)]
pub(crate) struct IsolatedRun {
    /// Whether to request a profile.
    pub(crate) profiled: bool,
    /// Another file that is executed instead of its own, under the name of the program.
    pub(crate) file: Option<PathBuf>,
    /// An additional environment variable.
    pub(crate) variable: Option<(&'static str, String)>,
}

impl Command {
    /// The program's name or path, then its arguments; `None` where there is no name.
    pub fn new(words: impl IntoIterator<Item = OsString>) -> Option<Self> {
        let mut words = words.into_iter();
        Some(Command { program: words.next()?, arguments: words.collect() })
    }

    /// The words, for people: what is not Unicode is replaced.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let words = std::iter::once(&self.program).chain(&self.arguments);
        words.map(|word| word.to_string_lossy().into_owned()).collect()
    }

    /// The name of the program's file.
    #[must_use]
    pub fn name(&self) -> String {
        let name = std::path::Path::new(&self.program).file_name().unwrap_or(&self.program);
        name.to_string_lossy().into_owned()
    }

    /// The program's file, if it is there.
    #[must_use]
    pub fn file(&self) -> Option<PathBuf> {
        executable::file(&self.program)
    }

    /// Runs it, with the streams and the environment of this process, and waits until it has ended. `started` hears its id.
    ///
    /// Figures are those of the process and of all that it waited for. The program is never ended from here: who interrupts
    /// it from a terminal interrupts this process too, which has to see to it that it survives.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn run(&self, asked: &ProfilerOptions, started: impl FnOnce(u32)) -> Result<CompletedCommand, StartError> {
        self.execute(Some(asked), |_| {}, started)
    }

    /// The same with its output and complaints in these files.
    fn run_hidden(
        &self,
        streams: OutputFiles,
        asked: &ProfilerOptions,
        started: impl FnOnce(u32),
    ) -> Result<CompletedCommand, StartError> {
        let OutputFiles { output, stderr } = streams;
        let redirect = |command: &mut process::Command| {
            command.stdout(output).stderr(stderr);
        };
        self.execute(Some(asked), redirect, started)
    }

    /// Runs it with no input, its output and complaints in these files, and as if no profiler were there unless it is asked for.
    ///
    /// # Errors
    /// It cannot be started.
    pub(crate) fn run_apart(&self, streams: OutputFiles, apart: &IsolatedRun) -> Result<CompletedCommand, StartError> {
        let OutputFiles { output, stderr } = streams;
        let redirect = |command: &mut process::Command| {
            command.stdin(process::Stdio::null()).stdout(output).stderr(stderr);
            if let Some((name, value)) = &apart.variable {
                command.env(name, value);
            }
        };
        let start = ProgramStart::new(&self.program, &self.arguments, apart.file.as_deref());
        self.execute_from(start, apart.profiled.then(ProfilerOptions::default).as_ref(), redirect, |_| {})
    }

    fn execute(
        &self,
        asked: Option<&ProfilerOptions>,
        prepare: impl FnOnce(&mut process::Command),
        started: impl FnOnce(u32),
    ) -> Result<CompletedCommand, StartError> {
        self.execute_from(ProgramStart::new(&self.program, &self.arguments, None), asked, prepare, started)
    }

    fn execute_from(
        &self,
        mut start: ProgramStart,
        asked: Option<&ProfilerOptions>,
        prepare: impl FnOnce(&mut process::Command),
        started: impl FnOnce(u32),
    ) -> Result<CompletedCommand, StartError> {
        let command = start.command();
        prepare(command);
        // Never the folder of who measures this process.
        command.env_remove("HOTLOOP_SNAPSHOT_DIR");
        let Some(asked) = asked else {
            let usage::ProcessMeasurement { usage, scheduled, notes, .. } =
                usage::measure(start, started).map_err(|error| StartError::new(&self.program, error))?;
            return Ok(CompletedCommand { usage, profile: None, scheduled, notes });
        };
        let folder = Snapshots::new();
        if let Ok(folder) = &folder {
            command.env("HOTLOOP_SNAPSHOT_DIR", folder.path());
        }
        if let Some(events) = asked.timeline {
            command.env("HOTLOOP_TIMELINE", events.to_string());
        }
        if let Some(percent) = asked.budget_percent {
            command.env("HOTLOOP_BUDGET", percent.to_string());
        }
        let usage::ProcessMeasurement { process, usage, scheduled, mut notes } =
            usage::measure(start, started).map_err(|error| StartError::new(&self.program, error))?;
        let profile = match folder {
            Ok(folder) => folder.collect(process, &usage, &mut notes),
            Err(error) => {
                notes.push(format!("no profile: cannot create a folder for it: {error}"));
                None
            }
        };
        Ok(CompletedCommand { usage, profile, scheduled, notes })
    }
}
