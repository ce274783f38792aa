//! What a duel found, read from the document that it printed.

use serde_json::Value;

use super::questions::{Bound, Claim, Measure};

/// 95 % of a normal distribution lie within so many deviations.
const NORMAL_95: f64 = 1.959_964;

/// The document of a duel.
pub struct Found {
    /// The command, as one would type it.
    pub command: String,
    pub duel: Value,
}

/// Where a value lies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    pub estimate: f64,
    pub low: f64,
    pub high: f64,
}

impl Range {
    fn exactly(value: f64) -> Self {
        Self { estimate: value, low: value, high: value }
    }
}

/// What becomes of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// All of the interval is where the claim says.
    Proved,
    /// Nothing of it is.
    Disproved,
    /// It cannot be said.
    NotShown,
}

impl Word {
    pub fn name(self) -> &'static str {
        match self {
            Word::Proved => "proved",
            Word::Disproved => "disproved",
            Word::NotShown => "not shown",
        }
    }
}

impl Found {
    pub fn arms(&self) -> impl Iterator<Item = &Value> {
        self.duel["arms"].as_array().into_iter().flatten()
    }

    pub fn arm(&self, name: &str) -> Option<&Value> {
        self.arms().find(|arm| arm["name"] == name)
    }

    pub fn findings(&self) -> impl Iterator<Item = &Value> {
        self.duel["findings"].as_array().into_iter().flatten()
    }

    pub fn judgement(&self, arm: &str, metric: &str) -> Option<&Value> {
        let finding = self.findings().find(|finding| finding["arm"] == arm)?;
        finding["judgements"].as_array()?.iter().find(|judgement| judgement["metric"] == metric)
    }

    /// Where the measure of a claim lies; `None` where that is not known, or where nothing may be said of speed.
    pub fn measured(&self, claim: &Claim) -> Option<Range> {
        match claim.measure {
            Measure::Change(metric) => {
                let judgement = self.judgement(claim.arm, metric)?;
                let withheld =
                    ["unstable", "incomparable", "wrong-output"].iter().any(|word| judgement["verdict"] == *word);
                let change = judgement.get("change").filter(|_| !withheld)?;
                let share = |name: &str| change[name].as_f64();
                Some(Range { estimate: share("estimate")?, low: share("low")?, high: share("high")? })
            }
            Measure::BytesPerToken => {
                let bytes = self.judgement(claim.arm, "alloc_bytes")?["candidate"].as_f64()?;
                Some(Range::exactly(bytes / self.tokens(claim.arm)?))
            }
            Measure::Weights => Some(Range::exactly(self.weight_bytes(claim.arm)? / self.weight_bytes("A")?)),
            Measure::Perplexity => self.perplexity(claim.arm),
        }
    }

    /// How much more a text costs an arm's model than the base's, token by token; known to 95 % as far as tokens are many.
    fn perplexity(&self, arm: &str) -> Option<Range> {
        let costs = |arm: &str| -> Option<Vec<f64>> {
            let each = self.arm(arm)?["quality"]["each"].as_array()?;
            each.iter().map(Value::as_f64).collect()
        };
        let (base, candidate) = (costs("A")?, costs(arm)?);
        if base.len() != candidate.len() || base.len() < 2 {
            return None;
        }
        let count = base.len() as f64;
        let changes: Vec<f64> = base.iter().zip(&candidate).map(|(base, candidate)| candidate - base).collect();
        let mean = changes.iter().sum::<f64>() / count;
        let variance = changes.iter().map(|change| (change - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let reach = NORMAL_95 * (variance / count).sqrt();
        Some(Range { estimate: mean.exp_m1(), low: (mean - reach).exp_m1(), high: (mean + reach).exp_m1() })
    }

    /// Tokens that a round of an arm generates.
    fn tokens(&self, arm: &str) -> Option<f64> {
        let parameters = &self.arm(arm)?["workload"]["parameters"];
        let number = |name: &str| parameters[name].as_str()?.parse::<f64>().ok();
        Some(self.duel["design"]["calls"].as_f64()? * number("tokens")? * number("sequences")?)
    }

    fn weight_bytes(&self, arm: &str) -> Option<f64> {
        self.arm(arm)?["models"][0]["weight_bytes"].as_f64()
    }

    /// Floating-point operations per second of prompts, base and candidate: two for each weight that a token is multiplied with.
    pub fn prefill_flops(&self, arm: &str) -> Option<(f64, f64)> {
        let judgement = self.judgement(arm, "prefill_tokens_per_s")?;
        let per_token = 2.0 * self.arm(arm)?["models"][0]["active_parameters"].as_f64()?;
        Some((per_token * judgement["base"].as_f64()?, per_token * judgement["candidate"].as_f64()?))
    }
}

/// Whether a claim holds, by where its measure lies.
pub fn word(range: Option<Range>, bound: Bound) -> Word {
    let Some(Range { low, high, .. }) = range else { return Word::NotShown };
    let (holds, fails) = match bound {
        Bound::AtLeast(least) => (low >= least, high < least),
        Bound::AtMost(most) => (high <= most, low > most),
    };
    match (holds, fails) {
        (true, _) => Word::Proved,
        (_, true) => Word::Disproved,
        _ => Word::NotShown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_holds_where_all_of_the_interval_does() {
        let range = |low, high| Some(Range { estimate: f64::midpoint(low, high), low, high });
        for (low, high, expected) in [
            (0.4, 0.9, Word::Proved),
            (0.39, 0.9, Word::NotShown),
            (0.1, 0.39, Word::Disproved),
            (-0.5, -0.1, Word::Disproved),
        ] {
            assert_eq!(word(range(low, high), Bound::AtLeast(0.4)), expected, "{low} {high}");
        }
        assert_eq!(word(range(-0.95, -0.91), Bound::AtMost(-0.9)), Word::Proved);
        assert_eq!(word(range(-0.95, -0.5), Bound::AtMost(-0.9)), Word::NotShown);
        assert_eq!(word(range(-0.6, -0.5), Bound::AtMost(-0.9)), Word::Disproved);
        assert_eq!(word(None, Bound::AtLeast(0.0)), Word::NotShown);
    }
}
