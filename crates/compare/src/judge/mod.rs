//! Verdicts from the samples of a duel.
//!
//! In each round the candidate is compared with the base and with its placebo, each as a logarithm of a ratio; the change is the mean of the
//! two medians (`stats::locate_mean`), so base and placebo are one reference of twice the size. The placebo is compared with the base as
//! well: where those two differ, only changes beyond that difference are believed. Gates share the allowed probability of a false verdict;
//! all other metrics are hints and decide nothing.

mod exact;
mod measurement;
mod rounds;
pub(crate) mod sentence;
mod verdict;

use std::collections::BTreeSet;

use record::{Arm, Better, Difference, Duel, ENVIRONMENT_METRICS, Finding, Judgement, Metric, Phase, Verdict};

use crate::rules::{self, DuelMode};
use crate::stats::{benjamini_hochberg, bonferroni, holm};
use measurement::{MetricMeasurement, measure};
pub use verdict::overall;

/// The findings and the verdict of a duel.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedDuel {
    /// The findings of each candidate.
    pub findings: Vec<Finding>,
    /// The overall verdict.
    pub verdict: Verdict,
}

impl JudgedDuel {
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
pub fn judge(duel: &Duel, looked: usize) -> JudgedDuel {
    let sides = Sides::of(duel, looked);
    let findings: Vec<Finding> = sides.candidates.iter().map(|candidate| sides.find(candidate)).collect();
    let verdict = overall(findings.iter().map(|finding| finding.verdict));
    JudgedDuel { findings, verdict }
}

/// A duel at one interim analysis.
struct Sides<'a> {
    duel: &'a Duel,
    base: Option<&'a Arm>,
    placebo: Option<&'a Arm>,
    candidates: Vec<&'a Arm>,
    /// The error rate for all gates together, at this interim analysis.
    alpha: f64,
    /// Metrics with samples.
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
        let mut differences = before.map(|finding| finding.differences.clone()).unwrap_or_default();
        differences.extend(self.unsteady_output(candidate).filter(|found| !differences.contains(found)));
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
        let said = match withheld {
            Some(Verdict::WrongOutput) if self.is_silent(candidate) => sentence::SILENT.to_owned(),
            _ => sentence::of_finding(&finding, &self.duel.design.gates),
        };
        finding.sentence = format!("{}{said}", self.about(candidate));
        finding
    }

    /// Every metric: gates in the order in which they were declared, then the others by name.
    fn judge_all(&self, candidate: &Arm, withheld: Option<Verdict>) -> Vec<Judgement> {
        let gates = &self.duel.design.gates;
        let declared = gates.iter().map(|gate| (gate.metric.as_str(), Some(gate.threshold)));
        let is_gate = |name: &str| gates.iter().any(|gate| gate.metric == name);
        let others = self.metrics.iter().filter(|name| !is_gate(name)).map(|name| (*name, None));
        let by_chance = self.by_chance();
        let mut all: Vec<MetricMeasurement> = Vec::new();
        for (name, threshold) in declared.chain(others) {
            let metric = self.metric(name);
            let wanted = threshold.unwrap_or_else(|| rules::threshold(name, &metric));
            let question = measurement::MetricQuestion {
                name,
                threshold: wanted,
                is_gate: threshold.is_some(),
                rises_badly: metric.better == Better::Lower,
                alpha: if threshold.is_some() { bonferroni(self.alpha, by_chance) } else { self.alpha },
            };
            all.push(measure(question, self.rounds(name, candidate), metric.exact));
        }
        self.correct(&mut all);
        let terms = verdict::VerdictTerms {
            withheld,
            decides_from: self.decides_from(),
            is_same_program: self.is_same_program(candidate),
        };
        all.iter().map(|measured| verdict::judgement(measured, &terms)).collect()
    }

    fn metric(&self, name: &str) -> Metric {
        self.duel.metrics.get(name).cloned().unwrap_or_default()
    }

    /// Gates of all candidates that share the allowed chance. Exact ones are compared without chance, so they cost the others nothing;
    /// those that were called exact and vary are judged by chance like the rest.
    fn by_chance(&self) -> usize {
        let gates = &self.duel.design.gates;
        let pairs =
            gates.iter().flat_map(|gate| self.candidates.iter().map(move |candidate| (&gate.metric, *candidate)));
        let is_by_chance = |(metric, candidate): &(&String, &Arm)| {
            !self.metric(metric).exact || {
                let rounds = self.rounds(metric, candidate);
                exact::exact(&rounds.base, &rounds.candidate).is_none()
            }
        };
        pairs.filter(is_by_chance).count()
    }

    fn rounds(&self, metric: &str, candidate: &Arm) -> rounds::MetricRounds {
        let base = self.base.map_or("", |base| &base.name);
        let placebo = self.placebo.map(|placebo| placebo.name.as_str());
        rounds::MetricRounds::of(
            &self.duel.samples,
            metric,
            &rounds::ArmNames { base, placebo, candidate: &candidate.name },
        )
    }

    /// Chances are shown as what is left of them among so many metrics and candidates.
    fn correct(&self, all: &mut [MetricMeasurement]) {
        for gates in [true, false] {
            let places: Vec<usize> = (0..all.len())
                .filter(|place| all[*place].question.is_gate == gates && all[*place].p.is_some())
                .collect();
            let p: Vec<f64> = places.iter().filter_map(|place| all[*place].p).collect();
            let corrected = if gates { holm(&p) } else { benjamini_hochberg(&p) };
            let candidates = if gates { self.candidates.len() as f64 } else { 1.0 };
            for (place, p) in places.into_iter().zip(corrected) {
                all[place].p = Some((p * candidates).min(1.0));
            }
        }
    }

    /// The smallest change that may be decided; `None` where a placebo is missing, so nobody knows what the machine adds.
    fn decides_from(&self) -> Option<f64> {
        match DuelMode::named(&self.duel.design.mode) {
            Some(mode) if self.placebo.is_some() || !mode.placebo => Some(mode.decides_from),
            None => self.placebo.map(|_| 0.0),
            _ => None,
        }
    }

    /// A base that always says the same, and a candidate that says something else though nothing that is asked of it changes numbers.
    fn is_wrong(&self, candidate: &Arm) -> bool {
        let varies = |arm: &Arm| arm.output_varies == Some(true);
        let Some(base) = self.base.filter(|base| !varies(base)) else { return false };
        let Some(output) = &base.output else { return false };
        let agrees = |placebo: &Arm| !varies(placebo) && placebo.output.as_ref().is_none_or(|other| other == output);
        let differs = match &candidate.output {
            Some(other) => other != output,
            None => self.is_silent(candidate),
        };
        self.placebo.is_none_or(agrees) && (differs && !candidate.other_output || varies(candidate))
    }

    /// A base that puts out something else each time: nobody can tell whether a candidate computes the same.
    fn unsteady_output(&self, candidate: &Arm) -> Option<Difference> {
        let varies = |arm: &Arm| arm.output_varies == Some(true);
        let output = |arm: Option<&Arm>| arm.and_then(|arm| arm.output.clone());
        let disagree = output(self.base).zip(output(self.placebo)).is_some_and(|(one, other)| one != other);
        let is_unsteady = disagree || self.base.is_some_and(varies) || self.placebo.is_some_and(varies);
        (is_unsteady && !candidate.other_output).then(|| Difference {
            field: "output".to_owned(),
            base: Some("different each time".to_owned()),
            candidate: candidate.output.clone().or_else(|| varies(candidate).then(|| "different each time".to_owned())),
        })
    }

    /// Whether a candidate has worked and does not tell what it put out, though the base does: nobody knows that it computed the same.
    fn is_silent(&self, candidate: &Arm) -> bool {
        let has_worked = || self.duel.samples.iter().any(|sample| sample.arm.as_ref() == Some(&candidate.name));
        let tells = |arm: &Arm| arm.output.is_some() || arm.output_varies.is_some();
        self.base.is_some_and(tells) && !tells(candidate) && has_worked()
    }

    /// The same program, asked to do the same: whatever differs is not its doing.
    fn is_same_program(&self, candidate: &Arm) -> bool {
        let is_same = |base: &Arm| {
            base.subject.name == candidate.subject.name
                && base.subject.command == candidate.subject.command
                && base.models == candidate.models
                && base.workload == candidate.workload
        };
        self.has_same_bytes(candidate) && self.base.is_some_and(is_same)
    }

    /// The same file, as far as its bytes tell. By another name or in another place it may do something else: a program may look at how it
    /// is called, and a script at what lies beside it.
    fn has_same_bytes(&self, candidate: &Arm) -> bool {
        self.base.is_some_and(|base| crate::comparable::same_binary(&base.subject, &candidate.subject))
    }

    /// What has to be known before the verdict on a candidate.
    fn about(&self, candidate: &Arm) -> &'static str {
        let arguments = |arm: &Arm| arm.subject.command.iter().skip(1).cloned().collect::<Vec<_>>();
        let is_called_alike =
            |base: &Arm| arguments(base) == arguments(candidate) && base.workload == candidate.workload;
        match () {
            () if self.is_same_program(candidate) => "Both sides are the same program with the same arguments. ",
            // The engine is always the same program: its sides differ in their models and settings.
            () if !candidate.models.is_empty() => "",
            () if self.has_same_bytes(candidate) && self.base.is_some_and(is_called_alike) => {
                "Both files have the same bytes, but different names or places. "
            }
            () => "",
        }
    }
}
