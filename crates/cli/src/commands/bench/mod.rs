//! `hotloop bench`: the speed of models in tokens per second, as a table.

mod measure;
mod plan;

use std::io::{IsTerminal, Write};
use std::path::Path;

use engine::{Compute, LoadOptions, TensorSource};
use lab::machine::Chosen;
use record::{BENCH_SCHEMA, BENCH_VERSION, Bench, BenchRow, BenchSettings, SkippedTest};

use super::export::Failure;
use super::{PERCENT, Refusal, export, interrupt, progress, shown, tool};
use crate::args;
use crate::args::{BenchFormat, Named};
use crate::subject::{Subject, this_program};
use measure::{Measured, Measurement, Rounds};
use plan::{Plan, distinct};

/// What was measured, as it was asked for.
#[derive(Debug)]
pub struct Printed {
    /// For standard output; nothing where it is in a file.
    pub text: String,
    pub interrupted: bool,
    /// Why the table is not in its file.
    pub not_written: Option<String>,
    /// Why a model that could be opened could not be measured.
    pub failed: Option<Refusal>,
}

/// A model and its tests.
struct Contestant {
    named: Named,
    plan: Plan,
    context: usize,
    model_bytes: u64,
}

/// Measures and writes the table.
pub fn run(options: &args::Bench) -> Result<Printed, Refusal> {
    check(options)?;
    let computes = computes(&options.machine.threads)?;
    let contestants: Vec<Contestant> =
        options.named().into_iter().map(|named| contestant(options, named)).collect::<Result<_, _>>()?;
    check_lengths(&contestants)?;
    interrupt::listen(|| std::process::exit(i32::from(interrupt::EXIT_CODE)));
    // Scopes would be recorded where this program is profiled itself.
    hotloop::stop();
    let mut bench = Bench {
        schema: BENCH_SCHEMA.to_owned(),
        version: BENCH_VERSION,
        settings: settings(options, &computes[0])?,
        interrupted: false,
        rows: Vec::new(),
        skipped: contestants.iter().flat_map(too_long).collect(),
    };
    let mut failed = None;
    for contestant in contestants.iter().filter(|contestant| !contestant.plan.tests.is_empty()) {
        if interrupt::asked() {
            break;
        }
        match measure(options, &computes, contestant) {
            Ok(rows) => bench.rows.extend(rows),
            Err(refusal) => {
                let (model, reason) = (contestant.named.name(), refusal.error.clone());
                bench.skipped.push(SkippedTest { model, test: None, reason });
                failed.get_or_insert(refusal);
            }
        }
    }
    bench.interrupted = interrupt::asked();
    match failed {
        Some(refusal) if bench.rows.is_empty() && !bench.interrupted => Err(refusal),
        failed => Ok(printed(options, &bench, failed)),
    }
}

/// What is to be refused before a model is opened.
fn check(options: &args::Bench) -> Result<(), Refusal> {
    if cfg!(debug_assertions) && !options.machine.allow_debug {
        return Err(Refusal {
            error: "this is a debug build: its speed says nothing about the engine".to_owned(),
            hint: "build with `cargo build --release`, or measure anyway with --allow-debug",
        });
    }
    let named = options.named();
    if let Some((_, twice)) = named.iter().enumerate().find(|(at, one)| named[..*at].contains(one)) {
        let error = format!("{} is named twice", twice.name());
        return Err(Refusal { error, hint: "name each model once" });
    }
    // A pipe or a device is written to as it is.
    if let Some(target) = options.target().filter(|target| target.is_file() || !target.exists()) {
        export::try_place(target).map_err(|error| Refusal {
            error: format!("cannot write {}: {error}", target.display()),
            hint: "name a file in a folder that you may write to",
        })?;
    }
    Ok(())
}

/// Opens a model, without its weights, and chooses its tests.
fn contestant(options: &args::Bench, named: Named) -> Result<Contestant, Refusal> {
    let (config, _) = named.outline()?;
    let source = named.open()?;
    let (plan, context) = (Plan::new(&options.tests, config.context), config.context);
    Ok(Contestant { plan, context, model_bytes: tensor_bytes(&*source)?, named })
}

fn tensor_bytes(source: &dyn TensorSource) -> Result<u64, Refusal> {
    let mut bytes = 0;
    for name in source.names() {
        if let Some(info) = source.info(name)? {
            bytes += info.bytes()? as u64;
        }
    }
    Ok(bytes)
}

/// Refuses where nothing is left to measure.
fn check_lengths(contestants: &[Contestant]) -> Result<(), Refusal> {
    if contestants.iter().any(|contestant| !contestant.plan.tests.is_empty()) {
        return Ok(());
    }
    let first = contestants.iter().flat_map(too_long).next();
    Err(match first {
        Some(SkippedTest { model, test, reason }) => Refusal {
            error: format!("{} of {model} {reason}", test.unwrap_or_default()),
            hint: "choose a shorter prompt (-p), fewer tokens (-n) or a smaller depth (-d)",
        },
        None => Refusal {
            error: "nothing to measure: -p 0 and -n 0 leave no test".to_owned(),
            hint: "choose a prompt length with -p, or tokens to generate with -n",
        },
    })
}

/// The tests that the context has no room for.
fn too_long(contestant: &Contestant) -> Vec<SkippedTest> {
    let skip = |test: &plan::Test| SkippedTest {
        model: contestant.named.name(),
        test: Some(test.name()),
        reason: format!("needs a context of {} tokens; the model has {}", test.positions(), contestant.context),
    };
    contestant.plan.too_long.iter().map(skip).collect()
}

/// One for each number of threads, in the order that was asked for.
fn computes(threads: &[usize]) -> Result<Vec<Compute>, Refusal> {
    let cpus = std::thread::available_parallelism().map_or(usize::MAX, usize::from);
    let threads = distinct(threads);
    if let Some(more) = threads.iter().find(|threads| **threads > cpus) {
        note(&format!("{more} threads share {cpus} CPUs"));
    }
    if threads.is_empty() {
        return Ok(vec![Compute::new(None)?]);
    }
    Ok(threads.into_iter().map(|threads| Compute::new(Some(threads))).collect::<engine::Result<_>>()?)
}

/// A note that nobody can be shown is no failure.
fn note(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "note: {text}");
}

fn settings(options: &args::Bench, compute: &Compute) -> Result<BenchSettings, Refusal> {
    let hint = "leave the variable out to use the best instructions of this CPU";
    let chosen = Chosen::from_environment().map_err(|error| Refusal { error, hint })?;
    Ok(BenchSettings {
        tool: tool(),
        commit: this_program().git.map(|git| git.commit),
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
fn measure(options: &args::Bench, computes: &[Compute], contestant: &Contestant) -> Result<Vec<BenchRow>, Refusal> {
    let subject = load(options, computes, &contestant.named)?;
    let tests = &contestant.plan.tests;
    let mut measurement = Measurement::new(&subject.model, computes, tests, options.machine.cache)?;
    let rounds = Rounds { warmup: options.tests.warmup, repeat: options.tests.repeat };
    let bar = progress(PERCENT, "");
    let is_watched = std::io::stderr().is_terminal();
    bar.set_length(((rounds.warmup + rounds.repeat) * tests.len() * computes.len()) as u64);
    let mut done = 0;
    let rows = measurement.run(tests, rounds, &mut |test, threads| {
        // Drawn before the clock runs, and only where somebody looks on.
        if is_watched {
            bar.set_message(format!("{}: {}, {}", contestant.named.name(), test.name(), plural(threads)));
            bar.set_position(done);
        }
        done += 1;
    });
    bar.finish_and_clear();
    let rows = rows?.into_iter().filter(|row| !row.samples_s.is_empty());
    Ok(rows.map(|row| described(&subject, contestant, computes, row)).collect())
}

fn plural(threads: usize) -> String {
    format!("{threads} thread{}", if threads == 1 { "" } else { "s" })
}

/// Reads a model, and shows how far it is.
fn load(options: &args::Bench, computes: &[Compute], named: &Named) -> Result<Subject, Refusal> {
    let bar = progress(PERCENT, "reading weights");
    let mut show = |done: usize, total: usize| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    };
    let machine = &options.machine;
    let load = LoadOptions { in_place: machine.in_place, exact: machine.exact, progress: Some(&mut show) };
    let subject = Subject::load(named, &computes[0], load);
    bar.finish_and_clear();
    subject
}

fn described(subject: &Subject, contestant: &Contestant, computes: &[Compute], row: Measured) -> BenchRow {
    let (model, test) = (subject.describe(), row.test);
    let speeds: Vec<f64> = row.samples_s.iter().map(|seconds| test.tokens() as f64 / seconds).collect();
    let (mean, stddev) = mean_and_stddev(&speeds);
    BenchRow {
        model: model.name,
        architecture: model.architecture,
        format: model.format,
        parameters: model.parameters,
        model_bytes: contestant.model_bytes,
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

fn printed(options: &args::Bench, bench: &Bench, failed: Option<Refusal>) -> Printed {
    let text = match options.format() {
        BenchFormat::Table => {
            let stdout = std::io::stdout();
            let width = shown::on(&stdout, 1, None).width;
            report::bench_text(bench, width)
        }
        BenchFormat::Markdown => report::bench_markdown(bench),
        BenchFormat::Json => bench.to_json(),
        BenchFormat::Jsonl => bench.to_json_lines(),
        BenchFormat::Csv => report::bench_csv(bench),
    };
    if matches!(options.format(), BenchFormat::Jsonl | BenchFormat::Csv) {
        // These have rows alone.
        for SkippedTest { model, test, reason } in &bench.skipped {
            let test = test.as_ref().map_or_else(String::new, |test| format!("{test} of "));
            note(&format!("skipped {test}{model}: {reason}"));
        }
    }
    let (text, not_written) = match options.target() {
        None => (text, None),
        Some(target) => (String::new(), write(target, &text).err()),
    };
    Printed { text, interrupted: bench.interrupted, not_written, failed }
}

fn write(target: &Path, text: &str) -> Result<(), String> {
    match export::write(target, text.as_bytes()) {
        Ok(()) => {}
        Err(Failure::NotWritten(error)) => return Err(error),
        Err(Failure::Refused(refusal)) => return Err(refusal.error),
        Err(Failure::Store(error)) => return Err(error.to_string()),
    }
    note(&format!("wrote {}", target.display()));
    Ok(())
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
