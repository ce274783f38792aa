//! What came out of one duel, gate or comparison of models.

use std::collections::BTreeMap;

use record::{Change, Duel, Verdict};
use serde_json::{Value, json};

/// One of them.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// The verdict, where the program gave one.
    pub verdict: Option<Verdict>,
    /// What is counted besides, such as `p95 broken`.
    pub words: Vec<String>,
    /// From the start of `hotloop` to its end.
    pub seconds: f64,
    /// The first metric that was judged by.
    pub metric: Option<String>,
    /// How that metric changed.
    pub change: Option<Change>,
    /// What a second measurement said of the first.
    pub confirmed: Option<bool>,
    /// Launches of the first measurement.
    pub launches: Option<u64>,
    /// Why there is no verdict.
    pub failure: Option<String>,
}

impl Outcome {
    /// Of a duel with one candidate.
    pub fn of_duel(duel: &Duel, seconds: f64) -> Self {
        let Some(finding) = duel.findings.first() else {
            return Self::failed(format!("the record has no finding: {}", duel.failures.join("; ")), seconds);
        };
        let gate = finding.judgements.iter().find(|judgement| judgement.gate);
        Self {
            verdict: Some(finding.verdict),
            seconds,
            metric: gate.map(|gate| gate.metric.clone()),
            change: gate.and_then(|gate| gate.change),
            confirmed: finding.confirmed,
            launches: gate.map(|gate| gate.launches),
            ..Self::default()
        }
    }

    /// Without a result.
    pub fn failed(why: String, seconds: f64) -> Self {
        Self { failure: Some(why), seconds, ..Self::default() }
    }

    /// Whether the candidate is called different although it is the same.
    pub fn is_false(&self) -> bool {
        matches!(
            self.verdict,
            Some(
                Verdict::Regressed | Verdict::Improved | Verdict::Mixed | Verdict::WrongOutput | Verdict::Incomparable
            )
        )
    }

    /// Whether the interval does not contain 0.
    pub fn excludes_zero(&self) -> bool {
        self.change.is_some_and(|change| change.low > 0.0 || change.high < 0.0)
    }

    pub fn is(&self, verdict: Verdict) -> bool {
        self.verdict == Some(verdict)
    }

    pub fn has(&self, word: &str) -> bool {
        self.words.iter().any(|own| own == word)
    }

    pub fn to_json(&self) -> Value {
        let change = self.change.map(|change| json!([change.estimate, change.low, change.high]));
        json!({
            "verdict": self.verdict, "words": self.words, "seconds": self.seconds, "metric": self.metric, "change": change,
            "confirmed": self.confirmed, "launches": self.launches, "failure": self.failure,
        })
    }
}

/// How often each verdict and each word was said, verdicts by their names in records.
pub fn counts(outcomes: &[Outcome]) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for outcome in outcomes {
        let verdict = outcome.verdict.map(verdict_name);
        let failure = outcome.failure.as_ref().map(|_| "failed".to_owned());
        for word in verdict.into_iter().chain(failure).chain(outcome.words.iter().cloned()) {
            *counts.entry(word).or_default() += 1;
        }
    }
    counts
}

fn verdict_name(verdict: Verdict) -> String {
    let name = serde_json::to_value(verdict).ok();
    name.as_ref().and_then(Value::as_str).unwrap_or("without a name").to_owned()
}
