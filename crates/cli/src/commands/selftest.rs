//! `hotloop selftest`: whether its verdicts can be believed on this machine.

use std::io::IsTerminal as _;
use std::process::Command;
use std::time::Duration;

use compare::rules::{self, DuelMode};
use indicatif::ProgressBar;
use lab::machine::KernelChoice;
use lab::selftest::{SelfTestObserver, SelfTestProgress, SelfTestSettings};
use record::{GateMetric, Metric};

use super::{Refusal, interrupt, progress, tool};
use crate::args;

/// How much more work slowed sides have.
const SLOWDOWNS: [f64; 3] = [0.02, 0.05, 0.10];
/// What is judged, each alone.
const METRICS: [&str; 2] = ["cpu_s", "wall_s"];
/// The command that workers are started with.
const WORKER: &str = "selftest-worker";

/// What was found out, as text or JSON.
pub struct Tried {
    pub text: String,
    /// Whether somebody ended it.
    pub interrupted: bool,
}

/// Fights the duels, this program being its own worker.
pub fn run(options: &args::SelfTest) -> Result<Tried, Refusal> {
    let hint = "leave the variable out to use the best that this CPU has";
    let chosen = KernelChoice::from_environment().map_err(|error| Refusal { error, hint })?;
    let program = std::env::current_exe().map_err(|error| Refusal {
        error: format!("this program cannot be found to be started again: {error}"),
        hint: "start it by its path",
    })?;
    let gate = |metric: &str| GateMetric {
        metric: metric.to_owned(),
        threshold: rules::threshold(metric, &Metric::default()),
    };
    let settings = SelfTestSettings {
        mode: match options.mode {
            args::TriedMode::Standard => DuelMode::STANDARD,
            args::TriedMode::Thorough => DuelMode::THOROUGH,
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
    let mut watch = Bar(progress("{pos} of {len}", ""));
    let tried = lab::selftest::selftest(&settings, worker, &mut watch);
    watch.0.finish_and_clear();
    let hint = "give it more time with --time-budget, or try fewer duels with --duels";
    let tried = tried.map_err(|error| Refusal { error, hint })?;
    let text = if options.json { tried.to_json() } else { report::selftest_text(&tried) };
    Ok(Tried { text, interrupted: interrupt::asked() })
}

/// Works for the process that started this one, until it hangs up.
pub fn work(options: &args::SelfTestWorker) -> Result<(), Refusal> {
    let hint = "this command is for `hotloop selftest` alone";
    lab::selftest::serve(options.more).map_err(|error| Refusal { error: error.to_string(), hint })
}

/// Shows how far it is, where somebody looks on.
struct Bar(ProgressBar);

impl SelfTestObserver for Bar {
    fn tell(&mut self, told: &SelfTestProgress) {
        if std::io::stderr().is_terminal() {
            self.0.set_length(told.of);
            self.0.set_position(told.done);
            self.0.set_message(format!("{:+.0} % work: {:?}", told.more * 100.0, told.verdict));
        }
    }

    fn is_stopped(&self) -> bool {
        interrupt::asked()
    }
}
