//! Which model decodes faster: rounds in turns, in several launches, beside a placebo.
//!
//! A model is called faster only where the whole interval lies beyond the threshold and beyond what two copies of one model
//! differ by. Files with equal contents are one model: they are the placebo, and are not ranked against each other.

use record::{Figure, Ranking, SpeedComparison, SpeedVerdict};

use super::CONFIDENCE;
use super::cells::{Cell, ModelEntry};
use super::launches::{self, RoundTimes};

/// The smallest difference of wall time that counts: below it users notice nothing, and shared machines cannot tell.
pub const WALL_THRESHOLD: f64 = 0.03;
/// The smallest difference of CPU time that counts: it scatters less than wall time.
pub const CPU_THRESHOLD: f64 = 0.02;
/// A placebo that certainly differs by more than this share of the threshold shows that the machine disturbed the measurement.
const DISTURBED_SHARE: f64 = 0.5;

/// Decides of pairs of models.
pub(super) struct SpeedJudge {
    ranking: Ranking,
    /// The chance to be wrong that each pair may spend.
    alpha: f64,
    /// Ratios of speeds up to this one, or down to its inverse, are no difference.
    needed: f64,
}

/// The judge of models of one session; `None` where there are not two.
pub(super) fn judge(entries: &[ModelEntry<'_>]) -> Option<SpeedJudge> {
    let different = (0..entries.len()).filter(|at| original(entries, *at) == *at).count();
    if entries.len() < 2 {
        return None;
    }
    let by_cpu = entries.iter().all(ModelEntry::is_cpu_bound);
    let (metric, threshold) = if by_cpu { ("cpu_s", CPU_THRESHOLD) } else { ("wall_s", WALL_THRESHOLD) };
    let alpha = (1.0 - CONFIDENCE) / (different * different.saturating_sub(1) / 2).max(1) as f64;
    let counts = entries.iter().map(|entry| entry.cells.first().map_or((0, 0), |cell| count(cell.clock(by_cpu))));
    let (launches, rounds) = counts.fold((u64::MAX, u64::MAX), |least, own| (least.0.min(own.0), least.1.min(own.1)));
    let ranking = Ranking { metric: metric.to_owned(), threshold, launches, rounds, ..Ranking::default() };
    let mut judge = SpeedJudge { ranking, alpha, needed: 1.0 + threshold };
    // Of several placebos the one that differs most.
    let placebos = (0..entries.len()).filter_map(|at| judge.placebo(entries, at));
    let placebo = placebos.max_by(|a, b| a.value.ln().abs().total_cmp(&b.value.ln().abs()));
    judge.ranking.placebo = placebo;
    judge.consider(placebo);
    Some(judge)
}

/// The first model with the same contents: the model itself, where it is no copy.
pub(super) fn original(entries: &[ModelEntry<'_>], at: usize) -> usize {
    let hash = &entries[at].model.weights_blake3;
    let first = entries.iter().position(|other| hash.is_some() && other.model.weights_blake3 == *hash);
    first.unwrap_or(at)
}

/// Launches and rounds.
fn count(rounds: &RoundTimes) -> (u64, u64) {
    (launches::by_launch(rounds).len() as u64, rounds.len() as u64)
}

impl SpeedJudge {
    /// The speed of the second copy beside the first, where there is one.
    fn placebo(&self, entries: &[ModelEntry<'_>], at: usize) -> Option<Figure> {
        let original = original(entries, at);
        let copy = if original == at { entries[at].placebo.as_ref()? } else { entries[at].cells.first()? };
        self.ratio(entries[original].cells.first()?, copy)
    }

    /// Raises what a difference needs to what two copies differ by.
    fn consider(&mut self, placebo: Option<Figure>) {
        let Some(placebo) = placebo else { return };
        let size = |ratio: f64| ratio.max(1.0 / ratio);
        self.needed = self.needed.max(size(placebo.value));
        let Some((low, high)) = placebo.low.zip(placebo.high) else { return };
        let certain = 1.0 + DISTURBED_SHARE * self.ranking.threshold;
        self.ranking.disturbed = low > certain || high < 1.0 / certain;
        if self.ranking.disturbed {
            self.needed = self.needed.max(size(low)).max(size(high));
        }
    }

    fn ratio(&self, base: &Cell<'_>, own: &Cell<'_>) -> Option<Figure> {
        let by_cpu = self.ranking.metric == "cpu_s";
        launches::ratio(&Cell::ratios_of(own.clock(by_cpu), base.clock(by_cpu)), self.alpha)
    }

    /// The speed of a model beside that of a base.
    pub(super) fn pair(&self, base: &ModelEntry<'_>, own: &ModelEntry<'_>) -> SpeedComparison {
        let cells = base.cells.first().zip(own.cells.first());
        let ratio = cells.and_then(|(base, own)| self.ratio(base, own));
        let verdict = ratio.map_or(SpeedVerdict::CannotTell, |ratio| self.verdict(&ratio));
        SpeedComparison { model: own.model.name.clone(), base: base.model.name.clone(), ratio, verdict }
    }

    fn verdict(&self, ratio: &Figure) -> SpeedVerdict {
        let limit = 1.0 + self.ranking.threshold;
        let has_placebo = self.ranking.placebo.is_some_and(|placebo| placebo.low.is_some());
        match ratio.low.zip(ratio.high) {
            Some((low, _)) if has_placebo && low > self.needed => SpeedVerdict::Faster,
            Some((_, high)) if has_placebo && high < 1.0 / self.needed => SpeedVerdict::Slower,
            Some((low, high)) if low > 1.0 / limit && high < limit => SpeedVerdict::NoDifference,
            _ => SpeedVerdict::CannotTell,
        }
    }

    /// With all pairs of different models.
    pub(super) fn ranking(&self, entries: &[ModelEntry<'_>]) -> Ranking {
        let mut pairs = Vec::new();
        for own in (0..entries.len()).filter(|at| original(entries, *at) == *at) {
            for base in (0..own).filter(|at| original(entries, *at) == *at) {
                pairs.push(self.pair(&entries[base], &entries[own]));
            }
        }
        Ranking { pairs, ..self.ranking.clone() }
    }

    /// Whether CPU time decides.
    pub(super) fn is_by_cpu(&self) -> bool {
        self.ranking.metric == "cpu_s"
    }
}
