//! Sorts samples into rounds.

use std::collections::{BTreeMap, BTreeSet};

use record::{Phase, Sample};

use crate::median;
use crate::stats::{PairedEstimate, locate_mean};

/// The arms of one comparison.
pub(super) struct ArmNames<'a> {
    pub(super) base: &'a str,
    pub(super) placebo: Option<&'a str>,
    pub(super) candidate: &'a str,
}

/// The values of one metric.
#[derive(Debug, Default)]
pub(super) struct MetricRounds {
    /// Of the base and its placebo, of all samples.
    pub(super) base: Vec<f64>,
    pub(super) candidate: Vec<f64>,
    /// By launch: ln(candidate / base) of each round.
    against_base: Vec<Vec<f64>>,
    /// By launch: ln(candidate / placebo) of each round; empty without a placebo.
    against_placebo: Vec<Vec<f64>>,
    /// By launch: ln(placebo / base) of each round; empty without a placebo.
    pub(super) placebos: Vec<Vec<f64>>,
    pub(super) dropped: u64,
    /// Launches in which base and candidate have a value, whatever it is.
    pub(super) launched: u64,
}

/// The pairs of one launch.
#[derive(Default)]
struct LaunchPairs {
    against_base: Vec<f64>,
    against_placebo: Vec<f64>,
    placebos: Vec<f64>,
}

/// One round: the values of base, placebo and candidate.
type Round = [Option<f64>; 3];

impl MetricRounds {
    pub(super) fn of(samples: &[Sample], metric: &str, names: &ArmNames) -> Self {
        let mut rounds: BTreeMap<(u64, u64), Round> = BTreeMap::new();
        let mut all = Self::default();
        for sample in samples.iter().filter(|sample| sample.phase == Phase::Timed) {
            let Some(side) = names.side(sample.arm.as_deref()) else { continue };
            let round = rounds.entry((sample.launch, sample.round)).or_default();
            let Some(value) = value(sample, metric).filter(|value| value.is_finite()) else { continue };
            round[side] = Some(value);
            if side == 2 { &mut all.candidate } else { &mut all.base }.push(value);
        }
        let is_whole = |round: &Round| round[0].is_some() && round[2].is_some();
        let launched: BTreeSet<u64> =
            rounds.iter().filter(|(_, round)| is_whole(round)).map(|((launch, _), _)| *launch).collect();
        all.launched = launched.len() as u64;
        all.pair(&rounds, names.placebo.is_some());
        all
    }

    fn pair(&mut self, rounds: &BTreeMap<(u64, u64), Round>, has_placebo: bool) {
        let mut launches: BTreeMap<u64, LaunchPairs> = BTreeMap::new();
        for ((launch, _), round) in rounds {
            // Values that are not above 0 have no logarithm.
            let [base, placebo, candidate] = round.map(|value| value.filter(|value| *value > 0.0).map(f64::ln));
            let pairs = launches.entry(*launch).or_default();
            match (base, placebo, candidate) {
                (Some(base), Some(placebo), Some(candidate)) => {
                    pairs.against_base.push(candidate - base);
                    pairs.against_placebo.push(candidate - placebo);
                    pairs.placebos.push(placebo - base);
                }
                (Some(base), None, Some(candidate)) if !has_placebo => pairs.against_base.push(candidate - base),
                _ => self.dropped += 1,
            }
        }
        for pairs in launches.into_values().filter(|pairs| !pairs.against_base.is_empty()) {
            self.against_base.push(pairs.against_base);
            if has_placebo {
                self.against_placebo.push(pairs.against_placebo);
                self.placebos.push(pairs.placebos);
            }
        }
    }

    /// The change of the candidate, against base and placebo alike.
    pub(super) fn locate(&self, alpha: f64) -> Option<PairedEstimate> {
        let comparisons = [self.against_base.as_slice(), &self.against_placebo];
        let there = if self.against_placebo.is_empty() { 1 } else { 2 };
        locate_mean(&comparisons[..there], alpha)
    }

    pub(super) fn launches(&self) -> u64 {
        self.against_base.len() as u64
    }

    pub(super) fn rounds(&self) -> u64 {
        self.against_base.iter().map(Vec::len).sum::<usize>() as u64
    }
}

impl ArmNames<'_> {
    fn side(&self, arm: Option<&str>) -> Option<usize> {
        let arm = arm?;
        [Some(self.base), self.placebo, Some(self.candidate)].iter().position(|name| *name == Some(arm))
    }
}

/// Of values that come several to a sample, the middle one.
fn value(sample: &Sample, metric: &str) -> Option<f64> {
    let single = sample.values.get(metric).copied();
    single.or_else(|| sample.series.get(metric).and_then(|series| median(series)))
}
