//! How often `hotloop duel`, `gate` and `models` are right about real programs on a busy machine: counts of false verdicts where
//! both sides are the same, and of changes that are found where they differ. See the README beside this file.
//!
//! `cargo bench -p hotloop-cli --bench duels --profile release` measures and judges; without `--bench`, as by `cargo test`, it
//! only checks that everything runs.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints its table")]

mod bench;
#[path = "../loaded/hogs.rs"]
mod hogs;
mod options;
mod outcome;
mod programs;
mod random;
mod table;
mod trials;

use std::process::ExitCode;
use std::time::Instant;

use bench::Bench;
use hogs::Hogs;
use options::Options;

fn main() -> ExitCode {
    if std::env::args().any(|argument| argument == "--help") {
        println!("{}", options::USAGE);
        return ExitCode::SUCCESS;
    }
    let failures = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => measure(options).unwrap_or_else(|error| vec![error]),
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(2);
        }
    };
    for failure in &failures {
        println!("\nfailed: {failure}");
    }
    if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs the trials that are asked for; what failed.
fn measure(options: Options) -> Result<Vec<String>, String> {
    let start = Instant::now();
    let mut bench = Bench::new(options)?;
    println!("{} CPU hogs, seed {}\n\n{}", bench.options.hogs(), bench.options.seed, table::HEAD);
    let hogs = Hogs::start(bench.options.hogs());
    let asked: Vec<_> = trials::ALL.into_iter().filter(|(name, _)| bench.options.has(name)).collect();
    for (name, trial) in asked {
        // What stops one trial, such as a missing compiler, need not stop the next.
        if let Err(error) = trial(&mut bench) {
            bench.fail(format!("{name}: {error}"));
        }
    }
    drop(hogs);
    let failures = bench.finish();
    println!("\nThis took {:.0} s.", start.elapsed().as_secs_f64());
    Ok(failures)
}
