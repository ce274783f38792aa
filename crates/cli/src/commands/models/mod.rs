//! `hotloop models`: compares models, measured in turns or from saved runs.

mod process_use;
mod worker;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use compare::ModelRun;
use engine::{Compute, LoadOptions, Sampling};
use lab::machine::KernelChoice;
use lab::{Contender, QualityText, RepeatSettings, RoundWork, RunObserver as _, SideBySide};
use record::{Models, Run};

use super::profile::{DEBUG_NOTE, WorkloadProgress, debug_build};
use super::{
    CommandError, CommandOutput, PERCENT, documents, generate, interrupt, load, progress, save, terminal, tool,
};
use crate::args;
use crate::args::{ModelOptions, ModelsLayout};
use crate::subject::{EngineModels, EngineOptions, LoadedModels, Subject, this_program};

/// The text for quality, unless another one is named.
const BUNDLED: &str = include_str!("bundled.txt");
/// Time for all rounds, unless another one is given.
const DEFAULT_TIME: Duration = Duration::from_secs(10);

/// Measures models or loads saved runs, and compares them.
pub fn run(options: &args::Models) -> Result<CommandOutput, CommandError> {
    if options.serve {
        worker::serve(options)?;
        return Ok(CommandOutput::default());
    }
    let options = &with_files(options)?;
    let is_measured = options.runs.is_empty();
    let ModelRuns { runs, ids, unsaved } = if is_measured { measured(options)? } else { saved(options)? };
    let observed =
        runs.iter().enumerate().map(|(at, run)| ModelRun { run, id: ids.get(at).and_then(Option::as_deref) });
    let models = Models { tool: tool(), ..compare::models(&observed.collect::<Vec<_>>()) };
    let errors = unsaved.map(CommandError::of_saving).into_iter().collect();
    let interrupted = models.interrupted && is_measured;
    Ok(CommandOutput { errors, interrupted, ..CommandOutput::text(text(options, &models)) })
}

/// Takes model files among the words as models to measure.
fn with_files(options: &args::Models) -> Result<args::Models, CommandError> {
    let (files, runs): (Vec<&String>, Vec<&String>) = options.runs.iter().partition(|word| is_model(word));
    if let (Some(file), Some(run)) = (files.first(), runs.first()) {
        let error = format!("`{file}` is a model file and `{run}` is not");
        return Err(CommandError::new(error, "name model files to measure, or saved runs, but not both"));
    }
    if let (Some(sizes), Some(run)) = (options.synthetic.first(), runs.first()) {
        let error = format!("`{run}` is not a model file, but --synthetic {sizes} is a model to measure");
        return Err(CommandError::new(error, "name model files to measure, or saved runs, but not both"));
    }
    if files.is_empty() {
        return Ok(options.clone());
    }
    let models = files.into_iter().map(PathBuf::from).collect();
    let options = args::Models { models, runs: Vec::new(), ..options.clone() };
    options.check().map(|()| options).map_err(CommandError::without_hint)
}

/// Whether a word names a model file. A damaged one is refused as a model, not as a run.
fn is_model(word: &str) -> bool {
    let file = Path::new(word);
    let is_named_so = file.extension().is_some_and(|end| end == "gguf" || end == "safetensors");
    file.is_file() && (is_named_so || engine::open(file).is_ok())
}

fn text(options: &args::Models, models: &Models) -> String {
    let output = &options.output;
    let page = terminal::page(&std::io::stdout());
    match (output.json, output.layout, output.format) {
        (true, _, _) => models.to_json(),
        (_, ModelsLayout::Smallmind, _) => report::models_smallmind(models),
        (_, _, format) => documents::text(&report::models(models), format, page),
    }
}

/// One run per model.
struct ModelRuns {
    runs: Vec<Run>,
    /// Their ids in the store.
    ids: Vec<Option<String>>,
    /// Why one could not be saved.
    unsaved: Option<store::Error>,
}

/// Saved runs, and files of other programs.
fn saved(options: &args::Models) -> Result<ModelRuns, CommandError> {
    let store = options.output.store.open()?;
    let (mut runs, mut ids) = (Vec::new(), Vec::new());
    for word in &options.runs {
        let loaded = load::run(&store, word)?;
        if loaded.run.models.is_empty() {
            let error = format!("the run `{word}` has no model: there is nothing to compare");
            return Err(CommandError::new(error, "`hotloop history` lists runs with their models"));
        }
        ids.push(loaded.id.map(|id| id.short().to_owned()));
        runs.push(loaded.run);
    }
    Ok(ModelRuns { runs, ids, unsaved: None })
}

/// Measures the models, and saves the runs unless `--no-save` is given.
fn measured(options: &args::Models) -> Result<ModelRuns, CommandError> {
    if cfg!(debug_assertions) && !options.machine.allow_debug {
        return Err(debug_build());
    }
    if !options.output.no_save {
        save::check(&options.output.store, None)?;
    }
    let runs = measure(options)?;
    let (mut ids, mut unsaved) = (Vec::new(), None);
    for run in runs.iter().filter(|_| !options.output.no_save) {
        match save::save(run, &options.output.store, None) {
            Ok(id) => ids.push(Some(id.short().to_owned())),
            Err(error) => {
                unsaved = Some(error);
                break;
            }
        }
    }
    Ok(ModelRuns { runs, ids, unsaved })
}

fn measure(options: &args::Models) -> Result<Vec<Run>, CommandError> {
    terminal::warn_about_threads(options.machine.threads.iter().copied());
    let named = options.named().map_err(CommandError::without_hint)?;
    let computes = computes(&options.machine.threads)?;
    let settings = settings(options, computes[0].pool.threads())?;
    interrupt::listen(|| std::process::exit(i32::from(interrupt::EXIT_CODE)));
    let mut bar = WorkloadProgress(progress(PERCENT, ""));
    let mut contenders = Vec::new();
    for one in &named {
        // A file that is not a model is refused before anything is measured.
        one.outline()?;
        bar.tell(0.0, &format!("{} in its own process", one.name()));
        let process = process_use::measure(one, options, computes[0].pool.threads());
        let loaded = || load(one, &computes, options).map_err(|error| error.message);
        contenders.push(Contender {
            load: Box::new(move || Ok(boxed(loaded()?))),
            launch: Box::new(|| worker::start(one, options)),
            weights_blake3: one.blake3(),
            process,
        });
    }
    let runs = lab::side_by_side(&settings, &contenders, &mut bar);
    bar.0.finish_and_clear();
    let mut runs = runs.map_err(CommandError::without_hint)?;
    if cfg!(debug_assertions) {
        for run in &mut runs {
            run.notes.push(DEBUG_NOTE.to_owned());
        }
    }
    Ok(runs)
}

fn boxed<'a>(loaded: Vec<LoadedModels<'a>>) -> Vec<Box<dyn lab::Models + 'a>> {
    loaded.into_iter().map(|models| Box::new(models) as Box<dyn lab::Models + 'a>).collect()
}

/// The largest number of threads first: figures are for the first.
fn computes(threads: &[usize]) -> Result<Vec<Compute>, CommandError> {
    let mut threads: Vec<usize> = threads.to_vec();
    threads.sort_unstable_by(|a, b| b.cmp(a));
    threads.dedup();
    if threads.is_empty() {
        return Ok(vec![Compute::new(None)?]);
    }
    Ok(threads.into_iter().map(|threads| Compute::new(Some(threads))).collect::<engine::Result<_>>()?)
}

/// One model for all numbers of threads.
fn load<'a>(
    named: &ModelOptions,
    computes: &'a [Compute],
    options: &args::Models,
) -> Result<Vec<LoadedModels<'a>>, CommandError> {
    let machine = &options.machine;
    let load = LoadOptions { in_place: machine.in_place, exact: machine.exact, progress: None };
    let subject = Rc::new(Subject::load(named, &computes[0], load)?);
    let engine = EngineOptions {
        cache: machine.cache,
        in_place: machine.in_place,
        exact: machine.exact,
        pooled: true,
        keeps: true,
        sampling: Sampling { temperature: 0.0, ..Sampling::default() },
    };
    let on = |compute: &'a Compute| LoadedModels {
        models: EngineModels { compute, model: named.clone(), options: engine.clone() },
        subject: Rc::clone(&subject),
    };
    Ok(computes.iter().map(on).collect())
}

fn work(options: &args::Models) -> RoundWork {
    let work = &options.work;
    let mut contexts = work.contexts.clone();
    contexts.sort_unstable();
    contexts.dedup();
    let (prompt_tokens, tokens, seed) = (work.prompt_tokens, work.tokens, options.repeats.seed);
    RoundWork { prompt_tokens, tokens, contexts, seed }
}

fn settings(options: &args::Models, threads: usize) -> Result<SideBySide, CommandError> {
    let chosen = KernelChoice::from_environment().map_err(CommandError::instruction_set)?;
    let (machine, asked) = (&options.machine, &options.repeats);
    let yes_or_no = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
    let isa = kernels::Kernels::chosen().map_err(CommandError::instruction_set)?.isa().name().to_owned();
    let parameters = [
        ("isa", isa),
        ("cache", machine.cache.name().to_owned()),
        ("in_place", yes_or_no(machine.in_place)),
        ("exact", yes_or_no(machine.exact)),
        ("kv_cache", yes_or_no(true)),
        ("pooling", yes_or_no(true)),
    ];
    let parameters: BTreeMap<String, String> =
        parameters.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let effort = RepeatSettings {
        repeat: asked.repeat.map(|repeat| repeat as u64),
        warmup: asked.warmup as u64,
        time: asked.time_budget.unwrap_or(DEFAULT_TIME),
    };
    Ok(SideBySide {
        work: work(options),
        threads,
        text: quality_text(&options.work)?,
        effort,
        limits: !machine.no_limits,
        chosen,
        tool: tool(),
        subject: this_program(),
        parameters,
    })
}

/// The text to measure quality with.
fn quality_text(work: &args::ModelsWork) -> Result<Option<QualityText>, CommandError> {
    if work.no_text {
        return Ok(None);
    }
    let Some(file) = &work.text else {
        return Ok(Some(QualityText { name: "bundled".to_owned(), words: BUNDLED.to_owned() }));
    };
    let words = generate::prompt::read(None, Some(file))?.unwrap_or_default();
    if words.trim().is_empty() {
        let message = format!("{}: the file has no text", file.display());
        return Err(CommandError::new(message, "--text takes a UTF-8 text file"));
    }
    Ok(Some(QualityText { name: file.display().to_string(), words }))
}
