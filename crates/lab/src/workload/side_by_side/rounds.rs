//! Launches and rounds: every launch has fresh processes of all models, and in every round of it each of them works once.

use std::time::{Duration, Instant};

use compare::stats::sign_interval;
use record::{Phase, Sample};

use super::worker::taken;
use super::{Contender, ModelFacts, SideBySide};
use crate::duel::Launched;
use crate::order::{Random, Schedule};
use crate::recorder::{LEAST, MOST, RunObserver, WALL, is_precise};

/// The share of the progress that is done before the first launch.
const BEFORE: f64 = 0.2;
/// Fewer launches know next to nothing of how launches differ. So many are made even where the time is up.
const FEWEST_LAUNCHES: u64 = 3;
/// So many are planned: beyond six, Student's factor hardly shrinks.
const USUAL_LAUNCHES: u32 = 8;
/// Before so many, medians that are known to 1 % end nothing.
const ENOUGH_LAUNCHES: u64 = 6;
/// The chance to be wrong that all pairs together may spend.
const ALPHA: f64 = 0.05;

/// What came out, in the order of time.
pub(super) struct RoundResults {
    /// With the number of the arm.
    pub(super) samples: Vec<(usize, Sample)>,
    /// Whether an arm put out something else in a round than in its first inference.
    pub(super) differing: Vec<bool>,
    /// Rounds of each arm, with those that do not count.
    pub(super) inferences: u64,
    pub(super) interrupted: bool,
}

/// Who takes turns: the models, and behind them a second copy of the first one where there is a placebo.
pub(super) struct ModelArms<'a, 'b> {
    pub(super) contenders: &'a [Contender<'b>],
    pub(super) known: &'a [ModelFacts],
    pub(super) placebo: bool,
}

impl ModelArms<'_, '_> {
    fn count(&self) -> usize {
        self.contenders.len() + usize::from(self.placebo)
    }

    /// The model of an arm.
    fn model(&self, arm: usize) -> usize {
        arm % self.contenders.len()
    }
}

/// How much is measured.
struct Plan {
    /// Launches at most.
    launches: u64,
    /// Rounds of all launches, where a number was asked for.
    asked: Option<u64>,
    /// Rounds of a launch, at least.
    least: u64,
    /// The time for a launch.
    slice: Duration,
    /// The time for all of them.
    time: Duration,
}

impl Plan {
    fn new(settings: &SideBySide, models: usize) -> Self {
        let asked = settings.effort.repeat;
        let pairs = (models * models.saturating_sub(1) / 2).max(1);
        // With fewer rounds the sign test has no interval.
        let is_enough = |count: &u64| sign_interval(&vec![1.0; *count as usize], ALPHA / pairs as f64).is_some();
        let rounds = (LEAST..MOST).find(is_enough).unwrap_or(LEAST);
        Plan {
            launches: asked.map_or(MOST, |rounds| rounds.min(ENOUGH_LAUNCHES)),
            asked,
            least: rounds.div_ceil(FEWEST_LAUNCHES),
            slice: settings.effort.time / USUAL_LAUNCHES,
            time: settings.effort.time,
        }
    }

    /// Whether a launch has its rounds: an even share of what was asked for, or what fits into its time.
    fn has_enough(&self, launch: u64, rounds: u64, spent: Duration) -> bool {
        match self.asked {
            Some(asked) => rounds >= asked / self.launches + u64::from(launch < asked % self.launches),
            None => rounds >= self.least && spent >= self.slice,
        }
    }

    /// Whether the launches so far are enough: the next would not fit into the time, or nothing is left to learn.
    fn is_done(&self, launch: u64, spent: Duration, longest: Duration, walls: &[Vec<f64>]) -> bool {
        let is_known = || launch >= ENOUGH_LAUNCHES && walls.iter().all(|all| is_precise(all));
        let is_late = launch >= FEWEST_LAUNCHES && spent + longest > self.time;
        self.asked.is_none() && (is_late || is_known())
    }

    /// The part that is done before a launch.
    fn done(&self, launch: u64, spent: Duration) -> f64 {
        if self.asked.is_some() {
            return launch as f64 / self.launches as f64;
        }
        let by_time = spent.as_secs_f64() / self.time.as_secs_f64().max(1e-9);
        by_time.min(launch as f64 / FEWEST_LAUNCHES as f64).min(1.0)
    }
}

/// Launches until the time is up, or until all medians are known to 1 %.
pub(super) fn measure(
    settings: &SideBySide,
    arms: &ModelArms<'_, '_>,
    watch: &mut dyn RunObserver,
) -> Result<RoundResults, String> {
    let plan = Plan::new(settings, arms.contenders.len());
    let results =
        RoundResults { samples: Vec::new(), differing: vec![false; arms.count()], inferences: 0, interrupted: false };
    let (random, schedule) = (Random::new(settings.work.seed), Schedule::new(arms.count()));
    let walls = vec![Vec::new(); arms.count()];
    let mut measurement = RoundsMeasurement { start: Instant::now(), random, schedule, arms, results, walls, round: 0 };
    let mut longest = Duration::ZERO;
    for launch in 0..plan.launches {
        let (spent, begun) = (measurement.start.elapsed(), Instant::now());
        if measurement.is_over() || plan.is_done(launch, spent, longest, &measurement.walls) {
            break;
        }
        watch.tell(BEFORE + (1.0 - BEFORE) * plan.done(launch, spent), &format!("launch {}", launch + 1));
        let mut processes = measurement.start_all()?;
        for warmup in 0..settings.effort.warmup {
            measurement.turn(&mut processes, (Phase::Warmup, launch, warmup), watch)?;
        }
        let mut rounds = 0;
        while !measurement.is_over() && !plan.has_enough(launch, rounds, begun.elapsed()) {
            measurement.turn(&mut processes, (Phase::Timed, launch, measurement.round), watch)?;
            (rounds, measurement.round) = (rounds + 1, measurement.round + 1);
        }
        longest = longest.max(begun.elapsed());
    }
    Ok(measurement.results)
}

/// How far all launches together are.
struct RoundsMeasurement<'a, 'b, 'c> {
    start: Instant,
    random: Random,
    schedule: Schedule,
    arms: &'a ModelArms<'b, 'c>,
    results: RoundResults,
    /// Seconds of an inference, by arm.
    walls: Vec<Vec<f64>>,
    /// Rounds that count.
    round: u64,
}

impl<'c> RoundsMeasurement<'_, '_, 'c> {
    fn is_over(&self) -> bool {
        self.results.interrupted || self.round >= MOST
    }

    /// Fresh processes of all arms, started in an order of their own.
    fn start_all(&mut self) -> Result<Vec<Box<dyn Launched + 'c>>, String> {
        let mut processes: Vec<(usize, Box<dyn Launched + 'c>)> = Vec::new();
        for arm in self.random.shuffled(self.arms.count()) {
            let contender = &self.arms.contenders[self.arms.model(arm)];
            processes.push((arm, (contender.launch)()?));
        }
        processes.sort_by_key(|(arm, _)| *arm);
        Ok(processes.into_iter().map(|(_, process)| process).collect())
    }

    /// One round of all.
    fn turn(
        &mut self,
        processes: &mut [Box<dyn Launched + 'c>],
        (phase, launch, round): (Phase, u64, u64),
        watch: &dyn RunObserver,
    ) -> Result<(), String> {
        for arm in self.schedule.next(&mut self.random) {
            self.results.interrupted |= watch.is_stopped();
            if self.results.interrupted {
                return Ok(());
            }
            let start = self.start.elapsed();
            let reading = processes[arm].round(1, false)?;
            let known = &self.arms.known[self.arms.model(arm)];
            self.results.differing[arm] |= reading.output.as_ref() != Some(&known.output);
            for cell in &known.cells {
                let inference = &cell.rows[0].name;
                for row in &cell.rows {
                    let (mut taken, began_s) = taken(&reading, &row.name, inference);
                    if row.name == *inference {
                        taken.values.extend(cell.allocated.iter().flatten().cloned());
                    }
                    let start_ns = nanoseconds(start + Duration::from_secs_f64(began_s));
                    let (row, values, series) = (row.name.clone(), taken.values, taken.series);
                    let sample = Sample { row, phase, launch, round, start_ns, values, series, arm: None };
                    self.results.samples.push((arm, sample));
                }
            }
            if phase == Phase::Timed {
                let inference = &known.cells[0].rows[0].name;
                self.walls[arm].extend(taken(&reading, inference, inference).0.values.get(WALL));
            }
        }
        self.results.inferences += 1;
        Ok(())
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
