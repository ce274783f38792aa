//! Counting what was said.

use compare::median;
use compare::stats::binomial_interval;
use record::{Duel, GateMetric, Judgement, Trial, Verdict, WordCount};

use super::{SelfTestSettings, replay};

/// What the bounds of shares are sure of.
const CONFIDENCE: f64 = 0.95;

/// What was said of every duel.
pub(super) struct Trials<'a> {
    settings: &'a SelfTestSettings,
    /// By the place of the gate, how much more work there was, and the judgement.
    said: Vec<(usize, f64, Judgement)>,
}

impl<'a> Trials<'a> {
    pub(super) fn new(settings: &'a SelfTestSettings) -> Self {
        Self { settings, said: Vec::new() }
    }

    /// Judges a duel by each gate; what the first one says.
    pub(super) fn add(&mut self, duel: &Duel, more: f64) -> Verdict {
        let mut first = None;
        for (place, gate) in self.settings.gates.iter().enumerate() {
            let outcome = replay(duel, self.settings.mode, std::slice::from_ref(gate));
            let judgements = outcome.findings.into_iter().flat_map(|finding| finding.judgements);
            let Some(judgement) = judgements.into_iter().find(|judgement| judgement.gate) else { continue };
            first.get_or_insert(judgement.verdict);
            self.said.push((place, more, judgement));
        }
        first.unwrap_or_default()
    }

    /// By metric, and by how much more work there was.
    pub(super) fn finish(self) -> Vec<Trial> {
        let amounts = || [0.0].into_iter().chain(self.settings.slowdowns.iter().copied());
        let gates = self.settings.gates.iter().enumerate();
        let trials = gates.flat_map(|(place, gate)| amounts().map(move |more| (place, gate, more)));
        trials.map(|(place, gate, more)| self.trial(place, gate, more)).filter(|trial| trial.duels > 0).collect()
    }

    fn trial(&self, place: usize, gate: &GateMetric, more: f64) -> Trial {
        let is_of = |said: &&(usize, f64, Judgement)| (said.0, said.1) == (place, more);
        let said: Vec<&Judgement> = self.said.iter().filter(is_of).map(|(_, _, judgement)| judgement).collect();
        let is_called = |verdict| verdict == Verdict::Regressed || more == 0.0 && verdict == Verdict::Improved;
        let called = said.iter().filter(|judgement| is_called(judgement.verdict)).count() as u64;
        let bounds = binomial_interval(called, said.len() as u64, 1.0 - CONFIDENCE);
        let middle = |value: fn(&Judgement) -> Option<f64>| {
            median(&said.iter().filter_map(|judgement| value(judgement)).collect::<Vec<_>>())
        };
        Trial {
            metric: gate.metric.clone(),
            threshold: gate.threshold,
            more,
            duels: said.len() as u64,
            called,
            low: bounds.low,
            high: bounds.high,
            words: words(&said),
            estimate: middle(|judgement| judgement.change.map(|change| change.estimate)),
            visible: middle(|judgement| judgement.visible),
        }
    }
}

fn words(said: &[&Judgement]) -> Vec<WordCount> {
    let mut words: Vec<WordCount> = Vec::new();
    for judgement in said {
        match words.iter_mut().find(|word| word.verdict == judgement.verdict) {
            Some(word) => word.count += 1,
            None => words.push(WordCount { verdict: judgement.verdict, count: 1 }),
        }
    }
    words.sort_by_key(|word| std::cmp::Reverse(word.count));
    words
}
