//! Duels that were never fought.

use std::collections::BTreeMap;

use compare::rules::{self, DuelMode};
use record::{Arm, Better, Design, Duel, GateMetric, Metric, Phase, Sample};

/// Made-up values: of which arm, launch and round.
pub type Values<'a> = &'a mut dyn FnMut(&str, u64, u64) -> f64;

/// A duel of a mode between A and B with one metric, `cpu_s`, that it is judged by.
pub fn duel(mode: DuelMode, values: Values) -> Duel {
    let arms: &[&str] = if mode.placebo { &["A", "A'", "B"] } else { &["A", "B"] };
    let mut duel = Duel {
        design: Design {
            mode: mode.name.to_owned(),
            launches: mode.launches,
            rounds: mode.rounds,
            looks: mode.looks.to_vec(),
            alpha: rules::ALPHA,
            ..Design::default()
        },
        arms: arms.iter().map(|name| Arm { name: (*name).to_owned(), ..Arm::default() }).collect(),
        ..Duel::default()
    };
    gate(&mut duel, "cpu_s", 0.02);
    add(&mut duel, "cpu_s", values);
    duel
}

/// Declares a metric as one that it is judged by.
pub fn gate(duel: &mut Duel, metric: &str, threshold: f64) {
    duel.design.gates.push(GateMetric { metric: metric.to_owned(), threshold });
}

/// Says what a metric is.
pub fn define(duel: &mut Duel, metric: &str, better: Better, exact: bool) {
    duel.metrics.insert(metric.to_owned(), Metric { better, exact, ..Metric::default() });
}

/// Values of a metric in every round of every arm.
pub fn add(duel: &mut Duel, metric: &str, values: Values) {
    let names: Vec<String> = duel.arms.iter().map(|arm| arm.name.clone()).collect();
    for launch in 0..duel.design.launches {
        for round in 0..duel.design.rounds {
            for arm in &names {
                let value = values(arm, launch, round);
                let values = BTreeMap::from([(metric.to_owned(), value)]);
                put(duel, Sample { arm: Some(arm.clone()), launch, round, values, ..Sample::default() });
            }
        }
    }
}

fn put(duel: &mut Duel, sample: Sample) {
    let is_same = |other: &&mut Sample| {
        (&other.arm, other.launch, other.round, other.phase) == (&sample.arm, sample.launch, sample.round, Phase::Timed)
    };
    match duel.samples.iter_mut().find(is_same) {
        Some(other) => other.values.extend(sample.values),
        None => duel.samples.push(sample),
    }
}

/// Chance that is the same every time.
pub struct Chance(u64);

impl Chance {
    pub fn of(seed: u64) -> Self {
        Self(seed)
    }

    /// Splitmix64.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Above 0 and below 1.
    pub fn share(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// By the normal distribution.
    pub fn normal(&mut self) -> f64 {
        (-2.0 * self.share().ln()).sqrt() * (std::f64::consts::TAU * self.share()).cos()
    }
}
