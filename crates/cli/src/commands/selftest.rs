//! `hotloop selftest`: how often verdicts are wrong on this machine.

use std::process::Command;
use std::time::Duration;

use compare::rules::{self, DuelMode};
use indicatif::ProgressBar;
use lab::machine::KernelChoice;
use lab::selftest::{SelfTestObserver, SelfTestProgress, SelfTestSettings};
use record::{GateMetric, Metric};

use super::error::FAILED;
use super::{CommandError, CommandOutput, documents, interrupt, progress, tool};
use crate::args;

/// How much more work slower sides do.
const SLOWDOWNS: [f64; 3] = [0.02, 0.05, 0.10];
/// The metrics, each judged alone.
const METRICS: [&str; 2] = ["cpu_s", "wall_s"];
/// The command that workers are started with.
const WORKER: &str = "selftest-worker";

/// Runs the duels, with this program as the worker. It has done what it was asked, whatever it finds out.
pub fn run(options: &args::SelfTest) -> Result<CommandOutput, CommandError> {
    selftest(options).map_err(|error| error.with_code(FAILED))
}

fn selftest(options: &args::SelfTest) -> Result<CommandOutput, CommandError> {
    let chosen = KernelChoice::from_environment().map_err(CommandError::instruction_set)?;
    let program = std::env::current_exe().map_err(|error| {
        CommandError::new(format!("cannot find the file of this program: {error}"), "start hotloop by its path")
    })?;
    let gate = |metric: &str| GateMetric {
        metric: metric.to_owned(),
        threshold: rules::threshold(metric, &Metric::default()),
    };
    let settings = SelfTestSettings {
        mode: match options.mode {
            args::SelfTestMode::Standard => DuelMode::STANDARD,
            args::SelfTestMode::Thorough => DuelMode::THOROUGH,
        },
        round: Duration::from_millis(options.round as u64),
        same: options.duels as u64,
        slowed: options.slowed.unwrap_or(options.duels.div_ceil(2)) as u64,
        slowdowns: SLOWDOWNS.to_vec(),
        gates: METRICS.map(gate).to_vec(),
        budget: options.time_budget,
        seed: u64::from(std::process::id()),
        chosen,
        tool: tool(),
    };
    let worker = move |more: f64| {
        let mut command = Command::new(&program);
        command.args([WORKER, "--more", &more.to_string()]);
        command
    };
    interrupt::listen(|| std::process::exit(i32::from(interrupt::EXIT_CODE)));
    let mut bar = DuelCount(progress("{pos} of {len}", ""));
    let tried = lab::selftest::selftest(&settings, worker, &mut bar);
    bar.0.finish_and_clear();
    let hint = "give it more time with --time-budget, or try fewer duels with --duels";
    let tried = tried.map_err(|error| CommandError::new(error, hint))?;
    let text = if options.json { tried.to_json() } else { documents::on_stdout(&report::selftest(&tried)) };
    Ok(CommandOutput { interrupted: interrupt::is_requested(), ..CommandOutput::text(text) })
}

/// Works for the process that started this one, until that closes the pipe.
pub fn work(options: &args::SelfTestWorker) -> Result<CommandOutput, CommandError> {
    let hint = "this command is for `hotloop selftest` alone";
    lab::selftest::serve(options.more).map_err(|error| CommandError::new(error.to_string(), hint))?;
    Ok(CommandOutput::default())
}

/// The number of duels that are done.
struct DuelCount(ProgressBar);

impl SelfTestObserver for DuelCount {
    fn tell(&mut self, told: &SelfTestProgress) {
        if !self.0.is_hidden() {
            self.0.set_length(told.of);
            self.0.set_position(told.done);
            self.0.set_message(format!("{:+.0} % work: {:?}", told.more * 100.0, told.verdict));
        }
    }

    fn is_stopped(&self) -> bool {
        interrupt::is_requested()
    }
}
