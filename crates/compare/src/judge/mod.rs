//! From the samples of a duel to words.
//!
//! Per round the candidate is compared with the middle of the base and its placebo, as a logarithm; the placebo with the base as well. Where
//! these differences lie is known from rounds and launches together (`stats::locate`). Two sides that are the same differ by the floor at
//! worst, so a change has to be larger than that, and than what matters. Gates share the allowed chance of a false verdict; whatever else was
//! measured is a hint and decides nothing.

mod exact;
mod measured;
mod rounds;
mod sentence;
mod word;

use std::collections::BTreeSet;

use record::{Arm, Better, Duel, ENVIRONMENT_METRICS, Finding, Judgement, Metric, Phase, Verdict};

use crate::rules::{self, Mode};
use crate::stats::{benjamini_hochberg, bonferroni, holm};
use measured::{Measured, measure};
pub use word::overall;

/// What a duel says.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// For each candidate.
    pub findings: Vec<Finding>,
    /// All of it in one word.
    pub verdict: Verdict,
}

impl Outcome {
    /// Whether more launches could not change what decides: every gate of every candidate has a word that stands.
    #[must_use]
    pub fn is_decided(&self) -> bool {
        !self.findings.is_empty() && self.findings.iter().all(is_decided)
    }
}

fn is_decided(finding: &Finding) -> bool {
    let stands = |verdict| matches!(verdict, Verdict::Regressed | Verdict::Improved | Verdict::Same);
    let mut gates = finding.judgements.iter().filter(|judgement| judgement.gate).peekable();
    matches!(finding.verdict, Verdict::WrongOutput | Verdict::Incomparable)
        || gates.peek().is_some() && gates.all(|judgement| stands(judgement.verdict))
}

/// Judges the timed samples of a duel at look number `looked` of its design. Each look must be taken once at most, in their order: they
/// share the allowed chance of a false verdict. Differences that stand in the duel's findings already make a candidate incomparable.
#[must_use]
pub fn judge(duel: &Duel, looked: usize) -> Outcome {
    let sides = Sides::of(duel, looked);
    let findings: Vec<Finding> = sides.candidates.iter().map(|candidate| sides.find(candidate)).collect();
    let verdict = overall(findings.iter().map(|finding| finding.verdict));
    Outcome { findings, verdict }
}

/// A duel, seen at one look.
struct Sides<'a> {
    duel: &'a Duel,
    base: Option<&'a Arm>,
    placebo: Option<&'a Arm>,
    candidates: Vec<&'a Arm>,
    /// Of everything together, at this look.
    alpha: f64,
    /// Metrics that have samples.
    metrics: BTreeSet<&'a str>,
}

impl<'a> Sides<'a> {
    fn of(duel: &'a Duel, looked: usize) -> Self {
        let base = duel.arms.first();
        let is_placebo = |arm: &&Arm| base.is_some_and(|base| arm.name.strip_suffix('\'') == Some(&base.name));
        let timed = duel.samples.iter().filter(|sample| sample.phase == Phase::Timed);
        Self {
            duel,
            base,
            placebo: duel.arms.iter().find(is_placebo),
            candidates: duel.arms.iter().skip(1).filter(|arm| !is_placebo(arm)).collect(),
            alpha: duel.design.alpha * rules::look_share(duel.design.looks.len(), looked),
            metrics: timed
                .flat_map(|sample| sample.values.keys().chain(sample.series.keys()))
                .map(String::as_str)
                .filter(|name| !name.starts_with(ENVIRONMENT_METRICS))
                .collect(),
        }
    }

    fn find(&self, candidate: &Arm) -> Finding {
        let before = self.duel.findings.iter().find(|finding| finding.arm == candidate.name);
        let differences = before.map(|finding| finding.differences.clone()).unwrap_or_default();
        let withheld = match self.is_wrong(candidate) {
            _ if !differences.is_empty() => Some(Verdict::Incomparable),
            true => Some(Verdict::WrongOutput),
            false => None,
        };
        let judgements = self.judge_all(candidate, withheld);
        let gates = judgements.iter().filter(|judgement| judgement.gate);
        let verdict = withheld.unwrap_or_else(|| overall(gates.map(|gate| gate.verdict)));
        let mut finding =
            Finding { arm: candidate.name.clone(), verdict, differences, judgements, ..Finding::default() };
        finding.sentence = sentence::of_finding(&finding, self.is_same_program(candidate));
        finding
    }

    /// Every metric: gates in the order in which they were declared, then the others by name.
    fn judge_all(&self, candidate: &Arm, withheld: Option<Verdict>) -> Vec<Judgement> {
        let gates = &self.duel.design.gates;
        let declared = gates.iter().map(|gate| (gate.metric.as_str(), Some(gate.threshold)));
        let is_gate = |name: &str| gates.iter().any(|gate| gate.metric == name);
        let others = self.metrics.iter().filter(|name| !is_gate(name)).map(|name| (*name, None));
        let mut all: Vec<Measured> = Vec::new();
        for (name, threshold) in declared.chain(others) {
            let metric = self.metric(name);
            let wanted = threshold.unwrap_or_else(|| rules::threshold(name, &metric));
            let asked = measured::Asked {
                name,
                threshold: wanted,
                is_gate: threshold.is_some(),
                rises_badly: metric.better == Better::Lower,
                alpha: self.alpha_of(threshold.is_some()),
                placebo_alpha: self.duel.design.alpha,
            };
            all.push(measure(asked, self.rounds(name, candidate), metric.exact));
        }
        self.correct(&mut all);
        let terms = word::Terms {
            withheld,
            decides: self.decides(),
            has_placebo: self.placebo.is_some(),
            is_same_program: self.is_same_program(candidate),
        };
        all.iter().map(|measured| word::judgement(measured, &terms)).collect()
    }

    fn metric(&self, name: &str) -> Metric {
        self.duel.metrics.get(name).cloned().unwrap_or_default()
    }

    /// Exact gates are compared without chance, so they cost the others nothing.
    fn alpha_of(&self, is_gate: bool) -> f64 {
        let gates = &self.duel.design.gates;
        let by_chance = gates.iter().filter(|gate| !self.metric(&gate.metric).exact).count();
        if is_gate { bonferroni(self.alpha, by_chance * self.candidates.len()) } else { self.alpha }
    }

    fn rounds(&self, metric: &str, candidate: &Arm) -> rounds::Rounds {
        let base = self.base.map_or("", |base| &base.name);
        let placebo = self.placebo.map(|placebo| placebo.name.as_str());
        rounds::Rounds::of(&self.duel.samples, metric, &rounds::Names { base, placebo, candidate: &candidate.name })
    }

    /// Chances are shown as what is left of them among so many metrics and candidates.
    fn correct(&self, all: &mut [Measured]) {
        for gates in [true, false] {
            let places: Vec<usize> =
                (0..all.len()).filter(|place| all[*place].asked.is_gate == gates && all[*place].p.is_some()).collect();
            let p: Vec<f64> = places.iter().filter_map(|place| all[*place].p).collect();
            let corrected = if gates { holm(&p) } else { benjamini_hochberg(&p) };
            let candidates = if gates { self.candidates.len() as f64 } else { 1.0 };
            for (place, p) in places.into_iter().zip(corrected) {
                all[place].p = Some((p * candidates).min(1.0));
            }
        }
    }

    fn decides(&self) -> bool {
        // Without a placebo nobody knows what this machine shows where nothing changed.
        self.placebo.is_some() && Mode::named(&self.duel.design.mode).is_none_or(|mode| mode.decides)
    }

    /// A base that always says the same, and a candidate that says something else though nothing that is asked of it changes numbers.
    fn is_wrong(&self, candidate: &Arm) -> bool {
        let varies = |arm: &Arm| arm.output_varies == Some(true);
        let Some(base) = self.base.filter(|base| !varies(base)) else { return false };
        let Some(output) = &base.output else { return false };
        let placebo_agrees =
            self.placebo.and_then(|placebo| placebo.output.as_ref()).is_none_or(|other| other == output);
        let differs = !candidate.other_output && candidate.output.as_ref().is_some_and(|other| other != output);
        placebo_agrees && (differs || varies(candidate))
    }

    /// The same program, asked to do the same: whatever differs is not its doing.
    fn is_same_program(&self, candidate: &Arm) -> bool {
        let Some(base) = self.base else { return false };
        let hash = |arm: &'a Arm| arm.subject.build.as_ref().and_then(|build| build.binary_blake3.as_deref());
        // Where the file lies is no difference once its bytes are the same; so the revision it was built from is none either.
        let told = |arm: &Arm| arm.subject.command.iter().skip(1).cloned().collect::<Vec<_>>();
        let candidate = self.candidates.iter().copied().find(|arm| arm.name == candidate.name).unwrap_or(base);
        hash(base).is_some()
            && hash(base) == hash(candidate)
            && told(base) == told(candidate)
            && base.models == candidate.models
            && base.workload == candidate.workload
    }
}
