//! The arguments of `hotloop run`.

use std::ffi::OsString;

use clap::Args;

use super::StoreOptions;
use super::values::{count, number};

/// Run any program and measure its time, CPU and memory
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "\
The program keeps its input, output and environment; the report goes to standard
error. If it runs more than once, its output is hidden, unless a run fails.

A program that is linked with hotloop (in Rust with the feature `enabled`) needs
no further code to be profiled: it finds HOTLOOP_SNAPSHOT_DIR in its environment,
records from before `main` on, and writes its profile when it returns from `main`
or calls `exit`. If several processes record, the longest recording is used.

Ctrl-C also reaches the program; what was measured until it ends is reported.

Exit code: that of the program; 128 plus the signal's number if a signal ended
it; 126 if it cannot be executed, 127 if it is not found.

Examples:
  hotloop run -- ./train --steps 100                 with scopes: its call tree, too
  hotloop run --repeat 10 --warmup 2 -- ./my-engine  mean, spread and range of 10 runs
  hotloop run --budget 0 --timeline -- ./my-engine   time every call
  hotloop run --json --no-save -- make test")]
pub struct Run {
    /// Number of timed runs; the profile is from the last one
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = count(1..=1_000_000))]
    pub repeat: usize,
    /// Number of untimed runs before them
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = count(0..=1_000_000))]
    pub warmup: usize,
    /// Show the program's output for every run
    #[arg(long)]
    pub show_output: bool,
    /// Record a timeline: the last calls of each thread
    #[arg(long)]
    pub timeline: bool,
    /// CPU time that profiling may take, in percent; 0 times every call
    /// [default: 2]
    #[arg(long, value_name = "PERCENT", value_parser = number(0.0..=100.0))]
    pub budget: Option<f64>,
    /// Measure the machine's limits, too (2 seconds), to show rates as shares
    #[arg(long)]
    pub limits: bool,
    /// Print the run as JSON to standard output, instead of the report
    #[arg(long)]
    pub json: bool,
    /// Rows of each ranking
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = count(1..=10_000))]
    pub top: usize,
    /// Do not save the run
    #[arg(long)]
    pub no_save: bool,
    /// Tag for the run, to find it again
    #[arg(long, value_name = "NAME", conflicts_with = "no_save")]
    pub tag: Option<String>,
    #[command(flatten)]
    pub store: StoreOptions,
    /// The program and its arguments
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub command: Vec<OsString>,
}
