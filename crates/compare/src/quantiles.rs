//! Quantiles and their confidence intervals.

/// A confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The lower bound.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
}

/// The values in ascending order.
#[must_use]
pub fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values
}

/// The value that a share `q` of the values lies below, interpolated between neighbours; `None` where there are none.
#[must_use]
pub fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let place = q.clamp(0.0, 1.0) * last as f64;
    let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    Some(if low == high { low } else { low + (high - low) * place.fract() })
}

/// The median.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(&sorted(values), 0.5)
}

/// Where the true quantile lies, by the order of the values alone: exact for every distribution, at any number of values.
///
/// `None` where there are too few values to say: for the median at 95 % fewer than 6, for p90 36, for p99 368.
#[must_use]
pub fn quantile_interval(sorted: &[f64], q: f64, confidence: f64) -> Option<Interval> {
    let outside = (1.0 - confidence) / 2.0;
    let below = cumulative(sorted.len(), q);
    // The number of values below the true quantile is binomial; both ends must have values beyond them.
    let low = below.iter().take_while(|share| **share <= outside).count().checked_sub(1)?;
    let high = below.iter().position(|share| *share >= 1.0 - outside)? + 1;
    (high < sorted.len() + 1).then(|| Interval { low: sorted[low], high: sorted[high - 1] })
}

/// For each count up to `n` the chance that no more of `n` values lie below a quantile.
pub(crate) fn cumulative(n: usize, q: f64) -> Vec<f64> {
    let odds = (q / (1.0 - q)).ln();
    // By logarithms: the first chances are too small for a number, while their sum is not.
    let mut log = n as f64 * (1.0 - q).ln();
    let mut sum = 0.0;
    let chance = |k: usize| {
        sum += f64::exp(log);
        log += ((n - k) as f64 / (k + 1) as f64).ln() + odds;
        sum
    };
    (0..=n).map(chance).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(n: usize) -> Vec<f64> {
        (1..=n).map(|value| value as f64).collect()
    }

    #[test]
    fn quantiles_lie_between_neighbours() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0]), Some(2.5));
        assert_eq!(median(&[]), None);
        assert_eq!(quantile(&counted(101), 0.9), Some(91.0));
        assert_eq!(quantile(&[f64::INFINITY, f64::INFINITY], 0.3), Some(f64::INFINITY));
    }

    #[test]
    fn intervals_are_those_of_the_sign_test() {
        // Order statistics of the tables: n = 10 at 95 %: 2nd and 9th; n = 20: 6th and 15th; n = 48: 17th and 32nd.
        for (n, low, high) in [(6, 1.0, 6.0), (10, 2.0, 9.0), (20, 6.0, 15.0), (48, 17.0, 32.0)] {
            assert_eq!(quantile_interval(&counted(n), 0.5, 0.95), Some(Interval { low, high }), "{n}");
        }
    }

    #[test]
    fn too_few_values_say_nothing() {
        for (q, enough) in [(0.5, 6), (0.9, 36), (0.95, 72), (0.99, 368)] {
            assert_eq!(quantile_interval(&counted(enough - 1), q, 0.95), None, "{q}");
            assert!(quantile_interval(&counted(enough), q, 0.95).is_some(), "{q}");
        }
        assert_eq!(quantile_interval(&[], 0.5, 0.95), None);
    }

    #[test]
    fn many_values_are_no_trouble() {
        let interval = quantile_interval(&counted(100_000), 0.5, 0.95).unwrap();
        assert!((interval.low - 49_690.0).abs() < 3.0 && (interval.high - 50_311.0).abs() < 3.0, "{interval:?}");
    }
}
