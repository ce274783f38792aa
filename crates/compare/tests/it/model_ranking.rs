//! Which model is called faster, on machines whose truth is known. Every seed is fixed.

use std::collections::BTreeMap;

use compare::{ModelRun, models};
use record::{Model, Models, Row, Run, Sample, SpeedVerdict, Workload};

use crate::simulated_duels::Chance;

/// How a made-up machine scatters, in logarithms of time.
#[derive(Clone, Copy)]
struct Machine {
    /// Of all rounds of one process: where its memory lies.
    launch: f64,
    /// Of each round.
    round: f64,
    /// How often a round is held up, and then takes up to four times as long.
    held_up: f64,
    /// How much slower each launch is than the one before it.
    drift: f64,
    launches: u64,
    rounds: u64,
}

const QUIET: Machine = Machine { launch: 0.005, round: 0.01, held_up: 0.0, drift: 0.0, launches: 6, rounds: 10 };
const LAUNCH_NOISE: Machine = Machine { launch: 0.03, round: 0.02, ..QUIET };
const SKEWED: Machine = Machine { launch: 0.02, round: 0.05, held_up: 0.4, drift: 0.02, launches: 8, rounds: 12 };
const FEW: Machine = Machine { launch: 0.02, held_up: 0.3, launches: 3, rounds: 3, ..QUIET };

/// Models whose tokens take so much longer than those of the first; the first has a second copy.
fn measurement(machine: Machine, factors: &[f64], chance: &mut Chance) -> Models {
    let mut runs: Vec<Run> = (0..factors.len()).map(|at| run(&format!("model {at}"))).collect();
    runs[0].rows.push(row("placebo/decode", "model 0"));
    for launch in 0..machine.launches {
        let arms: Vec<f64> = (0..=factors.len()).map(|_| machine.launch * chance.normal()).collect();
        for round in 0..machine.rounds {
            for (arm, launch_noise) in arms.iter().enumerate() {
                let model = arm % factors.len();
                let held_up = if chance.share() < machine.held_up { 3.0 * chance.share() } else { 0.0 };
                let noise = launch_noise + machine.round * chance.normal() + machine.drift * launch as f64;
                let seconds = factors[model] * noise.exp() * (1.0 + held_up);
                let row = if arm == model { "decode" } else { "placebo/decode" };
                let values = ["wall_s", "cpu_s"].map(|metric| (metric.to_owned(), seconds));
                let (row, values) = (row.to_owned(), BTreeMap::from(values));
                let round = launch * machine.rounds + round;
                runs[model].samples.push(Sample { row, launch, round, values, ..Sample::default() });
            }
        }
    }
    models(&runs.iter().map(|run| ModelRun { run, id: None }).collect::<Vec<_>>())
}

fn row(name: &str, model: &str) -> Row {
    let (name, model) = (name.to_owned(), Some(model.to_owned()));
    Row { name, model, calls: 1, tokens: Some(1.0), threads: Some(1), ..Row::default() }
}

fn run(name: &str) -> Run {
    Run {
        models: vec![Model { name: name.to_owned(), ..Model::default() }],
        workload: Workload { name: "models".to_owned(), ..Workload::default() },
        rows: vec![row("decode", name)],
        ..Run::default()
    }
}

/// In how many of that many sessions a pair has one of these verdicts.
fn count(machine: Machine, factors: &[f64], measurements: u64, verdicts: &[SpeedVerdict]) -> usize {
    let mut chance = Chance::of(0x0DE15);
    let is_found = |document: &Models| {
        let pairs = &document.ranking.as_ref().expect("it is one session").pairs;
        pairs.iter().any(|pair| verdicts.contains(&pair.verdict))
    };
    (0..measurements).filter(|_| is_found(&measurement(machine, factors, &mut chance))).count()
}

const DIFFERENT: &[SpeedVerdict] = &[SpeedVerdict::Faster, SpeedVerdict::Slower];

#[test]
fn identical_models_are_not_called_different() {
    for (name, machine) in [("quiet", QUIET), ("launches", LAUNCH_NOISE), ("skewed", SKEWED), ("few", FEW)] {
        let found = count(machine, &[1.0, 1.0], 1_000, DIFFERENT);
        assert!(found <= 5, "{name}: {found} of 1,000");
    }
    // More pairs have more chances to be wrong.
    let found = count(LAUNCH_NOISE, &[1.0; 4], 1_000, DIFFERENT);
    assert!(found <= 5, "four models: {found} of 1,000");
}

#[test]
fn ten_percent_are_found_with_the_right_sign() {
    for (name, machine, least) in [("quiet", QUIET, 198), ("launches", Machine { launch: 0.015, ..LAUNCH_NOISE }, 190)]
    {
        let found = count(machine, &[1.0, 1.1], 200, &[SpeedVerdict::Slower]);
        assert!(found >= least, "{name}: {found} of 200");
        assert_eq!(count(machine, &[1.0, 1.1], 200, &[SpeedVerdict::Faster]), 0, "{name}");
    }
    let found = count(SKEWED, &[1.0, 1.5], 200, &[SpeedVerdict::Slower]);
    assert!(found >= 190, "skewed: {found} of 200");
}

#[test]
fn equal_speed_is_shown_on_a_quiet_machine() {
    let steady = Machine { launch: 0.002, ..QUIET };
    let found = count(steady, &[1.0, 1.0], 200, &[SpeedVerdict::NoDifference]);
    assert!(found >= 190, "{found} of 200");
}

/// One thread is judged by CPU time, several by wall time.
#[test]
fn the_metric_follows_from_the_threads() {
    let mut runs = [run("a"), run("b")];
    let fill = |runs: &mut [Run; 2], cpu_s: [f64; 2]| {
        for (run, cpu_s) in runs.iter_mut().zip(cpu_s) {
            run.samples.clear();
            for at in 0..24 {
                let values = BTreeMap::from([("wall_s".to_owned(), 1.0), ("cpu_s".to_owned(), cpu_s)]);
                let decode =
                    Sample { row: "decode".to_owned(), launch: at / 6, round: at, values, ..Sample::default() };
                run.samples.push(Sample { row: "placebo/decode".to_owned(), ..decode.clone() });
                run.samples.push(decode);
            }
        }
        runs[0].rows.truncate(1);
        runs[0].rows.push(Row { threads: runs[0].rows[0].threads, ..row("placebo/decode", "a") });
    };
    let ranking = |runs: &[Run; 2]| models(&runs.each_ref().map(|run| ModelRun { run, id: None })).ranking.unwrap();
    fill(&mut runs, [1.0, 2.0]);
    let by_cpu = ranking(&runs);
    assert_eq!((by_cpu.metric.as_str(), by_cpu.pairs[0].verdict), ("cpu_s", SpeedVerdict::Slower));
    assert_eq!((by_cpu.launches, by_cpu.rounds), (4, 24));
    runs.iter_mut().for_each(|run| run.rows[0].threads = Some(2));
    fill(&mut runs, [1.0, 2.0]);
    let by_wall = ranking(&runs);
    assert_eq!((by_wall.metric.as_str(), by_wall.pairs[0].verdict), ("wall_s", SpeedVerdict::NoDifference));
}

/// Without a second copy nobody knows what the machine adds.
#[test]
fn without_a_placebo_nobody_is_faster() {
    let mut chance = Chance::of(5);
    let with = measurement(QUIET, &[1.0, 2.0], &mut chance).ranking.unwrap();
    assert_eq!(with.pairs[0].verdict, SpeedVerdict::Slower);
    let mut runs = [run("a"), run("b")];
    for (at, run) in runs.iter_mut().enumerate() {
        for round in 0..24 {
            let values = BTreeMap::from([("wall_s".to_owned(), 1.0 + at as f64)]);
            let sample = Sample { row: "decode".to_owned(), launch: round / 6, round, values, ..Sample::default() };
            run.samples.push(sample);
        }
    }
    let without = models(&runs.each_ref().map(|run| ModelRun { run, id: None })).ranking.unwrap();
    assert_eq!((without.placebo, without.pairs[0].verdict), (None, SpeedVerdict::CannotTell));
    assert!(without.pairs[0].ratio.unwrap().high.unwrap() < 0.6);
}

/// Files with equal contents are one model, and each is the placebo of the other.
#[test]
fn copies_are_not_ranked() {
    let mut runs = [run("a"), run("b"), run("c")];
    let hashes = ["same", "same", "other"];
    for ((run, hash), seconds) in runs.iter_mut().zip(hashes).zip([1.0, 1.5, 3.0]) {
        run.models[0].weights_blake3 = Some(hash.to_owned());
        for round in 0..24 {
            let values = BTreeMap::from([("wall_s".to_owned(), seconds)]);
            let sample = Sample { row: "decode".to_owned(), launch: round / 6, round, values, ..Sample::default() };
            run.samples.push(sample);
        }
    }
    let document = models(&runs.each_ref().map(|run| ModelRun { run, id: None }));
    let ranking = document.ranking.unwrap();
    assert_eq!(document.models[1].same_as.as_deref(), Some("a"));
    let [pair] = &ranking.pairs[..] else { panic!("{:?}", ranking.pairs) };
    assert_eq!((pair.model.as_str(), pair.base.as_str(), pair.verdict), ("c", "a", SpeedVerdict::Slower));
    // The copies differ by half, which nobody expects: then only more than that counts.
    assert!(ranking.disturbed && (ranking.placebo.unwrap().value - 1.0 / 1.5).abs() < 1e-9);
}
