//! `hotloop bench`: the speed of models in tokens per second, as a table.

mod measure;
mod plan;

use std::fmt::Write as _;

use engine::{Compute, LoadOptions, TensorSource};
use lab::machine::KernelChoice;
use record::{BENCH_SCHEMA, BENCH_VERSION, Bench, BenchRow, BenchSettings, SkippedTest};

use super::error::FAILED;
use super::{CommandError, CommandOutput, PERCENT, export, interrupt, progress, terminal, tool};
use crate::args;
use crate::args::{BenchFormat, ModelOptions};
use crate::subject::{Subject, git};
use measure::{Measured, Measurement, Rounds};
use plan::{Plan, distinct};

/// A model and its tests.
struct BenchedModel {
    named: ModelOptions,
    plan: Plan,
    context: usize,
    model_bytes: u64,
}

/// Measures and prints the table.
pub fn run(options: &args::Bench) -> Result<CommandOutput, CommandError> {
    check(options)?;
    let computes = computes(&options.machine.threads)?;
    let models = options.named().into_iter().map(|named| opened(options, named)).collect::<Result<Vec<_>, _>>()?;
    check_lengths(&models)?;
    interrupt::listen(|| std::process::exit(i32::from(interrupt::EXIT_CODE)));
    // Scopes are recorded if this program is profiled itself.
    hotloop::stop();
    let mut bench = Bench {
        schema: BENCH_SCHEMA.to_owned(),
        version: BENCH_VERSION,
        settings: settings(options, &computes[0])?,
        interrupted: false,
        rows: Vec::new(),
        skipped: models.iter().flat_map(too_long).collect(),
    };
    let mut errors = Vec::new();
    for model in models.iter().filter(|model| !model.plan.tests.is_empty()) {
        if interrupt::is_requested() {
            break;
        }
        match measure(options, &computes, model) {
            Ok(rows) => bench.rows.extend(rows),
            Err(error) => {
                let (model, reason) = (model.named.name(), error.message.clone());
                bench.skipped.push(SkippedTest { model, test: None, reason });
                errors.push(error);
            }
        }
    }
    bench.interrupted = interrupt::is_requested();
    match errors.pop() {
        Some(error) if bench.rows.is_empty() => Err(error),
        error => {
            errors.extend(error);
            let mut output = output(options, &bench);
            output.errors.splice(0..0, errors);
            Ok(CommandOutput { interrupted: bench.interrupted, ..output })
        }
    }
}

/// Checks what needs no model.
fn check(options: &args::Bench) -> Result<(), CommandError> {
    if cfg!(debug_assertions) && !options.machine.allow_debug {
        return Err(CommandError::new(
            "this is a debug build: its speed says nothing about the engine",
            "build with `cargo build --release`, or measure anyway with --allow-debug",
        ));
    }
    let named = options.named();
    if let Some((_, twice)) = named.iter().enumerate().find(|(at, one)| named[..*at].contains(one)) {
        return Err(CommandError::new(format!("{} is named twice", twice.name()), "name each model once"));
    }
    // A pipe or a device is written to as it is.
    if let Some(target) = options.target().filter(|target| target.is_file() || !target.exists()) {
        export::try_place(target).map_err(|error| {
            let message = format!("cannot write {}: {error}", target.display());
            CommandError::new(message, "name a file in a writable folder").with_code(FAILED)
        })?;
    }
    Ok(())
}

/// Opens a model, without its weights, and chooses its tests.
fn opened(options: &args::Bench, named: ModelOptions) -> Result<BenchedModel, CommandError> {
    let (config, _) = named.outline()?;
    let source = named.open()?;
    let (plan, context) = (Plan::new(&options.tests, config.context), config.context);
    Ok(BenchedModel { plan, context, model_bytes: tensor_bytes(&*source)?, named })
}

fn tensor_bytes(source: &dyn TensorSource) -> Result<u64, CommandError> {
    let mut bytes = 0;
    for name in source.names() {
        if let Some(info) = source.info(name)? {
            bytes += info.bytes()? as u64;
        }
    }
    Ok(bytes)
}

/// Refuses where nothing is left to measure.
fn check_lengths(models: &[BenchedModel]) -> Result<(), CommandError> {
    if models.iter().any(|model| !model.plan.tests.is_empty()) {
        return Ok(());
    }
    let first = models.iter().flat_map(too_long).next();
    Err(match first {
        Some(SkippedTest { model, test, reason }) => CommandError::new(
            format!("{} of {model} {reason}", test.unwrap_or_default()),
            "choose a shorter prompt (-p), fewer tokens (-n) or a smaller depth (-d)",
        ),
        None => CommandError::new(
            "nothing to measure: -p 0 and -n 0 leave no test",
            "choose a prompt length with -p, or a number of tokens with -n",
        ),
    })
}

/// The tests that the context has no room for.
fn too_long(model: &BenchedModel) -> Vec<SkippedTest> {
    let skip = |test: &plan::Test| SkippedTest {
        model: model.named.name(),
        test: Some(test.name()),
        reason: format!("needs a context of {} tokens; the model has {}", test.positions(), model.context),
    };
    model.plan.too_long.iter().map(skip).collect()
}

/// One for each number of threads, in the order that was asked for.
fn computes(threads: &[usize]) -> Result<Vec<Compute>, CommandError> {
    let threads = distinct(threads);
    terminal::warn_about_threads(threads.iter().copied());
    if threads.is_empty() {
        return Ok(vec![Compute::new(None)?]);
    }
    Ok(threads.into_iter().map(|threads| Compute::new(Some(threads))).collect::<engine::Result<_>>()?)
}

fn settings(options: &args::Bench, compute: &Compute) -> Result<BenchSettings, CommandError> {
    let chosen = KernelChoice::from_environment().map_err(CommandError::instruction_set)?;
    Ok(BenchSettings {
        tool: tool(),
        commit: git().map(|git| git.commit),
        debug_build: cfg!(debug_assertions),
        created: lab::now(),
        cpu: lab::machine::machine(&lab::machine::System, chosen).cpu.model,
        isa: compute.kernels.isa().name().to_owned(),
        cache: options.machine.cache.name().to_owned(),
        in_place: options.machine.in_place,
        exact: options.machine.exact,
        warmup: options.tests.warmup as u64,
        repeat: options.tests.repeat as u64,
    })
}

/// Loads a model and measures its tests.
fn measure(options: &args::Bench, computes: &[Compute], model: &BenchedModel) -> Result<Vec<BenchRow>, CommandError> {
    let subject = load(options, computes, &model.named)?;
    let tests = &model.plan.tests;
    let mut measurement = Measurement::new(&subject.model, computes, tests, options.machine.cache)?;
    let rounds = Rounds { warmup: options.tests.warmup, repeat: options.tests.repeat };
    let bar = progress(PERCENT, "");
    bar.set_length(((rounds.warmup + rounds.repeat) * tests.len() * computes.len()) as u64);
    let mut done = 0;
    let rows = measurement.run(tests, rounds, &mut |test, threads| {
        // Drawn before the clock runs.
        if terminal::shows_progress() {
            bar.set_message(format!("{}: {}, {}", model.named.name(), test.name(), plural(threads)));
            bar.set_position(done);
        }
        done += 1;
    });
    bar.finish_and_clear();
    let rows = rows?.into_iter().filter(|row| !row.samples_s.is_empty());
    Ok(rows.map(|row| described(&subject, model, computes, row)).collect())
}

fn plural(threads: usize) -> String {
    format!("{threads} thread{}", if threads == 1 { "" } else { "s" })
}

/// Loads a model, with a progress bar.
fn load(options: &args::Bench, computes: &[Compute], named: &ModelOptions) -> Result<Subject, CommandError> {
    let bar = progress(PERCENT, "reading weights");
    let mut show = |done: usize, total: usize| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    };
    let machine = &options.machine;
    let load = LoadOptions { in_place: machine.in_place, exact: machine.exact, progress: Some(&mut show) };
    // Weights are packed by all threads that are asked for.
    let fastest = computes.iter().max_by_key(|compute| compute.pool.threads()).unwrap_or(&computes[0]);
    let subject = Subject::load(named, fastest, load);
    bar.finish_and_clear();
    subject
}

fn described(subject: &Subject, benched: &BenchedModel, computes: &[Compute], row: Measured) -> BenchRow {
    let (model, test) = (subject.describe(), row.test);
    let speeds: Vec<f64> = row.samples_s.iter().map(|seconds| test.tokens() as f64 / seconds).collect();
    let (mean, stddev) = mean_and_stddev(&speeds);
    BenchRow {
        model: model.name,
        architecture: model.architecture,
        format: model.format,
        parameters: model.parameters,
        model_bytes: benched.model_bytes,
        threads: computes[row.compute].pool.threads() as u64,
        test: test.name(),
        prompt_tokens: test.prompt as u64,
        generated_tokens: test.generated as u64,
        depth: test.depth as u64,
        tokens_per_s: mean,
        tokens_per_s_stddev: stddev,
        samples_s: row.samples_s,
    }
}

/// The mean, and the standard deviation of a sample; one value has none.
fn mean_and_stddev(values: &[f64]) -> (f64, Option<f64>) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (values.len() > 1).then(|| (squares / (count - 1.0)).sqrt()))
}

/// The table, in its file or to be printed.
fn output(options: &args::Bench, bench: &Bench) -> CommandOutput {
    let text = match options.format() {
        BenchFormat::Table => report::bench(bench).terminal(terminal::page(&std::io::stdout())),
        BenchFormat::Markdown => report::bench(bench).markdown(),
        BenchFormat::Json => bench.to_json(),
        BenchFormat::Jsonl => bench.to_json_lines(),
        BenchFormat::Csv => report::bench_csv(bench),
    };
    let mut output = CommandOutput { notes: notes(options, bench), ..CommandOutput::default() };
    match options.target() {
        None => output.text = text.into_bytes(),
        Some(target) => match export::write(target, text.as_bytes()) {
            Ok(()) => output.notes += &format!("wrote {} ({} bytes)\n", target.display(), text.len()),
            Err(error) => output.errors.push(error),
        },
    }
    output
}

/// What was skipped, for formats that have only rows.
fn notes(options: &args::Bench, bench: &Bench) -> String {
    if !matches!(options.format(), BenchFormat::Jsonl | BenchFormat::Csv) {
        return String::new();
    }
    let mut notes = String::new();
    for SkippedTest { model, test, reason } in &bench.skipped {
        let test = test.as_ref().map_or_else(String::new, |test| format!("{test} of "));
        // Writing to a string does not fail.
        let _ = writeln!(notes, "note: skipped {test}{model}: {reason}");
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deviation_is_that_of_a_sample() {
        assert_eq!(mean_and_stddev(&[4.0]), (4.0, None));
        assert_eq!(mean_and_stddev(&[2.0, 4.0, 6.0]), (4.0, Some(2.0)));
    }
}
