//! Measures a workload as a run: machine, work and results in one record.

use std::collections::BTreeMap;

use record::{Limits, Run, Subject, Tool};

use crate::Models;
use crate::doctor::{self, ExamineOptions};
use crate::environment::EnvironmentRecorder;
use crate::limits;
use crate::machine::{self, KernelChoice, System};
use crate::metrics;
use crate::recorder::{RepeatSettings, RunObserver, RunRecorder};
use crate::workload::{self, Arithmetic, Task, WorkloadResult};

/// The share of the progress bar for measuring the limits.
pub(crate) const LIMITS: f64 = 0.25;
/// How often the limits are measured if they look disturbed.
const TRIES: u32 = 3;
/// Environment variables that affect the measurement.
const VARIABLES: [&str; 2] = ["HOTLOOP_ISA", "HOTLOOP_CLOCK"];

/// What to measure and how.
#[derive(Debug, Clone)]
pub struct RunSettings {
    /// The workload.
    pub task: Task,
    /// How often to repeat it.
    pub effort: RepeatSettings,
    /// Whether to measure the limits of the machine first, in under three seconds.
    pub limits: bool,
    /// The kernels.
    pub chosen: KernelChoice,
    /// The program that measures.
    pub tool: Tool,
    /// What is measured.
    pub subject: Subject,
    /// Other settings of the work, by name.
    pub parameters: BTreeMap<String, String>,
}

/// Reports the progress of one part as a part of the whole.
pub(crate) struct PartialProgress<'a> {
    pub(crate) watch: &'a mut dyn RunObserver,
    pub(crate) from: f64,
}

impl RunObserver for PartialProgress<'_> {
    fn tell(&mut self, share: f64, what: &str) {
        self.watch.tell(self.from + (1.0 - self.from) * share, what);
    }

    fn is_stopped(&self) -> bool {
        self.watch.is_stopped()
    }
}

/// Measures a workload and returns its run. A stopped run has what was measured until then.
///
/// # Errors
/// Why it could not be measured.
pub fn run(
    settings: RunSettings,
    models: &dyn Models,
    with: Arithmetic<'_>,
    watch: &mut dyn RunObserver,
) -> Result<Run, String> {
    let environment = EnvironmentRecorder::begin(settings.chosen, settings.limits.then(|| models.threads()), watch)?;
    let from = if environment.has_limits() { LIMITS } else { 0.0 };
    let mut part = PartialProgress { watch, from };
    let mut recorder = RunRecorder::new(settings.effort, &mut part);
    let outcome = workload::run(&settings.task, models, with, &mut recorder)?;
    if recorder.interrupted && !recorder.has_measured() {
        return Err("stopped before anything was measured; nothing was saved".to_owned());
    }
    let run = environment.end();
    let RunRecorder { rows, samples, interrupted, .. } = recorder;
    let RunSettings { task, effort, tool, subject, parameters, .. } = settings;
    let workload = describe(&task, effort, parameters, (&outcome, models.threads()));
    let notes = outcome.correctness.as_ref().filter(|correctness| correctness.repeats_agree == Some(false));
    let failures = notes.map(|_| "repeats of the same inference generated different tokens".to_owned());
    Ok(Run {
        tool,
        subject,
        models: outcome.models,
        workload,
        metrics: metrics::metrics().collect(),
        rows,
        samples,
        profile: outcome.profile,
        memory: outcome.memory,
        correctness: outcome.correctness,
        interrupted,
        failures: failures.into_iter().collect(),
        notes: outcome.notes,
        ..run
    })
}

/// The variables that are set.
pub(crate) fn variables() -> BTreeMap<String, String> {
    VARIABLES.iter().filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?))).collect()
}

/// The limits that rates are measured by. Other programs may have kept one of the threads from running: then it is tried again, and the
/// best of all counts.
pub(crate) fn measure_limits(
    chosen: KernelChoice,
    threads: usize,
    watch: &mut dyn RunObserver,
) -> Result<Limits, String> {
    let most = u32::try_from(threads).unwrap_or(u32::MAX);
    let machine = machine::machine(&System, chosen);
    // More threads than CPUs only take turns, so the limit is that of the CPUs.
    let options = ExamineOptions { quick: true, threads: Some(most.min(machine::allowed_cpus(&machine))) };
    let mut found: Option<Limits> = None;
    for _ in 0..TRIES {
        let doctor = doctor::examine(options, chosen, |step| {
            let share = LIMITS * f64::from(step.done) / f64::from(step.of);
            watch.tell(share, &format!("machine limits: {}", step.what));
        })?;
        let best = found.map_or(doctor.limits.clone(), |before| limits::best_of(before, doctor.limits));
        let is_doubtful = limits::is_doubtful(&best, machine.smt.unwrap_or(1));
        found = Some(best);
        if !is_doubtful || watch.is_stopped() {
            break;
        }
    }
    found.ok_or_else(|| "cannot measure the limits of this machine".to_owned())
}

fn describe(
    task: &Task,
    effort: RepeatSettings,
    mut parameters: BTreeMap<String, String>,
    (outcome, threads): (&WorkloadResult, usize),
) -> record::Workload {
    let mut add = |name: &str, value: String| drop(parameters.insert(name.to_owned(), value));
    add("threads", threads.to_string());
    add("seed", task.seed.to_string());
    if let Some(tokens) = outcome.tokens {
        add("tokens", tokens.to_string());
    }
    if let Some(tokens) = outcome.prompt_tokens {
        add("prompt_tokens", tokens.to_string());
    }
    record::Workload {
        name: task.workload.name().to_owned(),
        kind: Some(task.workload.kind()),
        parameters,
        repeat: effort.repeat,
        warmup: Some(effort.warmup),
        time_budget_s: Some(effort.time.as_secs_f64()),
        prompt_blake3: outcome.prompt_blake3.clone(),
    }
}
