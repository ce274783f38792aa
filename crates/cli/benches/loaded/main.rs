//! Whether a profile still holds on a busy machine: `hotloop` is run quietly, then with one CPU hog per CPU beside it,
//! and its waiting time is compared with the kernel's count. See `benches/README.md`.
//!
//! `cargo bench -p hotloop-cli --bench loaded --profile release` measures and judges; `-- --quick` only checks that
//! everything runs, as `cargo test` does.
#![allow(clippy::print_stdout, reason = "a benchmark prints its table")]

mod hogs;
mod shares;
mod waiting;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use hogs::Hogs;
use record::Run;
use shares::{Hottest, LoadShift, RunShares};
use waiting::Comparison;

/// Loaded runs that may rank the hottest scopes differently, beyond ties.
const DISAGREEMENTS_ALLOWED: usize = 1;
/// How far a share of a loaded run may lie from the mean of the quiet runs, in points.
const POINTS_ALLOWED: f64 = 3.0;
/// How far the waiting time may lie from the kernel's, as a share of it.
const WAITING_ERROR_ALLOWED: f64 = 0.05;

/// How much to measure.
struct Effort {
    quiet_runs: usize,
    loaded_runs: usize,
    /// Runs in which every call is timed, quiet and loaded: what they differ in is not estimated.
    every_call_runs: usize,
    /// Seconds, as `--time-budget` takes them.
    time_budget: &'static str,
    waiting_repeats: usize,
    waiting_time: Duration,
    /// Whether the figures decide the exit code.
    is_judged: bool,
}

impl Effort {
    const FULL: Effort = Effort {
        quiet_runs: 5,
        loaded_runs: 20,
        every_call_runs: 5,
        time_budget: "2",
        waiting_repeats: 5,
        waiting_time: Duration::from_secs(3),
        is_judged: true,
    };

    /// Too short to judge anything: does everything run.
    const QUICK: Effort = Effort {
        quiet_runs: 1,
        loaded_runs: 1,
        every_call_runs: 1,
        time_budget: "0.5",
        waiting_repeats: 1,
        waiting_time: Duration::from_millis(200),
        is_judged: false,
    };

    fn from_environment() -> Self {
        let has = |option: &str| std::env::args().any(|argument| argument == option);
        let asked = std::env::var_os("HOTLOOP_BENCH_QUICK").is_some_and(|value| value != "0");
        // `cargo bench` passes `--bench`; `cargo test --benches` passes nothing.
        if has("--quick") || has("--test") || !has("--bench") || asked { Self::QUICK } else { Self::FULL }
    }
}

fn main() -> ExitCode {
    let effort = Effort::from_environment();
    let store = Folder::new();
    let mut failures = compare_runs(&effort, &store.0);
    println!();
    failures.extend(compare_waiting(&effort));
    if !effort.is_judged {
        println!("\nquick mode: everything ran; nothing is judged");
        return ExitCode::SUCCESS;
    }
    for failure in &failures {
        println!("\nfailed: {failure}");
    }
    if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs of the program under one load.
struct Runs {
    /// As usual: what is short is sampled.
    usual: Vec<RunShares>,
    every_call: Vec<RunShares>,
}

impl Runs {
    /// Prints each. Those with every call timed lie evenly among the others.
    fn measure(load: &str, usual: usize, effort: &Effort, store: &Path) -> Self {
        let mut runs = Runs { usual: Vec::new(), every_call: Vec::new() };
        for number in 1..=usual {
            runs.usual.push(measure(Timing::Usual, &format!("{load} {number}"), effort, store));
            if runs.every_call.len() * usual < number * effort.every_call_runs {
                let label = format!("{load}, every call {}", runs.every_call.len() + 1);
                runs.every_call.push(measure(Timing::EveryCall, &label, effort, store));
            }
        }
        runs
    }
}

fn measure(timing: Timing, label: &str, effort: &Effort, store: &Path) -> RunShares {
    let shares = RunShares::of(&profiled_run(timing, effort.time_budget, store));
    println!("{}", shares.row(label));
    shares
}

/// Prints the runs of the program, quiet and loaded; returns the criteria that they fail.
fn compare_runs(effort: &Effort, store: &Path) -> Vec<String> {
    println!("{}", shares::HEAD);
    let quiet = Runs::measure("quiet", effort.quiet_runs, effort, store);
    let loaded = {
        let _hogs = Hogs::start(cpus());
        Runs::measure("loaded", effort.loaded_runs, effort, store)
    };
    summarise_runs(&quiet, &loaded)
}

/// How many this process may use.
fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Prints how the loaded runs compare with the quiet ones; returns the criteria that they fail.
fn summarise_runs(quiet: &Runs, loaded: &Runs) -> Vec<String> {
    let reference = Hottest::of(&quiet.usual);
    let shift = LoadShift::between(&quiet.every_call, &loaded.every_call);
    let (runs, exact) = (loaded.usual.len(), loaded.every_call.len());
    let same = |runs: &[RunShares]| runs.iter().filter(|run| reference.has_order_of(run)).count();
    let contradicting = loaded.usual.iter().filter(|run| reference.is_contradicted_by(run, &shift)).count();
    let apart = loaded.usual.iter().map(|run| reference.points_apart(run)).fold(0.0, f64::max);
    let (every_call_quiet, every_call_loaded) = (Hottest::of(&quiet.every_call), Hottest::of(&loaded.every_call));
    println!("\nhottest scopes, mean of the quiet runs: {reference}");
    println!("every call timed: quiet {every_call_quiet}; loaded {every_call_loaded}");
    println!("what the load itself changes, every call timed, in points: {}", shift.text(&reference));
    println!("same order, ties as ties: {} of {runs} loaded runs", runs - contradicting);
    println!("same order, strictly: {} of {runs} loaded runs", same(&loaded.usual));
    println!("same order, strictly, every call timed: {} of {exact} loaded runs", same(&loaded.every_call));
    println!("largest difference of these shares from the quiet mean: {apart:.1} points");
    let (quiet_range, loaded_range) = (shares::waiting_range(&quiet.usual), shares::waiting_range(&loaded.usual));
    println!("waiting for a CPU: quiet {quiet_range}; loaded {loaded_range}");
    let mut failures = Vec::new();
    if contradicting > DISAGREEMENTS_ALLOWED {
        failures.push(format!("{contradicting} of {runs} loaded runs exclude the quiet order"));
    }
    if apart > POINTS_ALLOWED {
        failures.push(format!("a share is {apart:.1} points off; {POINTS_ALLOWED:.0} are allowed"));
    }
    failures
}

/// Prints the profiler's waiting time beside the kernel's; returns the criteria that it fails.
fn compare_waiting(effort: &Effort) -> Vec<String> {
    println!("{}", waiting::HEAD);
    let work = waiting::Work::calibrated();
    let _hogs = Hogs::start(cpus());
    let mut failures = Vec::new();
    for number in 1..=effort.waiting_repeats {
        match Comparison::measure(work, effort.waiting_time) {
            Ok(comparison) => {
                println!("{}", comparison.row(number));
                failures.extend(waiting_failure(number, &comparison));
            }
            Err(why) => failures.push(format!("waiting is not measured: {why}")),
        }
    }
    failures
}

fn waiting_failure(number: usize, comparison: &Comparison) -> Option<String> {
    let ratio = comparison.ratio();
    // A ratio that is not a number fails too.
    let is_close = (ratio - 1.0).abs() <= WAITING_ERROR_ALLOWED;
    let allowed = WAITING_ERROR_ALLOWED * 100.0;
    (!is_close)
        .then(|| format!("repeat {number}: waiting is {ratio:.3} of the kernel's count; {allowed:.0} % off is allowed"))
}

/// How the program's scopes are timed.
#[derive(Clone, Copy)]
enum Timing {
    Usual,
    /// As `--trace` does, so that the timeline has no gaps.
    EveryCall,
}

/// One run of the program, as a user starts it.
fn profiled_run(timing: Timing, time_budget: &str, store: &Path) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hotloop"));
    if let Timing::EveryCall = timing {
        command.args(["profile", "standard", "--trace"]);
    }
    let output = command
        .args(["--time-budget", time_budget, "--json"])
        .env("HOTLOOP_STORE", store)
        .stdin(Stdio::null())
        .output()
        .expect("the program starts");
    assert!(output.status.success(), "hotloop failed: {}", String::from_utf8_lossy(&output.stderr));
    Run::from_json(&String::from_utf8_lossy(&output.stdout)).expect("hotloop --json prints a run")
}

/// A folder for the store, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("loaded-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder can be made");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A leftover in the build folder does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
