//! Measures a duel: launches, rounds and interim analyses ("looks").

mod gates;
mod pace;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use compare::JudgedDuel;
use record::{
    Arm, Better, DUEL_SCHEMA, DUEL_VERSION, Design, Duel, Environment, Finding, Metric, Phase, Sample, Verdict,
};

use super::calibrate::{Calibrated, calibrate, calls, timed};
use super::profiles::Paths;
use super::{
    ChangeSoFar, Conditions, Contestant, DuelObserver, DuelProgress, DuelSettings, DuelStage, INVOLUNTARY_SWITCHES,
    Launched, MAIN_CPU, PADDING_BYTES, RUN_DELAY,
};
use crate::doctor::now;
use crate::machine::{self, Moment, NoiseWatch, System};
use crate::order::{Random, Schedule};
use pace::Pace;

/// The row of samples: there is but one kind of work.
const ROW: &str = "round";
/// A program that a terminal interrupted may be gone before the request has reached us.
const REQUEST: Duration = Duration::from_millis(100);
/// How long the clock is looked at for jitter.
const LOOK: Duration = Duration::from_millis(20);
/// Arms are letters.
const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const PLACEBO: &str = "A'";

/// Judges the samples at an interim analysis, counted from 0: [`compare::judge`], or a test double.
pub type JudgeFn = fn(&Duel, usize) -> JudgedDuel;

/// Measures the contestants in turns and judges them; the first one is the base. Where somebody ended it, the record has what
/// was measured until then.
///
/// # Errors
/// Why it could not be measured: which side, which launch, which round, and what it said.
pub fn duel(
    settings: &DuelSettings,
    contestants: &mut [Box<dyn Contestant>],
    watch: &mut dyn DuelObserver,
) -> Result<Duel, String> {
    let sides = sides(contestants)?;
    DuelMeasurement::new(settings, sides, watch, compare::judge).run()
}

/// A contestant and the name of its arm.
pub(super) struct Side<'a> {
    pub(super) name: String,
    pub(super) contestant: &'a mut Box<dyn Contestant>,
}

/// Contestants with their names.
pub(super) fn sides(contestants: &mut [Box<dyn Contestant>]) -> Result<Vec<Side<'_>>, String> {
    if contestants.len() < 2 {
        return Err("a duel needs two sides".to_owned());
    }
    if contestants.len() > LETTERS.len() {
        return Err(format!("a duel has {} sides at most, not {}", LETTERS.len(), contestants.len()));
    }
    let named = LETTERS.chars().zip(contestants.iter_mut());
    Ok(named.map(|(letter, contestant)| Side { name: letter.to_string(), contestant }).collect())
}

/// Why it does not go on.
enum Stop {
    Interrupted,
    /// The time budget is spent.
    OutOfTime,
    Failed(String),
}

/// A duel while it is measured.
pub(super) struct DuelMeasurement<'a> {
    settings: &'a DuelSettings,
    sides: Vec<Side<'a>>,
    /// The side that each arm is a process of.
    arms: Vec<usize>,
    /// Whether an arm runs a copy of its file, because an arm before it runs the file itself.
    copied: Vec<bool>,
    /// The arms that are measured: not those that cannot be compared.
    measured: Vec<usize>,
    /// Whether a profiled round of the arm may give a profile.
    may_profile: Vec<bool>,
    watch: &'a mut dyn DuelObserver,
    judge: JudgeFn,
    /// The launches after which it is judged, of so many.
    looks: fn(u64) -> Vec<u64>,
    began: Instant,
    pace: Pace,
    random: Random,
    schedule: Schedule,
    duel: Duel,
    /// Metrics that mean one thing for the base and another one for a candidate, and what is said of that.
    disputed: BTreeMap<String, String>,
    so_far: Option<(String, record::Change)>,
}

impl<'a> DuelMeasurement<'a> {
    pub(super) fn new(
        settings: &'a DuelSettings,
        sides: Vec<Side<'a>>,
        watch: &'a mut dyn DuelObserver,
        judge: JudgeFn,
    ) -> Self {
        let placebo = settings.mode.placebo.then_some(0);
        let arms: Vec<usize> = [0].into_iter().chain(placebo).chain(1..sides.len()).collect();
        let described = arms.iter().enumerate().map(|(at, side)| {
            let is_placebo = at > 0 && *side == 0;
            let name = if is_placebo { PLACEBO.to_owned() } else { sides[*side].name.clone() };
            Arm { name, ..sides[*side].contestant.arm() }
        });
        let base = sides[0].contestant.arm();
        let told = sides.iter().skip(1).map(|side| Finding {
            arm: side.name.clone(),
            differences: side.contestant.differences(&base),
            ..Finding::default()
        });
        let duel = Duel {
            schema: DUEL_SCHEMA.to_owned(),
            version: DUEL_VERSION,
            tool: settings.tool.clone(),
            created: now(),
            name: settings.name.clone(),
            design: design(settings),
            arms: described.collect(),
            findings: told.collect(),
            ..Duel::default()
        };
        let began = Instant::now();
        DuelMeasurement {
            settings,
            copied: copied(&arms, &sides),
            may_profile: vec![settings.profiled_rounds > 0; arms.len()],
            measured: (0..arms.len()).collect(),
            schedule: Schedule::new(arms.len()),
            random: Random::new(settings.seed),
            pace: Pace::new(began, settings.time_budget),
            began,
            disputed: BTreeMap::new(),
            so_far: None,
            sides,
            arms,
            watch,
            judge,
            looks: super::settings::looks,
            duel,
        }
    }

    /// This is the second measurement of what the first one found, judged by what decided that.
    pub(super) fn confirming(mut self, first: &Design) -> Self {
        self.duel.design.confirmation = true;
        self.duel.design.gate_reason.clone_from(&first.gate_reason);
        self
    }

    /// It is looked at once, behind the last launch.
    pub(super) fn at_one_look(mut self) -> Self {
        self.looks = |launches| vec![launches];
        self.duel.design.looks = (self.looks)(self.duel.design.launches);
        self
    }

    pub(super) fn run(mut self) -> Result<Duel, String> {
        let noise = NoiseWatch::start(&System);
        // Sides that do not answer the same question need not be measured to say so.
        let before = (self.judge)(&self.duel, 0);
        let incomparable = before.findings.iter().filter(|finding| finding.verdict == Verdict::Incomparable);
        let incomparable: Vec<&str> = incomparable.map(|finding| finding.arm.as_str()).collect();
        if incomparable.len() == before.findings.len() {
            (self.duel.findings, self.duel.verdict) = (before.findings, before.verdict);
        } else {
            self.measured.retain(|arm| !incomparable.contains(&self.duel.arms[*arm].name.as_str()));
            self.schedule = Schedule::new(self.measured.len());
            match self.measure() {
                Ok(()) => {}
                Err(Stop::Interrupted) if self.has_measured() => self.duel.interrupted = true,
                Err(Stop::OutOfTime) if self.has_measured() => {}
                Err(Stop::Interrupted) => return Err("stopped before anything was measured".to_owned()),
                Err(Stop::OutOfTime) => return Err(self.too_short_a_budget()),
                Err(Stop::Failed(error)) => return Err(error),
            }
            self.tell_metrics()?;
            self.drop_disputed();
            self.conclude();
        }
        let machine = machine::machine(&System, self.settings.chosen);
        let noise = noise.finish(&System, machine.cpus, LOOK);
        let variables = crate::run::variables();
        self.duel.duration_s = Some(self.began.elapsed().as_secs_f64());
        self.duel.environment = Environment { machine, limits: None, noise: Some(noise), variables };
        for side in &self.sides {
            let notes = side.contestant.notes().into_iter().map(|note| format!("{}: {note}", side.name));
            self.duel.notes.extend(notes);
        }
        Ok(self.duel)
    }

    fn measure(&mut self) -> Result<(), Stop> {
        self.calibrate()?;
        for launch in 0..self.duel.design.launches {
            self.pace.begin_launch(launch);
            if launch > 0 && self.pace.is_nearly_over() {
                break;
            }
            self.launch(launch)?;
            self.tell_metrics().map_err(Stop::Failed)?;
            if self.is_refused() {
                break;
            }
            let look = self.duel.design.looks.iter().position(|look| *look == launch + 1);
            if look.is_some_and(|look| (self.judge)(&self.duel, look).is_decided()) {
                break;
            }
            self.look_on();
        }
        Ok(())
    }

    /// Finds the number of repeats from one process of each side, what decides, and how much fits into the time.
    fn calibrate(&mut self) -> Result<(), Stop> {
        self.tell(DuelStage::Calibrating, 0, 0);
        let mut found = Vec::new();
        let is_placebo = |arm: &usize| *arm > 0 && self.arms[*arm] == 0;
        let sized: Vec<usize> = self.measured.iter().copied().filter(|arm| !is_placebo(arm)).collect();
        for arm in sized {
            let start = Instant::now();
            let mut launched = self.start(arm)?;
            let start_s = start.elapsed().as_secs_f64();
            let watch = &*self.watch;
            let sized = match self.settings.calls {
                Some(calls) => timed(launched.as_mut(), calls, false).map(|(reading, wall_s)| Calibrated {
                    calls,
                    readings: vec![reading],
                    wall_s,
                    start_s,
                }),
                None => calibrate(launched.as_mut(), self.settings.round, || watch.is_stopped()),
            };
            let sized = sized.map_err(|error| self.stopped_by(arm, "while calibrating rounds", error))?;
            found.push((arm, Calibrated { start_s, ..sized }));
        }
        let sides: Vec<Calibrated> = found.iter().map(|(_, side)| side.clone()).collect();
        self.duel.design.calls = self.settings.calls.unwrap_or_else(|| calls(&sides));
        self.declare_gates(&found).map_err(Stop::Failed)?;
        self.plan(&found);
        Ok(())
    }

    fn too_short_a_budget(&self) -> String {
        let budget_s = self.settings.time_budget.unwrap_or_default().as_secs_f64();
        format!(
            "the time budget of {budget_s:.0} s ran out before the first round: allow more time, or give the \
             sides less work"
        )
    }

    /// One launch: fresh processes of all arms, of which only one works at a time.
    fn launch(&mut self, launch: u64) -> Result<(), Stop> {
        self.tell(DuelStage::Launching, launch + 1, 0);
        let mut processes: Vec<Option<Box<dyn Launched>>> = self.arms.iter().map(|_| None).collect();
        for arm in self.any_order() {
            processes[arm] = Some(self.start(arm)?);
        }
        self.tell(DuelStage::WarmingUp, launch + 1, 0);
        for place in self.schedule.warm_up(&mut self.random) {
            self.take(self.measured[place], &mut processes, (Phase::Warmup, launch, 0))?;
        }
        for round in 0..self.duel.design.rounds {
            self.tell(DuelStage::Measuring, launch + 1, round + 1);
            for place in self.schedule.next(&mut self.random) {
                self.take(self.measured[place], &mut processes, (Phase::Timed, launch, round))?;
            }
        }
        self.profile(launch, &mut processes)
    }

    /// The arms that are measured.
    fn any_order(&mut self) -> Vec<usize> {
        let places = self.random.shuffled(self.measured.len());
        places.into_iter().map(|place| self.measured[place]).collect()
    }

    fn start(&mut self, arm: usize) -> Result<Box<dyn Launched>, Stop> {
        self.check_stopped()?;
        let conditions = Conditions { seed: Some(self.random.next()), copied: self.copied[arm] };
        let launched = self.sides[self.arms[arm]].contestant.launch_under(&conditions);
        launched.map_err(|error| self.stopped_by(arm, "at start", error))
    }

    /// One round of one arm, kept as a sample.
    fn take(
        &mut self,
        arm: usize,
        processes: &mut [Option<Box<dyn Launched>>],
        (phase, launch, round): (Phase, u64, u64),
    ) -> Result<(), Stop> {
        self.check_stopped()?;
        let Some(process) = &mut processes[arm] else { return Ok(()) };
        let start_ns = u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let before = Moment::now(&System);
        let read = timed(process.as_mut(), self.duel.design.calls, false);
        let surroundings = before.until_now(&System);
        let (mut reading, _) = read.map_err(|error| {
            let place = format!("in launch {}, round {}", launch + 1, round + 1);
            self.stopped_by(arm, &place, error)
        })?;
        let seen = [
            ("env_steal_share", surroundings.steal_share),
            ("env_cpu_pressure", surroundings.cpu_pressure),
            ("env_load_1m", surroundings.load_1m),
        ];
        let seen = seen.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        reading.values.extend(seen);
        if (phase, launch) == (Phase::Warmup, 0) {
            self.check_gates(arm, &reading).map_err(Stop::Failed)?;
        }
        self.compare_output(arm, reading.output);
        self.duel.samples.push(Sample {
            row: ROW.to_owned(),
            phase,
            arm: Some(self.duel.arms[arm].name.clone()),
            launch,
            round,
            start_ns,
            values: reading.values,
            series: reading.series,
        });
        Ok(())
    }

    /// All rounds of an arm have to put out the same.
    fn compare_output(&mut self, arm: usize, output: Option<String>) {
        let (arm, Some(output)) = (&mut self.duel.arms[arm], output) else { return };
        match (arm.output_varies, &arm.output) {
            (None, _) => (arm.output, arm.output_varies) = (Some(output), Some(false)),
            (Some(false), Some(first)) if *first != output => (arm.output, arm.output_varies) = (None, Some(true)),
            _ => {}
        }
    }

    /// Rounds of their own that record where the time goes; they are in no sample.
    fn profile(&mut self, launch: u64, processes: &mut [Option<Box<dyn Launched>>]) -> Result<(), Stop> {
        let mut paths: Vec<Paths> = self.arms.iter().map(|_| Paths::default()).collect();
        for round in 0..self.settings.profiled_rounds {
            for arm in self.any_order() {
                let Some(process) = processes[arm].as_mut().filter(|_| self.may_profile[arm]) else { continue };
                self.check_stopped()?;
                self.tell(DuelStage::Profiling, launch + 1, round + 1);
                let read = timed(process.as_mut(), self.duel.design.calls, true);
                let place = format!("in a profiled round of launch {}", launch + 1);
                let (reading, wall_s) = read.map_err(|error| self.stopped_by(arm, &place, error))?;
                self.compare_output(arm, reading.output);
                match &reading.profile {
                    Some(profile) => paths[arm].add(profile, wall_s),
                    // It need not be asked again: that would only take time.
                    None => self.may_profile[arm] = false,
                }
            }
        }
        let done = paths.into_iter().zip(&self.duel.arms).filter(|(paths, _)| !paths.is_empty());
        let done: Vec<_> = done.map(|(paths, arm)| paths.finish(&arm.name, launch)).collect();
        self.duel.profiles.extend(done);
        Ok(())
    }

    /// What the samples say so far, for who looks on: once for each launch, as all samples are judged anew.
    fn look_on(&mut self) {
        if !self.watch.is_seen() {
            return;
        }
        let last = self.duel.design.looks.len().saturating_sub(1);
        let outcome = (self.judge)(&self.duel, last);
        let first = outcome.findings.into_iter().next().and_then(|finding| finding.judgements.into_iter().next());
        self.so_far = first.and_then(|judgement| Some((judgement.metric, judgement.change?)));
    }

    /// The last look: the first one that was not due yet where it was broken off.
    fn conclude(&mut self) {
        let launched = self.duel.samples.iter().map(|sample| sample.launch + 1).max().unwrap_or(0);
        let looks = &self.duel.design.looks;
        let due = looks.iter().position(|look| *look >= launched).unwrap_or(looks.len().saturating_sub(1));
        let JudgedDuel { mut findings, verdict } = (self.judge)(&self.duel, due);
        for finding in &mut findings {
            finding.why = compare::waterfall(&self.duel, &finding.arm);
        }
        (self.duel.findings, self.duel.verdict) = (findings, verdict);
    }

    /// Whether no candidate's speed will be judged, whatever else is measured: that is no matter of chance.
    fn is_refused(&self) -> bool {
        let outcome = (self.judge)(&self.duel, 0);
        let is_refused = |finding: &Finding| matches!(finding.verdict, Verdict::WrongOutput | Verdict::Incomparable);
        !outcome.findings.is_empty() && outcome.findings.iter().all(is_refused)
    }

    fn has_measured(&self) -> bool {
        self.duel.samples.iter().any(|sample| sample.phase == Phase::Timed)
    }

    fn check_stopped(&self) -> Result<(), Stop> {
        match (self.watch.is_stopped(), self.pace.is_over()) {
            (true, _) => Err(Stop::Interrupted),
            (false, true) => Err(Stop::OutOfTime),
            (false, false) => Ok(()),
        }
    }

    /// A process that fails because somebody ended all of us has not failed.
    fn stopped_by(&self, arm: usize, place: &str, error: String) -> Stop {
        std::thread::sleep(REQUEST);
        if self.watch.is_stopped() {
            return Stop::Interrupted;
        }
        let Arm { name, label, .. } = &self.duel.arms[arm];
        Stop::Failed(format!("{name} (`{label}`) {place}: {error}"))
    }

    fn tell(&mut self, stage: DuelStage, launch: u64, round: u64) {
        let so_far = self.so_far.as_ref().map(|(metric, change)| ChangeSoFar { metric, change: *change });
        let Design { launches, rounds, confirmation, .. } = self.duel.design;
        let left = self.pace.left(launches, launch.saturating_sub(1));
        self.watch.tell(&DuelProgress { stage, launch, launches, round, rounds, confirmation, so_far, left });
    }
}

fn design(settings: &DuelSettings) -> Design {
    Design {
        mode: settings.mode.name.to_owned(),
        launches: settings.launches,
        rounds: settings.rounds,
        looks: settings.looks(),
        alpha: settings.alpha,
        seed: settings.seed,
        calls: settings.calls.unwrap_or(0),
        round_s: settings.round.as_secs_f64(),
        warmup: 1,
        gates: settings.gates.clone(),
        gate_reason: settings.gate_reason.clone(),
        time_budget_s: settings.time_budget.map(|budget| budget.as_secs_f64()),
        padding_bytes: Some(PADDING_BYTES),
        confirmation: false,
    }
}

/// The arms that run a copy of their file, so that each has a file of its own: the placebo, and sides that were given the same file.
/// Otherwise what the system or the program keeps for a file would favour the arms that share one.
fn copied(arms: &[usize], sides: &[Side<'_>]) -> Vec<bool> {
    let mut files: BTreeSet<PathBuf> = BTreeSet::new();
    let mut is_taken = |side: &usize| sides[*side].contestant.file().is_some_and(|file| !files.insert(file));
    arms.iter().map(&mut is_taken).collect()
}

/// What readings of the surroundings mean.
fn surroundings() -> impl Iterator<Item = (String, Metric)> {
    let all = [
        (
            "env_steal_share",
            "share",
            "time that a hypervisor gave to other machines during the round, of all CPUs' time",
        ),
        ("env_cpu_pressure", "share", "the part of the round in which some program waited for a CPU"),
        ("env_load_1m", "count", "programs that ran or wanted to, mean of the last minute, behind the round"),
        (INVOLUNTARY_SWITCHES, "count", "times during the round that a CPU was taken from the process that worked"),
        (RUN_DELAY, "s", "time that the main thread waited for a CPU although it could run, all calls of a round"),
        (MAIN_CPU, "s", "CPU time of the main thread, all calls of a round"),
    ];
    all.into_iter().map(|(name, unit, definition)| {
        let (definition, unit) = (definition.to_owned(), unit.to_owned());
        (name.to_owned(), Metric { definition, unit, better: Better::Lower, per: None, exact: false })
    })
}
