//! `hotloop duel`: measures sides in turns and says which is better, if that can be said.

mod command_sides;
pub mod duel_bar;
pub mod engine_sides;
mod revision_sides;

use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use lab::duel::{Contestant, DuelSettings, confirm, duel, needs_confirmation};
use lab::machine::KernelChoice;
use record::{Duel, GateMetric, Metric, Verdict};

use super::error::FAILED;
use super::{CommandError, CommandOutput, documents, export, interrupt, terminal, tool};
use crate::args;
use crate::args::OnUndecided;
use duel_bar::DuelBar;

/// Sides with this prefix are revisions.
const REVISION: &str = "rev:";
/// What `--exact` counts.
const INSTRUCTIONS: &str = "instructions";
/// The part of a time budget that is for the first measurement; what is left confirms it.
const FIRST_SHARE: f64 = 0.6;
/// How long a request to stop may take to arrive.
const REQUEST: Duration = Duration::from_millis(100);

/// Measures, judges, and measures changes a second time.
pub fn run(options: &args::Duel) -> Result<CommandOutput, CommandError> {
    let chosen = KernelChoice::from_environment().map_err(CommandError::instruction_set)?;
    if let Some(out) = &options.output.out {
        // A file that cannot be written is reported before minutes of measuring.
        export::try_place(out).map_err(|error| {
            CommandError::new(format!("cannot write {}: {error}", out.display()), "name another file with --out")
                .with_code(FAILED)
        })?;
    }
    let settings = settings(options, chosen);
    let mut progress = DuelBar::new();
    interrupt::listen_with_answer(duel_bar::acknowledge, || std::process::exit(i32::from(interrupt::EXIT_CODE)));
    let contestants = contestants(options, &progress);
    let measured = contestants.map_err(not_ready).and_then(|mut contestants| {
        measure(&settings, &mut contestants, !options.effort.no_confirm, &mut progress).map_err(not_measured)
    });
    progress.finish();
    let mut duel = measured?;
    duel.command = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    Ok(output(options, &duel))
}

/// The sides, the base first: settings of the engine, or models; else each word is a revision of the project in this folder, or a
/// command.
fn contestants(options: &args::Duel, progress: &DuelBar) -> Result<Vec<Box<dyn Contestant>>, CommandError> {
    if let Some(sides) = engine_sides::asked(options)? {
        return Ok(engine_sides::contestants(sides, &engine_sides::terms(options))?
            .into_iter()
            .map(|side| Box::new(side) as _)
            .collect());
    }
    options.sides.iter().map(|side| contestant(side, options, progress)).collect()
}

/// What a word means.
fn contestant(side: &str, options: &args::Duel, progress: &DuelBar) -> Result<Box<dyn Contestant>, CommandError> {
    match side.strip_prefix(REVISION) {
        Some(reference) => revision_sides::contestant(side, reference, options, progress),
        None => command_sides::contestant(side, options),
    }
}

fn measure(
    settings: &DuelSettings,
    contestants: &mut [Box<dyn Contestant>],
    confirms: bool,
    progress: &mut DuelBar,
) -> Result<Duel, String> {
    let budget = settings.time_budget;
    let begun = Instant::now();
    let share = if confirms { FIRST_SHARE } else { 1.0 };
    let first = DuelSettings { time_budget: budget.map(|budget| budget.mul_f64(share)), ..settings.clone() };
    let first = duel(&first, contestants, progress)?;
    if !confirms || !needs_confirmation(&first) {
        return Ok(first);
    }
    let left = budget.map(|budget| budget.saturating_sub(begun.elapsed()));
    confirm(first, &DuelSettings { time_budget: left, ..settings.clone() }, contestants, progress)
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
        // KernelChoice by what the sides do.
        [] => Vec::new(),
        named => named.iter().map(|named| gate(&named.metric, named.threshold)).collect(),
    }
}

/// A failure because of Ctrl-C is not the fault of a side.
fn not_ready(error: CommandError) -> CommandError {
    if error.code == FAILED {
        // A compiler that Ctrl-C interrupted may end before the request has reached this process.
        std::thread::sleep(REQUEST);
    }
    error
}

fn not_measured(error: String) -> CommandError {
    let interrupted = interrupt::is_requested();
    let hint = if interrupted {
        "nothing was saved"
    } else {
        "try the side alone: `hotloop run -- COMMAND`; nothing was saved"
    };
    CommandError::new(error, hint).with_code(FAILED)
}

/// Prints and writes a duel.
fn output(options: &args::Duel, duel: &Duel) -> CommandOutput {
    let asked = &options.output;
    let written = asked.out.as_deref().map_or(Ok(()), |out| write(out, duel));
    let look = terminal::report_options(&std::io::stdout(), asked.top, None);
    let (text, mut notes) = match (asked.json, asked.format) {
        (true, _) => (duel.to_json(), report::duel_verdict_line(duel) + "\n"),
        (false, format) => (documents::text(&report::duel(duel, &look), format, look.page()), String::new()),
    };
    let code = code(duel, options.judged.on_unresolved);
    let is_unknown = matches!(duel.verdict, Verdict::Unresolved | Verdict::LeaningWorse);
    if is_unknown && code == 0 {
        notes.push_str("warning: no certain verdict; `--on-unresolved fail` makes that a failure\n");
    }
    let errors = written.err().map(|error| CommandError::without_hint(error).with_code(FAILED)).into_iter().collect();
    CommandOutput { notes, errors, code, ..CommandOutput::text(text) }
}

fn write(out: &Path, duel: &Duel) -> Result<(), String> {
    export::replace(out, duel.to_json().as_bytes()).map_err(|error| format!("cannot write {}: {error}", out.display()))
}

fn code(duel: &Duel, on_unresolved: OnUndecided) -> u8 {
    let is_unknown = matches!(duel.verdict, Verdict::Unresolved | Verdict::LeaningWorse);
    match compare::exit_code(duel.verdict) {
        _ if duel.interrupted => interrupt::EXIT_CODE,
        _ if is_unknown && on_unresolved == OnUndecided::Pass => 0,
        code => code,
    }
}
