//! The mean change over several comparisons.

use record::Change;

use crate::stats;

/// The mean of changes of several comparisons, each a share, as a ratio; with its interval by Student's t over the comparisons. `None`
/// below two.
#[must_use]
pub fn geomean(changes: &[f64], confidence: f64) -> Option<Change> {
    let logarithms: Vec<f64> = changes.iter().map(|change| change.ln_1p()).collect();
    let interval = stats::mean_interval(&logarithms, 1.0 - confidence)?;
    let mean = (interval.low + interval.high) / 2.0;
    Some(Change { estimate: mean.exp_m1(), low: interval.low.exp_m1(), high: interval.high.exp_m1() })
}
