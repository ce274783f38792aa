//! `hotloop gate`: measures the cells of a file and says whether a change may pass.

mod contestants;
mod outputs;
mod plan;
mod revisions;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use lab::duel::{Contestant, DuelSettings, confirm, duel, needs_confirmation};
use lab::gate::{CellConfig, CellSides, EXAMPLE, GateConfig};
use lab::machine::KernelChoice;
use record::{Duel, GATE_SCHEMA, GATE_VERSION, Gate, GateCell, GateMetric, Verdict};

use super::duel::follower::Follower;
use super::{Outcome, Refusal, interrupt, tool};
use crate::args;
use crate::args::OnUnresolved;
use contestants::Workshop;
use outputs::Folder;
use revisions::Revisions;

/// Longer files are none.
const MOST_BYTES: u64 = 1 << 20;

/// Decides about a change, or does what else was asked.
pub fn run(options: &args::Gate) -> Result<Outcome, Refusal> {
    if options.init {
        return init(&options.config);
    }
    let config = read(options)?;
    let cells = chosen(&config, &options.cells)?;
    let needs_revisions = cells.iter().any(|cell| matches!(cell.sides, CellSides::Revisions { .. }));
    let revisions = revisions(options, needs_revisions, !config.accepted.is_empty())?;
    if options.dry_run {
        return Ok(Outcome { text: plan::text(&config, &cells, revisions.as_ref()), ..Outcome::default() });
    }
    let folder = options.out.as_deref().map(Folder::open).transpose()?;
    let (gate, lost) = measure(&config, &cells, (options, revisions), folder.as_ref())?;
    let today = gate.created.get(..10).unwrap_or_default().to_owned();
    let gate = compare::gate(gate, &today);
    let written = folder.map_or(Ok(()), |folder| folder.finish(&gate)).and_then(|()| outputs::tell_workflow(&gate));
    let (text, said) = if options.json {
        (gate.to_json(), report::gate_line(&gate))
    } else {
        (report::gate_text(&gate), String::new())
    };
    Ok(Outcome { text, said, code: gate.exit_code, not_written: lost.or(written.err()) })
}

/// The revisions, where cells compare them; for acceptances they are looked at where they can be found.
fn revisions(options: &args::Gate, are_compared: bool, are_asked: bool) -> Result<Option<Revisions>, Refusal> {
    let find = || revisions::find(options.base.as_deref(), options.head.as_deref());
    match (are_compared, &options.base) {
        (true, _) => find().map(Some),
        (false, Some(base)) => Err(Refusal {
            error: format!("no cell that is asked for compares revisions, so `{base}` means nothing"),
            hint: "leave BASE and HEAD out; cells with `command` and `{bin}` in it compare revisions",
        }),
        (false, None) if are_asked => Ok(find().ok()),
        (false, None) => Ok(None),
    }
}

/// Writes the example; what is there stays.
fn init(path: &Path) -> Result<Outcome, Refusal> {
    let made = fs::File::create_new(path).and_then(|mut file| std::io::Write::write_all(&mut file, EXAMPLE.as_bytes()));
    made.map_err(|error| Refusal {
        error: format!("cannot write {}: {error}", path.display()),
        hint: "a file that is there is never overwritten; `--config FILE` names another one",
    })?;
    let said = format!("wrote {}; change its cells, and look at `hotloop gate --dry-run`\n", path.display());
    Ok(Outcome { said, ..Outcome::default() })
}

fn read(options: &args::Gate) -> Result<GateConfig, Refusal> {
    let path = &options.config;
    let failed = |error: String| Refusal {
        error: format!("cannot read {}: {error}", path.display()),
        hint: "`hotloop gate --init` writes an example; `--config FILE` names another file",
    };
    let about = fs::metadata(path).map_err(|error| failed(error.to_string()))?;
    if about.len() > MOST_BYTES {
        return Err(failed(format!("it has {} bytes, {MOST_BYTES} are allowed", about.len())));
    }
    let text = fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    let mut config = GateConfig::read(&text).map_err(|fault| Refusal {
        error: format!("{}, {fault}", path.display()),
        hint: "`hotloop gate --init --config FILE` writes an example with all keys",
    })?;
    if let Some(word) = options.on_unresolved {
        config.fail_on_unresolved = word == OnUnresolved::Fail;
    }
    match config.cannot_pass() {
        Some(cell) => Err(Refusal {
            error: format!("cell `{}` is measured quickly, which decides nothing: it could not but fail", cell.name),
            hint: "leave `--on-unresolved fail` out, or measure it with mode = \"standard\"",
        }),
        None => Ok(config),
    }
}

/// The cells that were asked for, in the order of the file.
fn chosen<'a>(config: &'a GateConfig, names: &[String]) -> Result<Vec<&'a CellConfig>, Refusal> {
    if let Some(unknown) = names.iter().find(|name| config.cells.iter().all(|cell| cell.name != **name)) {
        let known: Vec<&str> = config.cells.iter().map(|cell| cell.name.as_str()).collect();
        let error = format!("there is no cell `{unknown}`; there are {}", known.join(", "));
        return Err(Refusal { error, hint: "`hotloop gate --dry-run` shows them" });
    }
    Ok(config.cells.iter().filter(|cell| names.is_empty() || names.contains(&cell.name)).collect())
}

/// What each cell took, not yet decided; and why the samples of one could not be kept.
fn measure(
    config: &GateConfig,
    cells: &[&CellConfig],
    (options, revisions): (&args::Gate, Option<Revisions>),
    folder: Option<&Folder>,
) -> Result<(Gate, Option<String>), Refusal> {
    let hint = "leave the variable out to use the best that this CPU has";
    let kernels = KernelChoice::from_environment().map_err(|error| Refusal { error, hint })?;
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
    let mut follower = Follower::new();
    let mut workshop = Workshop::new(&config.build, revisions);
    let mut lost = None;
    interrupt::listen(|| std::process::exit(i32::from(interrupt::EXIT_CODE)));
    for (number, cell) in (1_u64..).zip(cells) {
        if interrupt::asked() {
            gate.interrupted = true;
            gate.not_measured.push(format!("the cell `{}`", cell.name));
            continue;
        }
        follower.next(&cell.name, number, cells.len());
        let bout = Bout { cell, seed: config.seed.wrapping_add(number), kernels };
        let (measured, duel) = bout.fight(&mut workshop, &mut follower);
        gate.interrupted |= interrupt::asked();
        gate.not_measured.extend(unmeasured(cell, duel.as_ref()));
        let kept = folder.zip(duel).map(|(folder, duel)| folder.keep(&cell.name, &duel));
        let (file, error) = kept.map_or((None, None), |kept| (kept.clone().ok(), kept.err()));
        lost = lost.or(error);
        gate.cells.push(GateCell { file, ..measured });
    }
    follower.finish();
    Ok((gate, lost))
}

/// Metrics of a cell that this system does not tell, and that it was not judged by.
fn unmeasured(cell: &CellConfig, duel: Option<&Duel>) -> Vec<String> {
    let Some(duel) = duel else { return Vec::new() };
    let is_judged = |metric: &str| duel.design.gates.iter().any(|gate| gate.metric == metric);
    let missing = cell.gates.iter().filter(|gate| !is_judged(&gate.metric));
    missing.map(|gate| format!("`{}` of the cell `{}`: not available here", gate.metric, cell.name)).collect()
}

/// What the file has and nobody measures now.
fn left_out(config: &GateConfig, is_chosen: &dyn Fn(&str) -> bool, revisions: Option<&Revisions>) -> Vec<String> {
    let others = config.cells.iter().filter(|cell| !is_chosen(&cell.name));
    let others = others.map(|cell| format!("the cell `{}`, which --cell left out", cell.name));
    let dirty = revisions.filter(|both| both.is_dirty && both.head.name == "HEAD");
    others.chain(dirty.map(|_| "files that differ from what is committed".to_owned())).collect()
}

/// One cell, and how it is measured.
struct Bout<'a> {
    cell: &'a CellConfig,
    seed: u64,
    kernels: KernelChoice,
}

impl Bout<'_> {
    /// Measures it; why it could not be measured stands in what is given.
    fn fight(&self, workshop: &mut Workshop, follower: &mut Follower) -> (GateCell, Option<Duel>) {
        let began = Instant::now();
        let measured = workshop
            .contestants(self.cell, follower)
            .and_then(|mut sides| self.duel(&self.settings(), &mut sides, follower));
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
            Ok(fought) => {
                cell.gates = fought.design.gates.clone();
                cell.metrics = fought.metrics.clone();
                cell.findings = fought.findings.clone();
                // A second measurement that failed leaves nothing that may pass.
                cell.failure = fought.failures.first().cloned();
                let arm = cell.findings.first().map_or("", |finding| finding.arm.as_str());
                cell.budgets = self.cell.budgets.iter().map(|asked| compare::budget(&fought, arm, asked)).collect();
                (cell, Some(fought))
            }
        }
    }

    /// What would fail is measured a second time.
    fn duel(
        &self,
        settings: &DuelSettings,
        sides: &mut [Box<dyn Contestant>],
        follower: &mut Follower,
    ) -> Result<Duel, String> {
        let first = duel(settings, sides, follower)?;
        let is_advisory = |metric: &str| self.cell.gates.iter().any(|gate| gate.advisory && gate.metric == metric);
        let judgements = first.findings.iter().flat_map(|finding| &finding.judgements);
        let mut regressed = judgements.filter(|found| found.gate && found.verdict == Verdict::Regressed);
        let would_fail = !self.cell.advisory && regressed.any(|found| !is_advisory(&found.metric));
        if would_fail && needs_confirmation(&first) { confirm(first, settings, sides, follower) } else { Ok(first) }
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
