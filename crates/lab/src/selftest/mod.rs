//! Whether the verdicts of this tool can be believed on this machine: duels of which the truth is known.
//!
//! Every duel is measured to its end and judged afterwards as if it had been looked at on the way, by each metric alone. So all
//! metrics are judged by the same rounds.

mod replay;
mod simulated;
mod trials;
mod work;

use std::process::Command;
use std::time::{Duration, Instant};

use compare::rules::DuelMode;
use record::{Duel, Environment, GateMetric, SELF_TEST_SCHEMA, SELF_TEST_VERSION, SelfTest, Tool, Verdict};

use crate::doctor::now;
use crate::duel::{self, Contestant};
use crate::machine::{self, KernelChoice, NoiseWatch, System};

pub use replay::replay;
pub use simulated::{Simulated, serve};
use trials::Trials;

/// How long the clock is looked at for jitter.
const LOOK: Duration = Duration::from_millis(20);

/// What to try.
#[derive(Debug, Clone)]
pub struct SelfTestSettings {
    /// How much each duel measures.
    pub mode: DuelMode,
    /// The minimum duration of a round.
    pub round: Duration,
    /// Duels of two sides that are the same.
    pub same: u64,
    /// Duels of each slowdown.
    pub slowed: u64,
    /// How much more work, each as a share.
    pub slowdowns: Vec<f64>,
    /// What is judged, each alone.
    pub gates: Vec<GateMetric>,
    /// No duel begins behind it.
    pub budget: Option<Duration>,
    /// The RNG seed of the orders.
    pub seed: u64,
    /// The kernels, for the description of the machine.
    pub chosen: KernelChoice,
    /// The program that measures.
    pub tool: Tool,
}

/// Follows the progress and can stop it.
pub trait SelfTestObserver {
    /// A duel is over.
    fn tell(&mut self, progress: &SelfTestProgress);

    /// Whether to stop now and keep what was measured so far.
    fn is_stopped(&self) -> bool;
}

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SelfTestProgress {
    /// Duels that are over.
    pub done: u64,
    /// Of so many.
    pub of: u64,
    /// How much more work the last one had.
    pub more: f64,
    /// What was said of it, by the first metric.
    pub verdict: Verdict,
}

/// Fights the duels and counts what is said of them. `worker` starts a process that [`serve`]s so much more work.
///
/// # Errors
/// Why a duel could not be measured, or that there was no time for one.
pub fn selftest(
    settings: &SelfTestSettings,
    worker: impl Fn(f64) -> Command + Clone + 'static,
    watch: &mut dyn SelfTestObserver,
) -> Result<SelfTest, String> {
    let (began, created) = (Instant::now(), now());
    let noise = NoiseWatch::start(&System);
    let mut trials = Trials::new(settings);
    let plan = settings.plan();
    let mut design = record::Design::default();
    let mut done = 0;
    for more in &plan {
        let is_late = settings.budget.is_some_and(|budget| began.elapsed() > budget);
        if watch.is_stopped() || is_late {
            break;
        }
        let seed = settings.seed.wrapping_add(done);
        let fought = fight(settings, (worker.clone(), *more), seed, watch)?;
        if fought.interrupted {
            break;
        }
        done += 1;
        let verdict = trials.add(&fought, *more);
        design = fought.design;
        watch.tell(&SelfTestProgress { done, of: plan.len() as u64, more: *more, verdict });
    }
    if done == 0 {
        return Err("stopped before the first duel was finished".to_owned());
    }
    let machine = machine::machine(&System, settings.chosen);
    let noise = noise.finish(&System, machine.cpus, LOOK);
    let variables = crate::run::variables();
    let design =
        record::Design { gates: settings.gates.clone(), seed: settings.seed, alpha: compare::rules::ALPHA, ..design };
    Ok(SelfTest {
        schema: SELF_TEST_SCHEMA.to_owned(),
        version: SELF_TEST_VERSION,
        tool: settings.tool.clone(),
        created,
        duration_s: began.elapsed().as_secs_f64(),
        design,
        environment: Environment { machine, limits: None, noise: Some(noise), variables },
        trials: trials.finish(),
        interrupted: done < plan.len() as u64,
    })
}

impl SelfTestSettings {
    /// The duels in turns, so that what there is when time is up is of all kinds.
    fn plan(&self) -> Vec<f64> {
        let kinds = || [(0.0, self.same)].into_iter().chain(self.slowdowns.iter().map(|more| (*more, self.slowed)));
        let most = kinds().map(|(_, duels)| duels).max().unwrap_or(0);
        (0..most).flat_map(|turn| kinds().filter(move |(_, duels)| turn < *duels)).map(|(more, _)| more).collect()
    }
}

/// Measures one duel to its end.
fn fight(
    settings: &SelfTestSettings,
    (worker, more): (impl Fn(f64) -> Command + Clone + 'static, f64),
    seed: u64,
    watch: &mut dyn SelfTestObserver,
) -> Result<Duel, String> {
    let mut contestants: Vec<Box<dyn Contestant>> =
        vec![Box::new(Simulated::new(0.0, worker.clone())), Box::new(Simulated::new(more, worker))];
    let duel = duel::DuelSettings {
        round: settings.round,
        profiled_rounds: 0,
        seed,
        // Never certain, so that no look ends it.
        alpha: f64::MIN_POSITIVE,
        ..duel::DuelSettings::new(settings.mode, settings.gates.clone(), settings.chosen, settings.tool.clone())
    };
    duel::duel(&duel, &mut contestants, &mut DuelObserverAdapter(watch))
}

/// Tells a duel when to stop.
struct DuelObserverAdapter<'a>(&'a mut dyn SelfTestObserver);

impl duel::DuelObserver for DuelObserverAdapter<'_> {
    fn tell(&mut self, _: &duel::DuelProgress<'_>) {}

    fn is_stopped(&self) -> bool {
        self.0.is_stopped()
    }
}
