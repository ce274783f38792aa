//! What is said of the samples.

use record::{Duel, Finding, Verdict};

/// What was found out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// For each candidate.
    pub findings: Vec<Finding>,
    /// All of it in one word.
    pub verdict: Verdict,
}

impl Outcome {
    /// Whether more samples would not change it.
    #[must_use]
    pub fn is_decided(&self) -> bool {
        !matches!(
            self.verdict,
            Verdict::Unresolved | Verdict::LeaningBetter | Verdict::LeaningWorse | Verdict::Unstable
        )
    }
}

/// Nothing is said yet.
pub(super) fn judge(_: &Duel, _: usize) -> Outcome {
    Outcome::default()
}
