//! What the rules promise, tried on machines whose truth is known. Every seed is fixed, so what passes once passes always.

use compare::rules::DuelMode;
use compare::stats::{binomial_interval, locate, sign_interval};
use compare::{confirm, has_changed, judge, quantile_interval, sorted};
use record::{Duel, Finding, Verdict};

use crate::simulated_duels::{self, Chance};

/// How a made-up machine scatters.
#[derive(Clone, Copy)]
struct Machine {
    /// Of every round by itself.
    round: f64,
    /// Of all rounds of one process.
    launch: f64,
    /// How often a round is held up, and then takes up to three times as long.
    held_up: f64,
}

const QUIET: Machine = Machine { round: 0.01, launch: 0.002, held_up: 0.0 };
const USUAL: Machine = Machine { round: 0.03, launch: 0.01, held_up: 0.1 };
const LOADED: Machine = Machine { round: 0.15, launch: 0.03, held_up: 0.3 };

fn sit(machine: Machine, mode: DuelMode, factor: f64, chance: &mut Chance) -> Duel {
    let launches: Vec<[f64; 3]> =
        (0..mode.launches).map(|_| [(); 3].map(|()| machine.launch * chance.normal())).collect();
    simulated_duels::duel(mode, &mut |arm, launch, _| {
        let side = ["A", "A'", "B"].iter().position(|name| *name == arm).unwrap();
        let held_up = if chance.share() < machine.held_up { 2.0 * chance.share() } else { 0.0 };
        let noise = launches[launch as usize][side] + machine.round * chance.normal() + held_up.ln_1p();
        noise.exp() * if arm == "B" { factor } else { 1.0 }
    })
}

/// The finding of a duel that ends at the first look that decides.
fn fight(duel: &Duel) -> Finding {
    for (looked, launches) in duel.design.looks.iter().enumerate() {
        let mut so_far = duel.clone();
        so_far.samples.retain(|sample| sample.launch < *launches);
        let outcome = judge(&so_far, looked);
        if outcome.is_decided() || looked + 1 == duel.design.looks.len() {
            return outcome.findings.into_iter().next().unwrap();
        }
    }
    unreachable!("the last look ends it")
}

/// The verdict after a second measurement of what changed.
fn confirmed(machine: Machine, mode: DuelMode, factor: f64, chance: &mut Chance) -> Verdict {
    let first = fight(&sit(machine, mode, factor, chance));
    if !mode.confirms || !has_changed(&first) {
        return first.verdict;
    }
    confirm(&first, &fight(&sit(machine, mode, factor, chance))).verdict
}

/// How many of so many duels end with each of the words.
fn count(machine: Machine, mode: DuelMode, factor: f64, duels: u64, words: &[Verdict]) -> u64 {
    let mut chance = Chance::of(duels ^ 0x5eed);
    (0..duels).filter(|_| words.contains(&confirmed(machine, mode, factor, &mut chance))).count() as u64
}

const DECIDED: &[Verdict] = &[Verdict::Regressed, Verdict::Improved];

#[test]
fn nothing_changed_and_nothing_is_found() {
    for (machine, mode) in [
        (QUIET, DuelMode::STANDARD),
        (USUAL, DuelMode::STANDARD),
        (LOADED, DuelMode::STANDARD),
        (USUAL, DuelMode::THOROUGH),
        (LOADED, DuelMode::QUICK),
    ] {
        let duels = 600;
        let found = count(machine, mode, 1.0, duels, DECIDED);
        assert!(found <= 3, "{found} false of {duels}, {:?}", binomial_interval(found, duels, 0.05));
    }
}

#[test]
fn directions_are_false_as_seldom_as_promised() {
    // The bound of 5 % holds for the direction alone too, over all looks and launches that differ by 3 %.
    let machine = Machine { round: 0.02, launch: 0.03, held_up: 0.0 };
    let words = &[Verdict::Regressed, Verdict::Improved, Verdict::LeaningWorse, Verdict::LeaningBetter];
    let found = count(machine, DuelMode::THOROUGH, 1.0, 600, words);
    assert!(found <= 30, "{found} of 600");
}

#[test]
fn same_is_as_seldom_false() {
    // Exactly at what matters, equality and its opposite are both wrong.
    let found = count(QUIET, DuelMode::STANDARD, 1.02, 600, &[Verdict::Same, Verdict::Regressed]);
    assert!(found <= 30, "{found} of 600");
}

#[test]
fn real_changes_are_found() {
    for (machine, mode, factor, least) in [
        (QUIET, DuelMode::STANDARD, 1.05, 199),
        (QUIET, DuelMode::STANDARD, 1.0 / 1.05, 199),
        (USUAL, DuelMode::THOROUGH, 1.10, 190),
        (LOADED, DuelMode::THOROUGH, 1.50, 190),
    ] {
        let word = if factor > 1.0 { Verdict::Regressed } else { Verdict::Improved };
        let found = count(machine, mode, factor, 200, &[word]);
        assert!(found >= least, "{factor}: {found} of 200");
    }
    let same = count(QUIET, DuelMode::STANDARD, 1.0, 200, &[Verdict::Same]);
    assert!(same >= 190, "{same} of 200");
}

#[test]
fn intervals_cover_what_they_promise() {
    let mut chance = Chance::of(77);
    let (mut covered, mut by_rounds_alone) = (0, 0);
    let tries = 2000;
    for _ in 0..tries {
        let launches: Vec<Vec<f64>> = (0..6)
            .map(|_| {
                let launch = 0.02 * chance.normal();
                (0..8).map(|_| launch + 0.03 * chance.normal()).collect()
            })
            .collect();
        let covers = |interval: compare::Interval| interval.low <= 0.0 && 0.0 <= interval.high;
        covered += u64::from(locate(&launches, 0.05).unwrap().interval.is_some_and(covers));
        by_rounds_alone += u64::from(sign_interval(&launches.concat(), 0.05).is_some_and(covers));
    }
    assert!(covered as f64 >= 0.945 * tries as f64, "{covered} of {tries}");
    assert!(
        (by_rounds_alone as f64) < 0.90 * tries as f64,
        "rounds alone must be shown to be too sure: {by_rounds_alone}"
    );
}

#[test]
fn percentiles_cover_what_they_promise() {
    let mut chance = Chance::of(78);
    let truth = -(0.05f64.ln());
    let tries = 2000;
    let covered = (0..tries)
        .filter(|_| {
            let values: Vec<f64> = (0..100).map(|_| -chance.share().ln()).collect();
            let interval = quantile_interval(&sorted(&values), 0.95, 0.95).unwrap();
            interval.low <= truth && truth <= interval.high
        })
        .count();
    assert!(covered as f64 >= 0.945 * f64::from(tries), "{covered} of {tries}");
}

/// Rounds in which one of the three sides, whichever, is held up: what is compared with a mean of two would be too low on average.
#[test]
fn bursts_on_one_of_three_sides_favour_nobody() {
    let mut chance = Chance::of(79);
    let (mut above, mut below) = (0_u32, 0_u32);
    for _ in 0..300 {
        let mut held_up = 0;
        let duel = simulated_duels::duel(DuelMode::STANDARD, &mut |arm, _, _| {
            if arm == "A" {
                held_up = (chance.share() * 3.0) as usize;
            }
            let burst = if ["A", "A'", "B"][held_up] == arm { 1.3 } else { 1.0 };
            burst * (0.01 * chance.normal()).exp()
        });
        let finding = fight(&duel);
        assert!(!has_changed(&finding), "{}", finding.sentence);
        match finding.judgements[0].change.unwrap().estimate {
            estimate if estimate > 0.0 => above += 1,
            _ => below += 1,
        }
    }
    // A fair coin lands further from the middle in one of 2,000 cases.
    assert!(above.abs_diff(below) < 60, "{above} above, {below} below");
}

/// Where advice on the number of launches is given, a duel of that length resolves.
#[test]
fn advice_on_launches_mostly_resolves() {
    let mut chance = Chance::of(80);
    let (mut advised, mut resolved) = (0, 0);
    for factor in [1.0, 1.03, 1.05, 1.1] {
        for _ in 0..120 {
            let finding = fight(&sit(USUAL, DuelMode::STANDARD, factor, &mut chance));
            let Some(more) = finding.judgements[0].more_launches else { continue };
            let longer = DuelMode { launches: DuelMode::STANDARD.launches + more, looks: &[], ..DuelMode::STANDARD };
            let mut duel = sit(USUAL, longer, factor, &mut chance);
            duel.design.looks = vec![longer.launches];
            advised += 1;
            resolved +=
                u64::from(matches!(fight(&duel).verdict, Verdict::Regressed | Verdict::Improved | Verdict::Same));
        }
    }
    assert!(advised >= 50, "advice is given: {advised}");
    assert!(resolved as f64 >= 0.7 * advised as f64, "{resolved} of {advised}");
}
