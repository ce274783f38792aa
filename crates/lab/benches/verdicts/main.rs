//! How often verdicts are false and how often a real change is found: on simulated noise, and on real duels beside the rules of other
//! tools on the same samples.
//!
//! `cargo bench -p hotloop-lab --bench verdicts` prints both tables; `-- --quick` measures fewer duels, `--simulated N`, `--same N` and `--slowed N`
//! set how many (0: none). This program is its own worker: it starts itself to do simulated work, and once more to keep one core busy
//! meanwhile (`--idle` leaves that out). It exits with 1 if the simulated rules break what they promise.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints its table")]

mod calibration;
mod load;
mod rivals;
mod table;

use std::process::Command;
use std::time::{Duration, Instant};

use compare::rules::{self, DuelMode};
use lab::duel::{self, Contestant};
use lab::selftest::Simulated;
use record::{Duel, GateMetric, Metric, Tool};

use calibration::Calibration;
use table::Table;

/// What the slowed side does more.
const MORE: f64 = 0.05;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |option: &str| arguments.iter().any(|argument| argument == option);
    let number = |option: &str| -> Option<f64> {
        let at = arguments.iter().position(|argument| argument == option)?;
        arguments.get(at + 1)?.parse().ok()
    };
    if let Some(more) = number("--worker") {
        return lab::selftest::serve(more).expect("whoever started this speaks its language");
    }
    if has("--load") {
        return load::burn();
    }
    // Without `--bench` this was built as a test, which asks only whether it works.
    let quick = has("--quick") || !has("--bench") || std::env::var_os("HOTLOOP_BENCH_QUICK").is_some();
    let (simulated, same, slowed) = if quick { (40, 4, 2) } else { (2_000, 120, 120) };
    let seed = number("--seed").map_or(1, |seed| seed as u64);
    let simulated = number("--simulated").map_or(simulated, |duels| duels as u64);
    if simulated > 0 {
        let table = Calibration::simulate(simulated, seed);
        println!("{table}");
        for broken in table.broken() {
            eprintln!("error: {broken}");
        }
        if !table.broken().is_empty() {
            std::process::exit(1);
        }
    }
    let plan = Plan {
        same: number("--same").map_or(same, |same| same as u64),
        slowed: number("--slowed").map_or(slowed, |slowed| slowed as u64),
        round: Duration::from_secs_f64(number("--round-ms").unwrap_or(8.0) / 1e3),
        seed,
    };
    if plan.same + plan.slowed == 0 {
        return;
    }
    let load = (!has("--idle")).then(load::Load::start);
    let began = Instant::now();
    let table = fight(&plan);
    drop(load);
    print!("{table}");
    println!("\nIn {:.0} s, rounds of {:.0} ms.", began.elapsed().as_secs_f64(), plan.round.as_secs_f64() * 1e3);
}

/// How much is fought.
struct Plan {
    same: u64,
    slowed: u64,
    round: Duration,
    seed: u64,
}

fn fight(plan: &Plan) -> Table {
    let gates = ["cpu_s", "wall_s"].map(|metric| GateMetric {
        metric: metric.to_owned(),
        threshold: rules::threshold(metric, &Metric::default()),
    });
    let mut table = Table::new(&gates);
    for turn in 0..plan.same.max(plan.slowed) {
        // In turns, because the machine is another one in ten minutes.
        if turn < plan.same {
            table.add_same(&measure(plan, DuelMode::STANDARD, 0.0, turn, &gates));
        }
        if turn < plan.slowed {
            table.add_slowed(&measure(plan, DuelMode::THOROUGH, MORE, turn, &gates));
        }
        eprint!("\r{} of {} ", turn + 1, plan.same.max(plan.slowed));
    }
    eprintln!();
    table
}

/// Measures a duel to its end.
fn measure(plan: &Plan, mode: DuelMode, more: f64, turn: u64, gates: &[GateMetric]) -> Duel {
    let chosen = lab::machine::KernelChoice::from_environment().expect("the variable names what there is");
    let settings = duel::DuelSettings {
        round: plan.round,
        profiled_rounds: 0,
        seed: plan.seed.wrapping_mul(1_000_003).wrapping_add(turn),
        // Never certain, so that no look ends it.
        alpha: f64::MIN_POSITIVE,
        ..duel::DuelSettings::new(mode, gates.to_vec(), chosen, Tool::default())
    };
    let mut contestants: Vec<Box<dyn Contestant>> =
        [0.0, more].map(|more| Box::new(Simulated::new(more, worker)) as Box<dyn Contestant>).into();
    duel::duel(&settings, &mut contestants, &mut Nobody).expect("the work cannot fail")
}

fn worker(more: f64) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("it runs"));
    command.arg("--worker").arg(more.to_string());
    command
}

/// Nobody looks on.
struct Nobody;

impl duel::DuelObserver for Nobody {
    fn tell(&mut self, _: &duel::DuelProgress<'_>) {}

    fn is_stopped(&self) -> bool {
        false
    }
}
