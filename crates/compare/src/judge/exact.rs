//! Exact metrics: the same work gives the same value.

/// Two sides of which each had one value throughout.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ExactComparison {
    /// Above 0 where the candidate has more.
    pub(super) difference: f64,
    /// As a share of the base; absent where the base is 0 and the candidate is not.
    pub(super) change: Option<f64>,
    /// Whether there was one sample of each side, or of one, so that nobody knows whether it would come again.
    pub(super) is_single: bool,
}

/// Compares them; `None` where a side has no value, or different ones: then it is not exact, whatever was said.
pub(super) fn exact(base: &[f64], candidate: &[f64]) -> Option<ExactComparison> {
    let only = |values: &[f64]| values.first().copied().filter(|first| values.iter().all(|value| value == first));
    let (before, after) = (only(base)?, only(candidate)?);
    let difference = after - before;
    Some(ExactComparison {
        difference,
        change: if difference == 0.0 { Some(0.0) } else { (before != 0.0).then(|| difference / before.abs()) },
        is_single: base.len() < 2 || candidate.len() < 2,
    })
}
