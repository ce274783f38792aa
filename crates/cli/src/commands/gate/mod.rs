//! `hotloop gate`: measures the cells of a file and says whether a change may pass.

mod cell_contestants;
mod output_folder;
mod plan;
mod revisions;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use lab::duel::{Contestant, DuelSettings, confirm, duel, needs_confirmation};
use lab::gate::{CellConfig, CellSides, EXAMPLE, GateConfig};
use lab::machine::KernelChoice;
use record::{Duel, GATE_SCHEMA, GATE_VERSION, Gate, GateCell, GateMetric, Verdict};

use super::duel::duel_bar::DuelBar;
use super::error::FAILED;
use super::{CommandError, CommandOutput, documents, interrupt, tool};
use crate::args;
use crate::args::OnUndecided;
use crate::suggest::did_you_mean;
use cell_contestants::CellContestants;
use output_folder::OutputFolder;
use revisions::Revisions;

/// No sensible config is longer.
const MOST_BYTES: u64 = 1 << 20;

/// Judges a change, or does what else was asked.
pub fn run(options: &args::Gate) -> Result<CommandOutput, CommandError> {
    if options.init {
        return init(&options.config);
    }
    let config = read(options)?;
    let cells = chosen(&config, &options.cells)?;
    let needs_revisions = cells.iter().any(|cell| matches!(cell.sides, CellSides::Revisions { .. }));
    let revisions = revisions(options, needs_revisions, !config.accepted.is_empty())?;
    if options.dry_run {
        return Ok(CommandOutput::text(plan::text(&config, &cells, revisions.as_ref())));
    }
    let folder = options.out.as_deref().map(OutputFolder::open).transpose()?;
    let (gate, lost) = measure(&config, &cells, (options, revisions), folder.as_ref())?;
    let today = gate.created.get(..10).unwrap_or_default().to_owned();
    let gate = compare::gate(gate, &today);
    let written =
        folder.map_or(Ok(()), |folder| folder.finish(&gate)).and_then(|()| output_folder::tell_workflow(&gate));
    let (text, notes) = if options.json {
        (gate.to_json(), report::gate_verdict_line(&gate) + "\n")
    } else {
        (documents::on_stdout(&report::gate(&gate)), String::new())
    };
    let unwritten = lost.or(written.err()).map(|error| CommandError::without_hint(error).with_code(FAILED));
    let errors = unwritten.into_iter().collect();
    Ok(CommandOutput { notes, errors, code: gate.exit_code, ..CommandOutput::text(text) })
}

/// The revisions, if cells compare them. Accepted regressions need them, too, if they can be found.
fn revisions(options: &args::Gate, are_compared: bool, are_asked: bool) -> Result<Option<Revisions>, CommandError> {
    let find = || revisions::find(options.base.as_deref(), options.head.as_deref());
    match (are_compared, &options.base) {
        (true, _) => find().map(Some),
        (false, Some(base)) => Err(CommandError::new(
            format!("no selected cell compares revisions, so `{base}` has no meaning"),
            "leave BASE and HEAD out; cells with `{bin}` in their `command` compare revisions",
        )),
        (false, None) if are_asked => Ok(find().ok()),
        (false, None) => Ok(None),
    }
}

/// Writes the example, unless there is a file.
fn init(path: &Path) -> Result<CommandOutput, CommandError> {
    let made = fs::File::create_new(path).and_then(|mut file| std::io::Write::write_all(&mut file, EXAMPLE.as_bytes()));
    made.map_err(|error| {
        CommandError::new(
            format!("cannot write {}: {error}", path.display()),
            "existing files are never overwritten; `--config FILE` names another one",
        )
    })?;
    let wrote = format!("wrote {}; edit its cells, then try `hotloop gate --dry-run`\n", path.display());
    Ok(CommandOutput::notes(wrote))
}

fn read(options: &args::Gate) -> Result<GateConfig, CommandError> {
    let path = &options.config;
    let failed = |error: String| {
        CommandError::new(
            format!("cannot read {}: {error}", path.display()),
            "`hotloop gate --init` writes an example; `--config FILE` names another file",
        )
    };
    let about = fs::metadata(path).map_err(|error| failed(error.to_string()))?;
    if about.len() > MOST_BYTES {
        return Err(failed(format!("too large: {} bytes, the maximum is {MOST_BYTES}", about.len())));
    }
    let text = fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    let mut config = GateConfig::read(&text).map_err(|fault| {
        CommandError::new(
            format!("{}, {fault}", path.display()),
            "`hotloop gate --init --config FILE` writes an example with all keys",
        )
    })?;
    if let Some(word) = options.on_unresolved {
        config.fail_on_unresolved = word == OnUndecided::Fail;
    }
    match config.cannot_pass() {
        Some(cell) => Err(CommandError::new(
            format!("cell `{}` always fails: quick mode decides nothing, and undecided cells fail", cell.name),
            "leave `--on-unresolved fail` out, or use mode = \"standard\" for this cell",
        )),
        None => Ok(config),
    }
}

/// The cells that were asked for, in the order of the file.
fn chosen<'a>(config: &'a GateConfig, names: &[String]) -> Result<Vec<&'a CellConfig>, CommandError> {
    if let Some(unknown) = names.iter().find(|name| config.cells.iter().all(|cell| cell.name != **name)) {
        let known: Vec<&str> = config.cells.iter().map(|cell| cell.name.as_str()).collect();
        let meant = did_you_mean(unknown, &known);
        let error = format!("there is no cell `{unknown}`{meant}; known cells: {}", known.join(", "));
        return Err(CommandError::new(error, "`hotloop gate --dry-run` shows the cells"));
    }
    Ok(config.cells.iter().filter(|cell| names.is_empty() || names.contains(&cell.name)).collect())
}

/// Measures each cell, without a decision. Also returns why the samples of one could not be saved.
fn measure(
    config: &GateConfig,
    cells: &[&CellConfig],
    (options, revisions): (&args::Gate, Option<Revisions>),
    folder: Option<&OutputFolder>,
) -> Result<(Gate, Option<String>), CommandError> {
    let kernels = KernelChoice::from_environment().map_err(CommandError::instruction_set)?;
    let is_chosen = |name: &str| cells.iter().any(|cell| cell.name == name);
    let mut gate = Gate {
        schema: GATE_SCHEMA.to_owned(),
        version: GATE_VERSION,
        tool: tool(),
        created: lab::now(),
        config: options.config.display().to_string(),
        base: revisions.as_ref().map(|both| both.base.clone()),
        head: revisions.as_ref().map(|both| both.head.clone()),
        commits: revisions.as_ref().map(|both| both.commits.clone()).unwrap_or_default(),
        fail_on_unresolved: config.fail_on_unresolved,
        accepted: config.accepted.iter().filter(|one| is_chosen(&one.cell)).cloned().collect(),
        not_measured: left_out(config, &is_chosen, revisions.as_ref()),
        ..Gate::default()
    };
    let mut progress = DuelBar::new();
    let mut contestants = CellContestants::new(&config.build, revisions);
    let mut lost = None;
    interrupt::listen(|| std::process::exit(i32::from(interrupt::EXIT_CODE)));
    for (number, cell) in (1_u64..).zip(cells) {
        if interrupt::is_requested() {
            gate.interrupted = true;
            gate.not_measured.push(format!("the cell `{}`", cell.name));
            continue;
        }
        progress.next(&cell.name, number, cells.len());
        let cell_duel = CellDuel { cell, seed: config.seed.wrapping_add(number), kernels };
        let (measured, duel) = cell_duel.run(&mut contestants, &mut progress);
        gate.interrupted |= interrupt::is_requested();
        gate.not_measured.extend(unmeasured(cell, duel.as_ref()));
        let kept = folder.zip(duel).map(|(folder, duel)| folder.save(&cell.name, &duel));
        let (file, error) = kept.map_or((None, None), |kept| (kept.clone().ok(), kept.err()));
        lost = lost.or(error);
        gate.cells.push(GateCell { file, ..measured });
    }
    progress.finish();
    Ok((gate, lost))
}

/// Metrics of a cell that are not available on this system, and did not count.
fn unmeasured(cell: &CellConfig, duel: Option<&Duel>) -> Vec<String> {
    let Some(duel) = duel else { return Vec::new() };
    let is_judged = |metric: &str| duel.design.gates.iter().any(|gate| gate.metric == metric);
    let missing = cell.gates.iter().filter(|gate| !is_judged(&gate.metric));
    missing.map(|gate| format!("`{}` of the cell `{}`: not available here", gate.metric, cell.name)).collect()
}

/// What is in the file but is not measured now.
fn left_out(config: &GateConfig, is_chosen: &dyn Fn(&str) -> bool, revisions: Option<&Revisions>) -> Vec<String> {
    let others = config.cells.iter().filter(|cell| !is_chosen(&cell.name));
    let others = others.map(|cell| format!("the cell `{}`, which --cell left out", cell.name));
    let dirty = revisions.filter(|both| both.is_dirty && both.head.name == "HEAD");
    others.chain(dirty.map(|_| "uncommitted changes".to_owned())).collect()
}

/// One cell, and how it is measured.
struct CellDuel<'a> {
    cell: &'a CellConfig,
    seed: u64,
    kernels: KernelChoice,
}

impl CellDuel<'_> {
    /// Measures it. The result says why it could not be measured.
    fn run(&self, contestants: &mut CellContestants, progress: &mut DuelBar) -> (GateCell, Option<Duel>) {
        let began = Instant::now();
        let measured = contestants
            .contestants(self.cell, progress)
            .and_then(|mut sides| self.duel(&self.settings(), &mut sides, progress));
        let (base, candidate) = plan::sides(&self.cell.sides);
        let advisory = self.cell.gates.iter().filter(|gate| gate.advisory);
        let mut cell = GateCell {
            name: self.cell.name.clone(),
            advisory: self.cell.advisory,
            advisory_metrics: advisory.map(|gate| gate.metric.clone()).collect(),
            base,
            candidate,
            mode: self.cell.effort.mode.name.to_owned(),
            budgets: self.cell.budgets.clone(),
            seconds: Some(began.elapsed().as_secs_f64()),
            ..GateCell::default()
        };
        match measured {
            Err(error) => {
                cell.failure = Some(error);
                (cell, None)
            }
            Ok(duel) => {
                cell.gates = duel.design.gates.clone();
                cell.metrics = duel.metrics.clone();
                cell.findings = duel.findings.clone();
                // Without a successful second measurement the cell must not pass.
                cell.failure = duel.failures.first().cloned();
                let arm = cell.findings.first().map_or("", |finding| finding.arm.as_str());
                cell.budgets = self.cell.budgets.iter().map(|asked| compare::budget(&duel, arm, asked)).collect();
                (cell, Some(duel))
            }
        }
    }

    /// A regression is measured a second time before it fails the gate.
    fn duel(
        &self,
        settings: &DuelSettings,
        sides: &mut [Box<dyn Contestant>],
        progress: &mut DuelBar,
    ) -> Result<Duel, String> {
        let first = duel(settings, sides, progress)?;
        let is_advisory = |metric: &str| self.cell.gates.iter().any(|gate| gate.advisory && gate.metric == metric);
        let judgements = first.findings.iter().flat_map(|finding| &finding.judgements);
        let mut regressed = judgements.filter(|found| found.gate && found.verdict == Verdict::Regressed);
        let would_fail = !self.cell.advisory && regressed.any(|found| !is_advisory(&found.metric));
        if would_fail && needs_confirmation(&first) { confirm(first, settings, sides, progress) } else { Ok(first) }
    }

    fn settings(&self) -> DuelSettings {
        let effort = self.cell.effort;
        let gate = |gate: &lab::gate::MetricGate| GateMetric {
            metric: gate.metric.clone(),
            threshold: gate.threshold.unwrap_or_default(),
        };
        let usual = self.cell.gates.iter().filter(|gate| gate.threshold.is_none());
        let gates = self.cell.gates.iter().map(gate).collect();
        let mut settings = DuelSettings::new(effort.mode, gates, self.kernels, tool());
        settings.launches = effort.launches.unwrap_or(settings.launches);
        settings.rounds = effort.rounds.unwrap_or(settings.rounds);
        settings.round = effort.round_s.map_or(settings.round, Duration::from_secs_f64);
        settings.usual_gates = usual.map(|gate| gate.metric.clone()).collect();
        settings.seed = self.seed;
        settings.name = Some(self.cell.name.clone());
        settings
    }
}
