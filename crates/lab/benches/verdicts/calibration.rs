//! The real rules on simulated noise whose truth is known: how often intervals miss and verdicts are false.

use std::collections::BTreeMap;
use std::fmt;

use compare::rules::{self, DuelMode};
use compare::{confirm, has_changed, judge};
use record::{Arm, Design, Duel, Finding, GateMetric, Phase, Sample, Verdict};

/// The metric that is judged, and its threshold.
const METRIC: &str = "cpu_s";
const THRESHOLD: f64 = 0.02;
const ARMS: [&str; 3] = ["A", "A'", "B"];
/// How much slower the second side is where there is something to find.
const SLOWDOWN: f64 = 0.05;
/// Intervals may miss so often, and verdicts be false so often.
const MOST_MISSES: f64 = 0.05;
const MOST_FALSE: f64 = 0.005;

/// How rounds scatter.
#[derive(Debug, Clone, Copy)]
enum Noise {
    Normal,
    Exponential,
    /// Pareto with α = 1.5: no finite variance.
    Pareto,
    Bimodal,
    /// A slow drift of the machine, the same for all sides.
    Drift,
    /// In this share of rounds one of three sides, whichever, takes 30 % longer.
    Burst(f64),
}

/// A simulated machine.
#[derive(Debug, Clone, Copy)]
struct Machine {
    name: &'static str,
    noise: Noise,
    /// Standard deviation between processes of one program.
    launch: f64,
}

const fn machine(name: &'static str, noise: Noise, launch: f64) -> Machine {
    Machine { name, noise, launch }
}

const MACHINES: [Machine; 12] = [
    machine("normal, 3 %", Noise::Normal, 0.0),
    machine("exponential, 5 %", Noise::Exponential, 0.0),
    machine("Pareto 1.5", Noise::Pareto, 0.0),
    machine("bimodal, 1 or 1.3", Noise::Bimodal, 0.0),
    machine("AR(1) drift", Noise::Drift, 0.0),
    machine("burst in 30 % of rounds", Noise::Burst(0.3), 0.0),
    machine("burst in 70 % of rounds", Noise::Burst(0.7), 0.0),
    machine("burst in every round", Noise::Burst(1.0), 0.0),
    machine("normal, launches 2 %", Noise::Normal, 0.02),
    machine("Pareto 1.5, launches 2 %", Noise::Pareto, 0.02),
    machine("AR(1) drift, launches 2 %", Noise::Drift, 0.02),
    machine("burst in 70 %, launches 2 %", Noise::Burst(0.7), 0.02),
];

/// What was counted for one machine and mode.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    missed: u64,
    called: u64,
    found: u64,
    wrong_sign: u64,
    advised: u64,
    resolved: u64,
}

/// The calibration table.
pub struct Calibration {
    duels: u64,
    rows: Vec<(Machine, [Counts; 2])>,
}

const MODES: [DuelMode; 2] = [DuelMode::STANDARD, DuelMode::THOROUGH];

impl Calibration {
    /// Simulates so many duels of each kind.
    pub fn simulate(duels: u64, seed: u64) -> Self {
        let row = |machine: Machine| (machine, MODES.map(|mode| count(machine, mode, duels, seed)));
        Self { duels, rows: MACHINES.into_iter().map(row).collect() }
    }

    /// The cells that are worse than promised, as far as so many duels can tell.
    pub fn broken(&self) -> Vec<String> {
        let duels = self.duels as f64;
        let most = |share: f64| share * duels + 3.0 * (share * (1.0 - share) * duels).sqrt() + 1.0;
        let mut broken = Vec::new();
        for (machine, counts) in &self.rows {
            for (mode, counts) in MODES.iter().zip(counts) {
                if counts.missed as f64 > most(MOST_MISSES) {
                    broken
                        .push(format!("{}, {}: {} of {duels} intervals miss", machine.name, mode.name, counts.missed));
                }
                if counts.called as f64 > most(MOST_FALSE) || counts.wrong_sign > 0 {
                    broken.push(format!("{}, {}: {counts:?} of {duels}", machine.name, mode.name));
                }
            }
        }
        broken
    }
}

fn count(machine: Machine, mode: DuelMode, duels: u64, seed: u64) -> Counts {
    let mut random = Random(seed ^ 0x9e37_79b9 ^ mode.launches);
    let mut counts = Counts::default();
    for _ in 0..duels {
        let same = measure(machine, mode, 0.0, &mut random);
        let change = same.judgements[0].change;
        counts.missed += u64::from(change.is_some_and(|change| change.low > 0.0 || change.high < 0.0));
        counts.called += u64::from(has_changed(&same));
        let slowed = measure(machine, mode, SLOWDOWN, &mut random);
        counts.found += u64::from(slowed.verdict == Verdict::Regressed);
        counts.wrong_sign += u64::from(slowed.verdict == Verdict::Improved);
        for (finding, more) in [(&same, 0.0), (&slowed, SLOWDOWN)] {
            let Some(launches) = finding.judgements[0].more_launches else { continue };
            let longer = DuelMode { launches: mode.launches + launches, looks: &[], ..mode };
            counts.advised += 1;
            let again = measure(machine, longer, more, &mut random).verdict;
            counts.resolved += u64::from(matches!(again, Verdict::Regressed | Verdict::Improved | Verdict::Same));
        }
    }
    counts
}

/// A duel as the command line measures it: it stops at the first look that decides, and a change is measured a second time.
fn measure(machine: Machine, mode: DuelMode, more: f64, random: &mut Random) -> Finding {
    let first = once(machine, mode, more, random);
    if has_changed(&first) { confirm(&first, &once(machine, mode, more, random)) } else { first }
}

fn once(machine: Machine, mode: DuelMode, more: f64, random: &mut Random) -> Finding {
    let looks = if mode.looks.is_empty() { vec![mode.launches] } else { mode.looks.to_vec() };
    let mut duel = Duel {
        design: Design {
            // A length that is no mode's own is judged as the mode is.
            mode: mode.name.to_owned(),
            launches: mode.launches,
            rounds: mode.rounds,
            looks: looks.clone(),
            alpha: rules::ALPHA,
            gates: vec![GateMetric { metric: METRIC.to_owned(), threshold: THRESHOLD }],
            ..Design::default()
        },
        arms: ARMS.map(|name| Arm { name: name.to_owned(), ..Arm::default() }).into(),
        ..Duel::default()
    };
    let mut drift = 0.0;
    let mut launch = 0;
    for (look, until) in looks.iter().enumerate() {
        while launch < *until {
            add_launch(&mut duel, (machine, more), launch, &mut drift, random);
            launch += 1;
        }
        let outcome = judge(&duel, look);
        if outcome.is_decided() || look + 1 == looks.len() {
            return outcome.findings.into_iter().next().expect("there is one candidate");
        }
    }
    unreachable!("the last look ends it")
}

fn add_launch(duel: &mut Duel, (machine, more): (Machine, f64), launch: u64, drift: &mut f64, random: &mut Random) {
    let processes = [(); 3].map(|()| machine.launch * random.normal());
    for round in 0..duel.design.rounds {
        let held_up = random.below(3);
        let is_burst = matches!(machine.noise, Noise::Burst(share) if random.share() < share);
        // The places in the order differ only in when they come, which matters to the drift.
        let first = random.below(3);
        for place in 0..3 {
            let arm = (first + place) % 3;
            let burst = if is_burst && arm == held_up { 1.3 } else { 1.0 };
            let slower = if arm == 2 { 1.0 + more } else { 1.0 };
            let value = machine.noise.draw(drift, random) * burst * slower * processes[arm].exp();
            duel.samples.push(Sample {
                phase: Phase::Timed,
                arm: Some(ARMS[arm].to_owned()),
                launch,
                round,
                values: BTreeMap::from([(METRIC.to_owned(), value)]),
                ..Sample::default()
            });
        }
    }
}

impl Noise {
    /// A value of work that takes 1.
    fn draw(self, drift: &mut f64, random: &mut Random) -> f64 {
        match self {
            Noise::Normal => (0.03 * random.normal()).exp(),
            Noise::Exponential => 1.0 - 0.05 * random.share().ln(),
            Noise::Pareto => 1.0 + 0.02 * (random.share().powf(-1.0 / 1.5) - 1.0),
            Noise::Bimodal => (if random.share() < 0.5 { 1.0 } else { 1.3 }) * (0.01 * random.normal()).exp(),
            Noise::Drift => {
                *drift = 0.95 * *drift + 0.02 * random.normal();
                (*drift + 0.01 * random.normal()).exp()
            }
            Noise::Burst(_) => (0.01 * random.normal()).exp(),
        }
    }
}

impl fmt::Display for Calibration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "Simulated, {} duels per cell; A/A: share of 95 % intervals that miss, share of false verdicts; then +5 % found.\n",
            self.duels
        )?;
        writeln!(
            f,
            "| {:27} | {:>21} | {:>21} | {:>17} |",
            "noise", "misses std / thor", "false std / thor", "+5 % std / thor"
        )?;
        writeln!(f, "|{}|{}:|{}:|{}:|", "-".repeat(29), "-".repeat(22), "-".repeat(22), "-".repeat(18))?;
        let percent = |count: u64| format!("{:.1} %", count as f64 / self.duels as f64 * 100.0);
        let pair = |counts: &[Counts; 2], of: fn(&Counts) -> u64| {
            format!("{} / {}", percent(of(&counts[0])), percent(of(&counts[1])))
        };
        for (machine, counts) in &self.rows {
            let cells = [pair(counts, |c| c.missed), pair(counts, |c| c.called), pair(counts, |c| c.found)];
            writeln!(f, "| {:27} | {:>21} | {:>21} | {:>17} |", machine.name, cells[0], cells[1], cells[2])?;
        }
        let sum = |of: fn(&Counts) -> u64| self.rows.iter().flat_map(|(_, counts)| counts).map(of).sum::<u64>();
        let (advised, resolved) = (sum(|c| c.advised), sum(|c| c.resolved));
        let share = resolved as f64 / advised.max(1) as f64 * 100.0;
        writeln!(f, "\nAdvice on the number of launches: given {advised} times, resolved in {resolved} ({share:.0} %).")
    }
}

/// Splitmix64: the same every time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Above 0 and below 1.
    fn share(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    fn below(&mut self, count: usize) -> usize {
        (self.share() * count as f64) as usize
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * self.share().ln()).sqrt() * (std::f64::consts::TAU * self.share()).cos()
    }
}
