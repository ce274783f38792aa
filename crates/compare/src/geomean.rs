//! Several comparisons as one figure.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_of_ratios_is_geometric() {
        let mean = geomean(&[1.0, -0.5], 0.95).unwrap();
        assert!(mean.estimate.abs() < 1e-12 && mean.low < -0.9 && mean.high > 100.0, "{mean:?}");
        let mean = geomean(&[0.1, 0.1, 0.1], 0.95).unwrap();
        assert!((mean.estimate - 0.1).abs() < 1e-12 && (mean.high - mean.low).abs() < 1e-9);
        assert_eq!(geomean(&[0.1], 0.95), None);
    }
}
