//! What each rule said, counted.

use std::fmt;

use compare::median;
use compare::rules::DuelMode;
use compare::stats::binomial_interval;
use lab::selftest::replay;
use record::{Duel, GateMetric, Judgement, Phase, Verdict};

use crate::rivals::{Call, RIVALS};

/// What is counted in one column.
const COLUMNS: [&str; 3] = ["false of same", "found, standard", "found, thorough"];

/// How often a rule called something, of so often that it was asked.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    called: u64,
    of: u64,
}

impl Count {
    fn add(&mut self, is_called: bool) {
        self.called += u64::from(is_called);
        self.of += 1;
    }
}

/// Rows of rules, by metrics.
pub struct Table {
    gates: Vec<GateMetric>,
    /// By metric and rule; ours is the last.
    counts: Vec<Vec<[Count; 3]>>,
    /// By metric and column: our words.
    words: Vec<[Vec<Verdict>; 3]>,
    /// By metric and column: our estimates, floors, and the smallest detectable changes.
    figures: Vec<[Vec<[f64; 3]>; 3]>,
}

impl Table {
    pub fn new(gates: &[GateMetric]) -> Self {
        Self {
            gates: gates.to_vec(),
            counts: vec![vec![[Count::default(); 3]; RIVALS.len() + 1]; gates.len()],
            words: vec![Default::default(); gates.len()],
            figures: vec![Default::default(); gates.len()],
        }
    }

    /// A duel of two sides that are the same.
    pub fn add_same(&mut self, duel: &Duel) {
        let is_false = |call| call != Call::Nothing;
        self.add(duel, DuelMode::STANDARD, 0, is_false);
    }

    /// A duel of which the second side has more work.
    pub fn add_slowed(&mut self, duel: &Duel) {
        self.add(duel, DuelMode::STANDARD, 1, |call| call == Call::Worse);
        self.add(duel, DuelMode::THOROUGH, 2, |call| call == Call::Worse);
    }

    fn add(&mut self, duel: &Duel, mode: DuelMode, column: usize, counts: fn(Call) -> bool) {
        for (place, gate) in self.gates.iter().enumerate() {
            let (base, candidate) = (values(duel, mode, "A", &gate.metric), values(duel, mode, "B", &gate.metric));
            for (rule, rival) in RIVALS.iter().enumerate() {
                self.counts[place][rule][column].add(counts((rival.call)(&base, &candidate)));
            }
            let outcome = replay(duel, mode, std::slice::from_ref(gate));
            let judgement = &outcome.findings[0].judgements[0];
            self.counts[place][RIVALS.len()][column].add(counts(call(judgement)));
            self.words[place][column].push(judgement.verdict);
            let figures = [judgement.change.map(|change| change.estimate), judgement.floor, judgement.visible];
            self.figures[place][column].push(figures.map(|figure| figure.unwrap_or(f64::NAN)));
        }
    }
}

fn values(duel: &Duel, mode: DuelMode, arm: &str, metric: &str) -> Vec<f64> {
    let samples = duel.samples.iter().filter(|sample| {
        sample.phase == Phase::Timed
            && sample.arm.as_deref() == Some(arm)
            && sample.launch < mode.launches
            && sample.round < mode.rounds
    });
    samples.filter_map(|sample| sample.values.get(metric).copied()).collect()
}

fn call(judgement: &Judgement) -> Call {
    match judgement.verdict {
        Verdict::Regressed => Call::Worse,
        Verdict::Improved => Call::Better,
        _ => Call::Nothing,
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, gate) in self.gates.iter().enumerate() {
            writeln!(f, "| {:32} | {:>22} | {:>22} | {:>22} |", gate.metric, COLUMNS[0], COLUMNS[1], COLUMNS[2])?;
            writeln!(f, "|{}|{}:|{}:|{}:|", "-".repeat(34), "-".repeat(23), "-".repeat(23), "-".repeat(23))?;
            let names = RIVALS.iter().map(|rival| rival.name).chain(["hotloop"]);
            for (name, counts) in names.zip(&self.counts[place]) {
                let cells = counts.map(cell);
                writeln!(f, "| {name:32} | {:>22} | {:>22} | {:>22} |", cells[0], cells[1], cells[2])?;
            }
            for (column, name) in COLUMNS.iter().enumerate() {
                writeln!(f, "{}", self.said(place, column, name))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

impl Table {
    /// Our words in full, and the middle of our figures.
    fn said(&self, place: usize, column: usize, name: &str) -> String {
        let words = &self.words[place][column];
        let mut seen: Vec<(Verdict, usize)> = Vec::new();
        for word in words {
            if !seen.iter().any(|(other, _)| other == word) {
                seen.push((*word, words.iter().filter(|other| *other == word).count()));
            }
        }
        seen.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let seen: Vec<String> = seen.iter().map(|(word, count)| format!("{word:?} {count}")).collect();
        let middle = |which: usize| {
            let known =
                self.figures[place][column].iter().map(|figures| figures[which]).filter(|figure| !figure.is_nan());
            median(&known.collect::<Vec<_>>()).unwrap_or(f64::NAN) * 100.0
        };
        let figures = format!("change {:+.2} %, floor {:.2} %, visible {:.2} %", middle(0), middle(1), middle(2));
        format!("{name}: {}; middle of {figures}", seen.join(", "))
    }
}

/// "12 of 100 (6.4–20 %)": where the share lies with 95 % confidence.
fn cell(count: Count) -> String {
    let bounds = binomial_interval(count.called, count.of, 0.05);
    format!("{} of {} ({:.1}–{:.1} %)", count.called, count.of, bounds.low * 100.0, bounds.high * 100.0)
}
