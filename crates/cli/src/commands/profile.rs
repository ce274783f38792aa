//! `hotloop profile`, and `hotloop` alone: measures, saves the run and shows it.

use std::collections::BTreeMap;
use std::time::Duration;

use engine::{Compute, Sampling};
use indicatif::ProgressBar;
use lab::machine::KernelChoice;
use lab::{Arithmetic, RepeatSettings, RunObserver, RunSettings, Task, Workload};
use record::Run;

use super::{
    CommandError, CommandOutput, PERCENT, TIMELINE, generate, interrupt, progress, run_report, save, terminal, tool,
};
use crate::args::{ModelOptions, Profile, ProfileOptions};
use crate::subject::{EngineModels, EngineOptions, bundled, this_program};

/// What a run of a debug build says about itself.
pub const DEBUG_NOTE: &str = "measured with a debug build";

/// Measures, saves and shows.
pub fn run(options: &Profile) -> Result<CommandOutput, CommandError> {
    if cfg!(debug_assertions) && !options.options.machine.allow_debug {
        return Err(debug_build());
    }
    check(options)?;
    let run = measure(options)?;
    let output = &options.options.output;
    let saved = (!output.no_save).then(|| save::save(&run, &output.store, output.tag.as_deref())).transpose();
    let id = saved.as_ref().ok().and_then(Option::as_ref);
    let printed = match (output.json, output.full) {
        (true, _) => CommandOutput::text(run.to_json()),
        (false, true) => CommandOutput::paged(run_report::full(&run, &output.shown, id)),
        (false, false) => CommandOutput::text(run_report::summary(&run, &output.shown, id)),
    };
    let errors = saved.err().map(CommandError::of_saving).into_iter().collect();
    Ok(CommandOutput { errors, interrupted: run.interrupted, ..printed })
}

/// The speed of a debug build says nothing about the engine.
pub fn debug_build() -> CommandError {
    CommandError::new(
        "this is a debug build: its speed says nothing about the engine",
        "build with `cargo build --release`, or use --allow-debug to measure and mark the run",
    )
}

/// Reports what cannot be done before anything is measured.
fn check(profile: &Profile) -> Result<(), CommandError> {
    let (workload, options) = (profile.workload(), &profile.options);
    let given = |yes: bool, option: &'static str| yes.then_some(option);
    let (ignored, hint) = match workload {
        Workload::Standard | Workload::Deep => (None, ""),
        Workload::Enhanced => (
            given(options.model.model.is_some(), "--model")
                .or(given(options.model.synthetic.is_some(), "--synthetic"))
                .or(given(options.prompt.is_some(), "--prompt"))
                .or(given(options.prompt_file.is_some(), "--prompt-file")),
            "enhanced measures two fixed models with random prompts; use `standard` or `deep`",
        ),
        Workload::Memory => (
            given(options.machine.no_pooling, "--no-pooling").or(given(options.machine.no_kv_cache, "--no-kv-cache")),
            "memory always measures with and without; leave the option out",
        ),
    };
    if let Some(option) = ignored {
        let message = format!("`{option}` cannot be used with the workload `{}`", workload.name());
        return Err(CommandError::new(message, hint));
    }
    terminal::warn_about_threads(options.machine.threads);
    if options.output.no_save { Ok(()) } else { save::check(&options.output.store, options.output.tag.as_deref()) }
}

fn measure(profile: &Profile) -> Result<Run, CommandError> {
    let options = &profile.options;
    let prompt = generate::prompt::read(options.prompt.as_deref(), options.prompt_file.as_deref())?;
    let chosen = KernelChoice::from_environment().map_err(CommandError::instruction_set)?;
    let machine = &options.machine;
    let compute = if machine.naive { Compute::naive(machine.threads) } else { Compute::new(machine.threads)? };
    let models = EngineModels { compute: &compute, model: options.model.clone(), options: engine_options(options) };
    let settings = RunSettings {
        task: task(profile, prompt, models.model.is_some()),
        effort: effort(profile),
        limits: !machine.no_limits,
        chosen,
        tool: tool(),
        subject: this_program(),
        parameters: parameters(options, &compute),
    };
    interrupt::listen(|| std::process::exit(i32::from(interrupt::EXIT_CODE)));
    let mut bar = WorkloadProgress(progress(PERCENT, ""));
    let with = Arithmetic { kernels: compute.kernels, pool: &compute.pool };
    let run = lab::run(settings, &models, with, &mut bar);
    bar.0.finish_and_clear();
    let mut run = run.map_err(CommandError::without_hint)?;
    for model in &mut run.models {
        let synthetic = model.name.strip_prefix("synthetic ").map(ModelOptions::synthetic);
        model.weights_blake3 = synthetic.unwrap_or_else(|| models.model.clone()).blake3();
    }
    if cfg!(debug_assertions) {
        run.notes.push(DEBUG_NOTE.to_owned());
    }
    Ok(run)
}

fn task(profile: &Profile, prompt: Option<String>, has_model: bool) -> Task {
    let options = &profile.options;
    // The bundled model knows only stories: random tokens occur in none.
    let tells = profile.workload() == Workload::Standard && !has_model;
    Task {
        workload: profile.workload(),
        prompt: prompt.or_else(|| tells.then(|| bundled::PROMPT.to_owned())),
        tokens: options.tokens.or(tells.then_some(bundled::TOKENS)),
        seed: options.repeats.seed,
        timeline: options.output.trace.then_some(TIMELINE),
        has_model,
    }
}

fn effort(profile: &Profile) -> RepeatSettings {
    let asked = &profile.options.repeats;
    let default = match profile.workload() {
        Workload::Standard | Workload::Deep => 5,
        Workload::Enhanced | Workload::Memory => 10,
    };
    RepeatSettings {
        repeat: asked.repeat.map(|repeat| repeat as u64),
        warmup: asked.warmup as u64,
        time: asked.time_budget.unwrap_or(Duration::from_secs(default)),
    }
}

fn engine_options(options: &ProfileOptions) -> EngineOptions {
    let machine = &options.machine;
    EngineOptions {
        cache: machine.cache,
        in_place: machine.in_place,
        exact: machine.exact,
        pooled: !machine.no_pooling,
        keeps: !machine.no_kv_cache,
        sampling: Sampling { seed: options.repeats.seed, ..Sampling::default() },
    }
}

/// What else decides the work: runs that differ here are not comparable.
fn parameters(options: &ProfileOptions, compute: &Compute) -> BTreeMap<String, String> {
    let machine = &options.machine;
    let yes_or_no = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
    let parameters = [
        ("isa", compute.kernels.isa().name().to_owned()),
        ("cache", machine.cache.name().to_owned()),
        ("in_place", yes_or_no(machine.in_place)),
        ("exact", yes_or_no(machine.exact)),
        ("kv_cache", yes_or_no(!machine.no_kv_cache)),
        ("pooling", yes_or_no(!machine.no_pooling)),
    ];
    parameters.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The progress of a workload.
pub struct WorkloadProgress(pub ProgressBar);

impl RunObserver for WorkloadProgress {
    fn tell(&mut self, share: f64, what: &str) {
        // Updating a hidden bar takes time that would be measured.
        if self.0.is_hidden() {
            return;
        }
        self.0.set_length(100);
        self.0.set_position((100.0 * share) as u64);
        self.0.set_message(what.to_owned());
    }

    fn is_stopped(&self) -> bool {
        interrupt::is_requested()
    }
}
