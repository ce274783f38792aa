//! `hotloop models`: models beside each other, measured in turns or from runs that were kept.

mod alone;
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

use super::profile::{Bar, Printed};
use super::{PERCENT, Refusal, generate, interrupt, load, progress, shown, tool};
use crate::args;
use crate::args::{Format, ModelsLayout, Named};
use crate::subject::{EngineModels, LoadedModels, Subject, Ways, this_program};

/// The text of whoever names none.
const BUNDLED: &str = include_str!("bundled.txt");
/// Seconds for all turns of whoever names none.
const USUAL_TIME: Duration = Duration::from_secs(10);

/// Measures, or takes what was kept, and shows it.
pub fn run(options: &args::Models) -> Result<Printed, Refusal> {
    if options.serve {
        worker::serve(options)?;
        return Ok(Printed { text: String::new(), interrupted: false, not_kept: None });
    }
    let options = &with_files(options)?;
    let (runs, ids, not_kept) = if options.runs.is_empty() { measured(options)? } else { kept(options)? };
    let observed =
        runs.iter().enumerate().map(|(at, run)| ModelRun { run, id: ids.get(at).and_then(Option::as_deref) });
    let models = Models { tool: tool(), ..compare::models(&observed.collect::<Vec<_>>()) };
    Ok(Printed { text: text(options, &models), interrupted: models.interrupted && options.runs.is_empty(), not_kept })
}

/// Model files among the runs are models to measure.
fn with_files(options: &args::Models) -> Result<args::Models, Refusal> {
    let (files, runs): (Vec<&String>, Vec<&String>) = options.runs.iter().partition(|word| is_model(word));
    if let (Some(file), Some(run)) = (files.first(), runs.first()) {
        let error = format!("`{file}` is a model file and `{run}` is not");
        return Err(Refusal { error, hint: "name model files to measure, or runs that were kept" });
    }
    if let (Some(sizes), Some(run)) = (options.synthetic.first(), runs.first()) {
        let error = format!("`{run}` is no model file, but --synthetic {sizes} is a model to measure");
        return Err(Refusal { error, hint: "name model files to measure, or runs that were kept" });
    }
    if files.is_empty() {
        return Ok(options.clone());
    }
    let models = files.into_iter().map(PathBuf::from).collect();
    let options = args::Models { models, runs: Vec::new(), ..options.clone() };
    let hint = "name each model once";
    options.check().map(|()| options).map_err(|error| Refusal { error, hint })
}

/// Whether a word names a model file. One that cannot be read is to be refused as a model, not as a run.
fn is_model(word: &str) -> bool {
    let file = Path::new(word);
    let is_named_so = file.extension().is_some_and(|end| end == "gguf" || end == "safetensors");
    file.is_file() && (is_named_so || engine::open(file).is_ok())
}

fn text(options: &args::Models, models: &Models) -> String {
    let output = &options.output;
    let color = shown::on(&std::io::stdout(), 1, None).color;
    match (output.json, output.layout, output.format) {
        (true, _, _) => models.to_json(),
        (_, ModelsLayout::Smallmind, _) => report::models_smallmind(models),
        (_, _, Format::Terminal) => report::models_text(models, color),
        (_, _, Format::Markdown) => report::models_markdown(models),
    }
}

/// Runs, their ids where they are kept, and why one could not be.
type Taken = (Vec<Run>, Vec<Option<String>>, Option<store::Error>);

/// Runs that were kept, and files of other programs.
fn kept(options: &args::Models) -> Result<Taken, Refusal> {
    let store = options.output.store.open()?;
    let (mut runs, mut ids) = (Vec::new(), Vec::new());
    for word in &options.runs {
        let loaded = load::run(&store, word)?;
        if loaded.run.models.is_empty() {
            let error = format!("the run `{word}` has no model: there is nothing to compare");
            return Err(Refusal { error, hint: "`hotloop history` lists runs with their models" });
        }
        ids.push(loaded.id.map(|id| id.short().to_owned()));
        runs.push(loaded.run);
    }
    Ok((runs, ids, None))
}

/// Measures, and keeps the runs unless that is not wanted.
fn measured(options: &args::Models) -> Result<Taken, Refusal> {
    if cfg!(debug_assertions) && !options.machine.allow_debug {
        return Err(Refusal {
            error: "this program was built for debugging: its speed says nothing about the engine".to_owned(),
            hint: "build with `cargo build --release`, or measure anyway with --allow-debug: the runs are marked",
        });
    }
    if !options.output.no_save {
        options.output.store.open()?.check()?;
    }
    let runs = measure(options)?;
    let (mut ids, mut not_kept) = (Vec::new(), None);
    for run in runs.iter().filter(|_| !options.output.no_save) {
        match shown::save(run, &options.output.store, None) {
            Ok(id) => ids.push(Some(id.short().to_owned())),
            Err(error) => {
                not_kept = Some(error);
                break;
            }
        }
    }
    Ok((runs, ids, not_kept))
}

fn measure(options: &args::Models) -> Result<Vec<Run>, Refusal> {
    let hint = "`hotloop models --help` shows what can be asked for";
    let named = options.named().map_err(|error| Refusal { error, hint })?;
    let computes = computes(&options.machine.threads)?;
    let settings = settings(options, computes[0].pool.threads())?;
    interrupt::listen(|| std::process::exit(i32::from(interrupt::EXIT_CODE)));
    let mut watch = Bar(progress(PERCENT, ""));
    let mut contenders = Vec::new();
    for one in &named {
        // What is no model is refused before anything is measured.
        one.outline()?;
        watch.tell(0.0, &format!("{} alone", one.name()));
        let process = alone::process(one, options, computes[0].pool.threads());
        let loaded = || load(one, &computes, options).map_err(|refusal| refusal.error);
        contenders.push(Contender {
            load: Box::new(move || Ok(boxed(loaded()?))),
            launch: Box::new(|| worker::start(one, options)),
            weights_blake3: one.blake3(),
            process,
        });
    }
    let runs = lab::side_by_side(&settings, &contenders, &mut watch);
    watch.0.finish_and_clear();
    let mut runs = runs.map_err(|error| Refusal { error, hint })?;
    if cfg!(debug_assertions) {
        for run in &mut runs {
            run.notes.push("measured with a program that was built for debugging".to_owned());
        }
    }
    Ok(runs)
}

fn boxed<'a>(loaded: Vec<LoadedModels<'a>>) -> Vec<Box<dyn lab::Models + 'a>> {
    loaded.into_iter().map(|models| Box::new(models) as Box<dyn lab::Models + 'a>).collect()
}

/// The most threads first: figures are those of the first.
fn computes(threads: &[usize]) -> Result<Vec<Compute>, Refusal> {
    let mut threads: Vec<usize> = threads.to_vec();
    threads.sort_unstable_by(|a, b| b.cmp(a));
    threads.dedup();
    if threads.is_empty() {
        return Ok(vec![Compute::new(None)?]);
    }
    Ok(threads.into_iter().map(|threads| Compute::new(Some(threads))).collect::<engine::Result<_>>()?)
}

/// One model for all numbers of threads.
fn load<'a>(named: &Named, computes: &'a [Compute], options: &args::Models) -> Result<Vec<LoadedModels<'a>>, Refusal> {
    let machine = &options.machine;
    let load = LoadOptions { in_place: machine.in_place, exact: machine.exact, progress: None };
    let subject = Rc::new(Subject::load(named, &computes[0], load)?);
    let ways = Ways {
        cache: machine.cache,
        in_place: machine.in_place,
        exact: machine.exact,
        pooled: true,
        keeps: true,
        sampling: Sampling { temperature: 0.0, ..Sampling::default() },
    };
    let on = |compute: &'a Compute| LoadedModels {
        models: EngineModels { compute, named: named.clone(), ways: ways.clone() },
        subject: Rc::clone(&subject),
    };
    Ok(computes.iter().map(on).collect())
}

fn work(options: &args::Models) -> RoundWork {
    let work = &options.work;
    let mut contexts = work.contexts.clone();
    contexts.sort_unstable();
    contexts.dedup();
    let (prompt_tokens, tokens, seed) = (work.prompt_tokens, work.tokens, options.effort.seed);
    RoundWork { prompt_tokens, tokens, contexts, seed }
}

fn settings(options: &args::Models, threads: usize) -> Result<SideBySide, Refusal> {
    let hint = "leave the variable out to use the best that this CPU has";
    let chosen = KernelChoice::from_environment().map_err(|error| Refusal { error, hint })?;
    let (machine, asked) = (&options.machine, &options.effort);
    let yes_or_no = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
    let isa = kernels::Kernels::chosen().map_err(|error| Refusal { error, hint })?.isa().name().to_owned();
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
        time: asked.time_budget.unwrap_or(USUAL_TIME),
    };
    Ok(SideBySide {
        work: work(options),
        threads,
        text: words(&options.work)?,
        effort,
        limits: !machine.no_limits,
        chosen,
        tool: tool(),
        subject: this_program(),
        parameters,
    })
}

/// The text that quality is measured by.
fn words(work: &args::ModelsWork) -> Result<Option<QualityText>, Refusal> {
    if work.no_text {
        return Ok(None);
    }
    let Some(file) = &work.text else {
        return Ok(Some(QualityText { name: "bundled".to_owned(), words: BUNDLED.to_owned() }));
    };
    let words = generate::prompt::read(None, Some(file))?.unwrap_or_default();
    if words.trim().is_empty() {
        let error = format!("{}: there is no text in it", file.display());
        return Err(Refusal { error, hint: "--text takes a text file in UTF-8" });
    }
    Ok(Some(QualityText { name: file.display().to_string(), words }))
}
