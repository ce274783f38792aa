//! What the rules promise, tried on machines whose truth is known. Every seed is fixed, so what passes once passes always.

use compare::rules::Mode;
use compare::stats::{binomial_interval, locate, sign_interval};
use compare::{judge, quantile_interval, sorted};
use record::{Duel, Verdict};

use crate::sitting::{self, Chance};

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

fn sit(machine: Machine, mode: Mode, factor: f64, chance: &mut Chance) -> Duel {
    let launches: Vec<[f64; 3]> =
        (0..mode.launches).map(|_| [(); 3].map(|()| machine.launch * chance.normal())).collect();
    sitting::duel(mode, &mut |arm, launch, _| {
        let side = ["A", "A'", "B"].iter().position(|name| *name == arm).unwrap();
        let held_up = if chance.share() < machine.held_up { 2.0 * chance.share() } else { 0.0 };
        let noise = launches[launch as usize][side] + machine.round * chance.normal() + held_up.ln_1p();
        noise.exp() * if arm == "B" { factor } else { 1.0 }
    })
}

/// The word of a duel that ends at the first look that decides.
fn fight(duel: &Duel) -> Verdict {
    for (looked, launches) in duel.design.looks.iter().enumerate() {
        let mut so_far = duel.clone();
        so_far.samples.retain(|sample| sample.launch < *launches);
        let outcome = judge(&so_far, looked);
        if outcome.is_decided() || looked + 1 == duel.design.looks.len() {
            return outcome.verdict;
        }
    }
    Verdict::Unresolved
}

/// How many of so many duels end with each of the words.
fn count(machine: Machine, mode: Mode, factor: f64, duels: u64, words: &[Verdict]) -> u64 {
    let mut chance = Chance::of(duels ^ 0x5eed);
    (0..duels).filter(|_| words.contains(&fight(&sit(machine, mode, factor, &mut chance)))).count() as u64
}

const DECIDED: &[Verdict] = &[Verdict::Regressed, Verdict::Improved];

#[test]
fn nothing_changed_and_nothing_is_found() {
    for (machine, mode) in
        [(QUIET, Mode::STANDARD), (USUAL, Mode::STANDARD), (LOADED, Mode::STANDARD), (USUAL, Mode::THOROUGH)]
    {
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
    let found = count(machine, Mode::THOROUGH, 1.0, 600, words);
    assert!(found <= 30, "{found} of 600");
}

#[test]
fn same_is_as_seldom_false() {
    // Exactly at what matters, equality and its opposite are both wrong.
    let found = count(QUIET, Mode::STANDARD, 1.02, 600, &[Verdict::Same, Verdict::Regressed]);
    assert!(found <= 30, "{found} of 600");
}

#[test]
fn real_changes_are_found() {
    for (machine, mode, factor, least) in [
        (QUIET, Mode::STANDARD, 1.05, 199),
        (QUIET, Mode::STANDARD, 1.0 / 1.05, 199),
        (USUAL, Mode::THOROUGH, 1.10, 190),
        (LOADED, Mode::THOROUGH, 1.50, 190),
    ] {
        let word = if factor > 1.0 { Verdict::Regressed } else { Verdict::Improved };
        let found = count(machine, mode, factor, 200, &[word]);
        assert!(found >= least, "{factor}: {found} of 200");
    }
    let same = count(QUIET, Mode::STANDARD, 1.0, 200, &[Verdict::Same]);
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
