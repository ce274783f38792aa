//! `hotloop duel`: measures sides in turns and says which is better, if that can be said.

mod commands;
pub mod engine;
pub mod follower;
mod revisions;

use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use lab::duel::{Contestant, DuelSettings, confirm, duel, needs_confirmation};
use lab::machine::KernelChoice;
use record::{Duel, GateMetric, Metric, Verdict};

use super::{Outcome, Refusal, export, interrupt, shown, tool};
use crate::args;
use crate::args::{Format, OnUnresolved};
use follower::Follower;

/// What a side that is a revision begins with.
const REVISION: &str = "rev:";
/// What `--exact` counts.
const INSTRUCTIONS: &str = "instructions";
/// The part of a time budget that is for the first measurement; what is left confirms it.
const FIRST_SHARE: f64 = 0.6;
/// Exit code for what could not be measured.
const NOT_MEASURED: u8 = 1;
/// How long a request to end may be on its way.
const REQUEST: Duration = Duration::from_millis(100);

/// What could not be done, and with which code to end, if not that of bad input.
#[derive(Debug)]
pub struct Failure {
    pub refusal: Refusal,
    pub code: Option<u8>,
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Failure { refusal, code: None }
    }
}

/// Measures, judges, and measures changes a second time.
pub fn run(options: &args::Duel) -> Result<Outcome, Failure> {
    let hint = "leave the variable out to use the best that this CPU has";
    let chosen = KernelChoice::from_environment().map_err(|error| Refusal { error, hint })?;
    if let Some(out) = &options.output.out {
        // What cannot be written in the end is said before minutes of measuring.
        export::try_place(out).map_err(|error| Failure {
            refusal: Refusal { error: format!("cannot write {}: {error}", out.display()), hint: "name another place" },
            code: Some(NOT_MEASURED),
        })?;
    }
    let settings = settings(options, chosen);
    let mut follower = Follower::new();
    interrupt::listen_saying(follower::acknowledge, || std::process::exit(i32::from(interrupt::EXIT_CODE)));
    let contestants = contestants(options, &follower);
    let measured = contestants.map_err(not_ready).and_then(|mut contestants| {
        fight(&settings, &mut contestants, !options.effort.no_confirm, &mut follower).map_err(not_measured)
    });
    follower.finish();
    let mut duel = measured?;
    duel.command = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    Ok(told(options, &duel))
}

/// The sides, the base first: settings of the engine, or models; else each word is a revision of the project in this folder, or a
/// command.
fn contestants(options: &args::Duel, follower: &Follower) -> Result<Vec<Box<dyn Contestant>>, Failure> {
    if let Some(sides) = engine::asked(options)? {
        return Ok(engine::contestants(sides, &engine::terms(options))?
            .into_iter()
            .map(|side| Box::new(side) as _)
            .collect());
    }
    options.sides.iter().map(|side| contestant(side, options, follower)).collect()
}

/// What a word means.
fn contestant(side: &str, options: &args::Duel, follower: &Follower) -> Result<Box<dyn Contestant>, Failure> {
    match side.strip_prefix(REVISION) {
        Some(reference) => revisions::contestant(side, reference, options, follower),
        None => Ok(commands::contestant(side, options)?),
    }
}

fn fight(
    settings: &DuelSettings,
    contestants: &mut [Box<dyn Contestant>],
    confirms: bool,
    follower: &mut Follower,
) -> Result<Duel, String> {
    let budget = settings.time_budget;
    let begun = Instant::now();
    let share = if confirms { FIRST_SHARE } else { 1.0 };
    let first = DuelSettings { time_budget: budget.map(|budget| budget.mul_f64(share)), ..settings.clone() };
    let first = duel(&first, contestants, follower)?;
    if !confirms || !needs_confirmation(&first) {
        return Ok(first);
    }
    let left = budget.map(|budget| budget.saturating_sub(begun.elapsed()));
    confirm(first, &DuelSettings { time_budget: left, ..settings.clone() }, contestants, follower)
}

fn settings(options: &args::Duel, chosen: KernelChoice) -> DuelSettings {
    let effort = &options.effort;
    let mut settings = DuelSettings::new(options.mode(), gates(options), chosen, tool());
    settings.launches = effort.launches.map_or(settings.launches, |launches| launches as u64);
    settings.rounds = effort.rounds.map_or(settings.rounds, |rounds| rounds as u64);
    settings.round = options.round().unwrap_or(settings.round);
    settings.time_budget = effort.time_budget;
    if options.judged.exact && options.judged.metrics.is_empty() {
        settings.gate_reason = Some("`--exact` counts them, and counts do not depend on the load".to_owned());
    }
    let unsaid = options.judged.metrics.iter().filter(|gate| gate.threshold.is_none());
    settings.usual_gates = unsaid.map(|gate| gate.metric.clone()).collect();
    settings.name = options.output.name.clone();
    settings.seed = effort.seed.unwrap_or_else(another_seed);
    settings
}

/// Another one each time, and short enough to be typed.
fn another_seed() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| u64::from(since.subsec_nanos()))
}

fn gates(options: &args::Duel) -> Vec<GateMetric> {
    let gate = |metric: &str, threshold: Option<f64>| GateMetric {
        metric: metric.to_owned(),
        // What matters of others is known when they ran.
        threshold: threshold.unwrap_or_else(|| compare::rules::threshold(metric, &Metric::default())),
    };
    match options.judged.metrics.as_slice() {
        [] if options.judged.exact => vec![gate(INSTRUCTIONS, None)],
        // Chosen by what the sides do.
        [] => Vec::new(),
        named => named.iter().map(|named| gate(&named.metric, named.threshold)).collect(),
    }
}

/// What fails because somebody ended all of us is no fault of a side.
fn not_ready(failure: Failure) -> Failure {
    if failure.code.is_some() {
        // A compiler that a terminal interrupted may be gone before the request has reached us.
        std::thread::sleep(REQUEST);
    }
    if interrupt::asked() { Failure { code: Some(interrupt::EXIT_CODE), ..failure } } else { failure }
}

fn not_measured(error: String) -> Failure {
    let interrupted = interrupt::asked();
    let hint = if interrupted {
        "nothing was kept"
    } else {
        "try the side by itself, as `hotloop run -- COMMAND`; nothing was kept"
    };
    let code = if interrupted { interrupt::EXIT_CODE } else { NOT_MEASURED };
    Failure { refusal: Refusal { error, hint }, code: Some(code) }
}

/// What is printed and written of a duel.
fn told(options: &args::Duel, duel: &Duel) -> Outcome {
    let output = &options.output;
    let written = output.out.as_deref().map_or(Ok(()), |out| write(out, duel));
    let shown = shown::on(&std::io::stdout(), output.top, None);
    let (text, mut said) = match (output.json, output.format) {
        (true, _) => (duel.to_json(), report::duel_line(duel) + "\n"),
        (false, Format::Terminal) => (report::duel_text(duel, &shown), String::new()),
        (false, Format::Markdown) => (report::duel_markdown(duel, &shown), String::new()),
    };
    let code = code(duel, options.judged.on_unresolved);
    let is_unknown = matches!(duel.verdict, Verdict::Unresolved | Verdict::LeaningWorse);
    if is_unknown && code == 0 {
        said.push_str("warning: no certain verdict; `--on-unresolved fail` makes that a failure\n");
    }
    Outcome { text, said, code, not_written: written.err() }
}

fn write(out: &Path, duel: &Duel) -> Result<(), String> {
    export::replace(out, duel.to_json().as_bytes()).map_err(|error| format!("cannot write {}: {error}", out.display()))
}

fn code(duel: &Duel, on_unresolved: OnUnresolved) -> u8 {
    let is_unknown = matches!(duel.verdict, Verdict::Unresolved | Verdict::LeaningWorse);
    match compare::exit_code(duel.verdict) {
        _ if duel.interrupted => interrupt::EXIT_CODE,
        _ if is_unknown && on_unresolved == OnUnresolved::Pass => 0,
        code => code,
    }
}
