//! `hotloop profile`, and `hotloop` alone: measures, keeps the run and shows it.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::time::Duration;

use engine::{Compute, Sampling};
use indicatif::ProgressBar;
use lab::machine::KernelChoice;
use lab::{Arithmetic, RepeatSettings, RunObserver, RunSettings, Task, Workload};
use record::Run;

use super::{PERCENT, Refusal, TIMELINE, generate, interrupt, progress, shown, tool};
use crate::args::{Named, Profile, What};
use crate::subject::{EngineModels, Ways, bundled, this_program};

/// What is printed, and what has to be said besides.
pub struct Printed {
    pub text: String,
    pub interrupted: bool,
    /// Why the run could not be kept.
    pub not_kept: Option<store::Error>,
}

/// Measures, keeps and shows.
pub fn run(options: &Profile) -> Result<Printed, Refusal> {
    if cfg!(debug_assertions) && !options.what.machine.allow_debug {
        return Err(Refusal {
            error: "this program was built for debugging: its speed says nothing about the engine".to_owned(),
            hint: "build with `cargo build --release`, or measure anyway with --allow-debug: the run is marked",
        });
    }
    check(options)?;
    let run = measure(options)?;
    let interrupted = run.interrupted;
    let output = &options.what.output;
    let kept = (!output.no_save).then(|| shown::save(&run, &output.store, output.tag.as_deref()));
    let (id, not_kept) = match kept {
        Some(Ok(id)) => (Some(id), None),
        Some(Err(error)) => (None, Some(error)),
        None => (None, None),
    };
    let text = match (output.json, output.full) {
        (true, _) => run.to_json(),
        (false, true) => shown::text(&run, &output.shown, id.as_ref()),
        (false, false) => shown::summary(&run, &output.shown, id.as_ref()),
    };
    Ok(Printed { text, interrupted, not_kept })
}

/// What could not be done with what is measured is said before it is.
fn check(options: &Profile) -> Result<(), Refusal> {
    let Profile { workload, what } = options;
    let named = |yes: bool, option: &'static str| yes.then_some(option);
    let ignored = match workload {
        Workload::Standard | Workload::Deep => None,
        Workload::Enhanced => named(what.named.model.is_some(), "--model")
            .or(named(what.named.synthetic.is_some(), "--synthetic"))
            .or(named(what.prompt.is_some(), "--prompt"))
            .or(named(what.prompt_file.is_some(), "--prompt-file")),
        Workload::Memory => {
            named(what.machine.no_pooling, "--no-pooling").or(named(what.machine.no_kv_cache, "--no-kv-cache"))
        }
    };
    if let Some(option) = ignored {
        let error = format!("`{option}` does not go with `{}`", workload.name());
        let hint = "enhanced measures SmallMind's two models from random prompts, memory measures with and without anyway; see --help";
        return Err(Refusal { error, hint });
    }
    if !what.output.no_save {
        let store = what.output.store.open()?;
        store.check()?;
        what.output.tag.as_deref().map_or(Ok(()), store::check_tag)?;
    }
    Ok(())
}

fn measure(options: &Profile) -> Result<Run, Refusal> {
    let what = &options.what;
    let prompt = generate::prompt::read(what.prompt.as_deref(), what.prompt_file.as_deref())?;
    let hint = "leave the variable out to use the best that this CPU has";
    let chosen = KernelChoice::from_environment().map_err(|error| Refusal { error, hint })?;
    let machine = &what.machine;
    let compute = if machine.naive { Compute::naive(machine.threads) } else { Compute::new(machine.threads)? };
    let models = EngineModels { compute: &compute, named: what.named.clone(), ways: ways(what) };
    let settings = RunSettings {
        task: task(options, prompt, models.named.is_some()),
        effort: effort(options),
        limits: !machine.no_limits,
        chosen,
        tool: tool(),
        subject: this_program(),
        parameters: parameters(what, &compute),
    };
    interrupt::listen(|| std::process::exit(i32::from(interrupt::EXIT_CODE)));
    let mut watch = Bar(progress(PERCENT, ""));
    let with = Arithmetic { kernels: compute.kernels, pool: &compute.pool };
    let run = lab::run(settings, &models, with, &mut watch);
    watch.0.finish_and_clear();
    let hint = "`hotloop profile --help` shows what can be asked for";
    let mut run = run.map_err(|error| Refusal { error, hint })?;
    for model in &mut run.models {
        let synthetic = model.name.strip_prefix("synthetic ").map(Named::synthetic);
        model.weights_blake3 = synthetic.unwrap_or_else(|| models.named.clone()).blake3();
    }
    if cfg!(debug_assertions) {
        run.notes.push("measured with a program that was built for debugging".to_owned());
    }
    Ok(run)
}

fn task(options: &Profile, prompt: Option<String>, has_model: bool) -> Task {
    let what = &options.what;
    // It knows stories and nothing else: random tokens would ask it about what no text has.
    let tells = options.workload == Workload::Standard && !has_model;
    Task {
        workload: options.workload,
        prompt: prompt.or_else(|| tells.then(|| bundled::PROMPT.to_owned())),
        tokens: what.tokens.or(tells.then_some(bundled::TOKENS)),
        seed: what.effort.seed,
        timeline: what.output.trace.then_some(TIMELINE),
        has_model,
    }
}

fn effort(options: &Profile) -> RepeatSettings {
    let asked = &options.what.effort;
    let usual = match options.workload {
        Workload::Standard | Workload::Deep => 5,
        Workload::Enhanced | Workload::Memory => 10,
    };
    RepeatSettings {
        repeat: asked.repeat.map(|repeat| repeat as u64),
        warmup: asked.warmup as u64,
        time: asked.time_budget.unwrap_or(Duration::from_secs(usual)),
    }
}

fn ways(what: &What) -> Ways {
    let machine = &what.machine;
    Ways {
        cache: machine.cache,
        in_place: machine.in_place,
        exact: machine.exact,
        pooled: !machine.no_pooling,
        keeps: !machine.no_kv_cache,
        sampling: Sampling { seed: what.effort.seed, ..Sampling::default() },
    }
}

/// What else decides the work: two runs that differ here do not answer the same question.
fn parameters(what: &What, compute: &Compute) -> BTreeMap<String, String> {
    let machine = &what.machine;
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

/// Shows how far it is, where somebody looks on.
pub struct Bar(pub ProgressBar);

impl RunObserver for Bar {
    fn tell(&mut self, share: f64, what: &str) {
        // Drawing takes time that would be measured.
        if !std::io::stderr().is_terminal() {
            return;
        }
        self.0.set_length(100);
        self.0.set_position((100.0 * share) as u64);
        self.0.set_message(what.to_owned());
    }

    fn is_stopped(&self) -> bool {
        interrupt::asked()
    }
}
