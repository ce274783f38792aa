//! Measures a command as a run: the machine, the repeats and their results.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use record::{Build, Environment, Limits, RUN_SCHEMA, RUN_VERSION, Run, Subject, Tool, Workload, WorkloadKind};

use super::{Command, ProfilerOptions, RepeatCounts, StartError};
use crate::blake3_of;
use crate::doctor::{self, ExamineOptions, ExamineStep, now};
use crate::machine::{self, KernelChoice, NoiseWatch, System};

/// What to measure and how.
#[derive(Debug, Clone)]
pub struct CommandSettings {
    /// The command.
    pub command: Command,
    /// Options for the profiler in the program.
    pub asked: ProfilerOptions,
    /// How often to repeat it.
    pub repeats: RepeatCounts,
    /// Whether to measure the limits of the machine too, in under three seconds.
    pub limits: bool,
    /// The kernels that the limits are measured with.
    pub chosen: KernelChoice,
    /// The program that measures.
    pub tool: Tool,
}

/// Follows the runs of a command and can stop them.
pub trait CommandObserver {
    /// A process of the command was started.
    fn started(&mut self, process: u32);
    /// It has ended.
    fn ended(&mut self);
    /// Whether to stop.
    fn is_stopped(&self) -> bool;
    /// The next step of measuring the machine's limits.
    fn tell(&mut self, step: ExamineStep<'_>);
    /// This many of all runs are finished, including warm-ups, and the next one starts.
    fn run(&mut self, _done: u64, _of: u64) {}
    /// The last output of a failed run whose output was hidden: standard output and standard error.
    fn printed(&mut self, _output: &[u8], _complaints: &[u8]) {}
}

/// Runs a command repeatedly and returns its run.
///
/// # Errors
/// It cannot be started.
pub fn measure(settings: &CommandSettings, watch: &mut dyn CommandObserver) -> Result<Run, StartError> {
    let CommandSettings { command, asked, repeats, .. } = settings;
    let created = now();
    let noise = NoiseWatch::start(&System);
    let program = Program::of(command);
    let measured = command.repeat(*repeats, asked, watch)?;
    let machine = machine::machine(&System, settings.chosen);
    let noise = noise.finish(&System, machine.cpus, Duration::from_millis(20));
    let mut notes = measured.notes;
    let build = program.and_then(|program| program.build(&mut notes));
    // After the command, so that it finds the caches and the clock of the CPU as they were.
    let limits =
        if settings.limits && !watch.is_stopped() { measure_limits(settings.chosen, watch, &mut notes) } else { None };
    Ok(Run {
        schema: RUN_SCHEMA.to_owned(),
        version: RUN_VERSION,
        tool: settings.tool.clone(),
        created,
        subject: Subject { name: command.name(), command: command.words(), build, ..Subject::default() },
        workload: describe(settings),
        environment: Environment { machine, limits, noise: Some(noise), variables: crate::run::variables() },
        metrics: measured.metrics,
        rows: measured.rows,
        samples: measured.samples,
        profile: measured.profile,
        process: Some(measured.process),
        interrupted: measured.interrupted,
        failures: measured.failures,
        notes,
        ..Run::default()
    })
}

/// The file of a program, as it was before the program ran.
struct Program {
    file: PathBuf,
    changed: Option<SystemTime>,
    bytes: u64,
}

impl Program {
    fn of(command: &Command) -> Option<Self> {
        let file = command.file()?;
        let about = file.metadata().ok()?;
        Some(Self { changed: about.modified().ok(), bytes: about.len(), file })
    }

    /// What its file tells of how it was built. Read behind the runs, because a file that was read before them would start
    /// faster the first time; where it is another one by then, nothing is known.
    fn build(self, notes: &mut Vec<String>) -> Option<Build> {
        let binary_blake3 = blake3_of(&self.file);
        let about = self.file.metadata().ok();
        if about.is_none_or(|now| (now.modified().ok(), now.len()) != (self.changed, self.bytes)) {
            notes.push("the program's file changed while it was measured, so the build that ran is unknown".to_owned());
            return None;
        }
        Some(Build { binary_blake3: Some(binary_blake3?), ..Build::default() })
    }
}

fn measure_limits(chosen: KernelChoice, watch: &mut dyn CommandObserver, notes: &mut Vec<String>) -> Option<Limits> {
    match doctor::examine(ExamineOptions { quick: true, threads: None }, chosen, |step| watch.tell(step)) {
        Ok(doctor) => Some(doctor.limits),
        Err(error) => {
            notes.push(format!("machine limits not measured: {error}"));
            None
        }
    }
}

/// The workload: the program is the subject, its arguments decide the work.
fn describe(settings: &CommandSettings) -> Workload {
    let mut parameters = BTreeMap::new();
    let arguments = settings.command.words()[1..].join(" ");
    if !arguments.is_empty() {
        parameters.insert("arguments".to_owned(), arguments);
    }
    if let Some(events) = settings.asked.timeline {
        parameters.insert("timeline".to_owned(), events.to_string());
    }
    if let Some(percent) = settings.asked.budget_percent {
        parameters.insert("budget_percent".to_owned(), percent.to_string());
    }
    Workload {
        name: "command".to_owned(),
        kind: Some(WorkloadKind::Command),
        parameters,
        repeat: Some(settings.repeats.timed),
        warmup: Some(settings.repeats.warmup),
        ..Workload::default()
    }
}
