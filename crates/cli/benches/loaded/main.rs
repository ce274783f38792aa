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
use shares::{Hottest, RunShares};
use waiting::Comparison;

/// Loaded runs that may rank the hottest scopes differently.
const DISAGREEMENTS_ALLOWED: usize = 1;
/// How far a share of a loaded run may lie from the mean of the quiet runs, in points.
const POINTS_ALLOWED: f64 = 3.0;
/// How far the waiting time may lie from the kernel's, as a share of it.
const WAITING_ERROR_ALLOWED: f64 = 0.05;

/// How much to measure.
struct Effort {
    quiet_runs: usize,
    loaded_runs: usize,
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
        time_budget: "2",
        waiting_repeats: 5,
        waiting_time: Duration::from_secs(3),
        is_judged: true,
    };

    /// Too short to judge anything: does everything run.
    const QUICK: Effort = Effort {
        quiet_runs: 1,
        loaded_runs: 1,
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

/// Prints the runs of the program, quiet and loaded; returns the criteria that they fail.
fn compare_runs(effort: &Effort, store: &Path) -> Vec<String> {
    println!("{}", shares::HEAD);
    let measure = |load: &str, number: usize| {
        let shares = RunShares::of(&profiled_run(effort.time_budget, store));
        println!("{}", shares.row(&format!("{load} {number}")));
        shares
    };
    let quiet: Vec<RunShares> = (1..=effort.quiet_runs).map(|number| measure("quiet", number)).collect();
    let loaded: Vec<RunShares> = {
        let _hogs = Hogs::start(cpus());
        (1..=effort.loaded_runs).map(|number| measure("loaded", number)).collect()
    };
    summarise_runs(&quiet, &loaded)
}

/// How many this process may use.
fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Prints how the loaded runs compare with the quiet ones; returns the criteria that they fail.
fn summarise_runs(quiet: &[RunShares], loaded: &[RunShares]) -> Vec<String> {
    let reference = Hottest::of(quiet);
    let agreeing = loaded.iter().filter(|run| reference.has_order_of(run)).count();
    let apart = loaded.iter().map(|run| reference.points_apart(run)).fold(0.0, f64::max);
    println!("\nhottest scopes, mean of the quiet runs: {reference}");
    println!("same three scopes in the same order: {agreeing} of {} loaded runs", loaded.len());
    let contradicting = loaded.iter().filter(|run| reference.is_contradicted_by(run)).count();
    println!("another order, with 95 % intervals that do not overlap: {contradicting} of {} loaded runs", loaded.len());
    println!("largest difference of these shares from the quiet mean: {apart:.1} points");
    println!("waiting for a CPU: quiet {}; loaded {}", shares::waiting_range(quiet), shares::waiting_range(loaded));
    let mut failures = Vec::new();
    if agreeing + DISAGREEMENTS_ALLOWED < loaded.len() {
        let needed = loaded.len() - DISAGREEMENTS_ALLOWED;
        failures.push(format!("{agreeing} of {} loaded runs agree; {needed} are needed", loaded.len()));
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

/// One run of the program, as a user starts it.
fn profiled_run(time_budget: &str, store: &Path) -> Run {
    let output = Command::new(env!("CARGO_BIN_EXE_hotloop"))
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
