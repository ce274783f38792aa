//! Tail latencies: percentiles, if there are enough values.

use crate::{Interval, quantile, quantile_interval, sorted};

/// What can be said of the slow end of values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Tail {
    /// The percentile, and where the true one lies.
    Known {
        /// The percentile of these values.
        value: f64,
        /// Where it lies in truth.
        interval: Interval,
    },
    /// Too few values for a percentile with bounds: for p95 at 95 % fewer than 72, for p99 368.
    Slowest {
        /// The largest value.
        value: f64,
        /// Of so many.
        of: usize,
    },
}

/// What can be said of the value that a share `q` lies below; `None` where there are no values.
#[must_use]
pub fn tail(values: &[f64], q: f64, confidence: f64) -> Option<Tail> {
    let values = sorted(values);
    let slowest = Tail::Slowest { value: *values.last()?, of: values.len() };
    let known = quantile_interval(&values, q, confidence).zip(quantile(&values, q));
    Some(known.map_or(slowest, |(interval, value)| Tail::Known { value, interval }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_needs_enough_values() {
        let values: Vec<f64> = (1..=72).map(f64::from).collect();
        assert_eq!(tail(&values[..71], 0.95, 0.95), Some(Tail::Slowest { value: 71.0, of: 71 }));
        assert!(matches!(tail(&values, 0.95, 0.95), Some(Tail::Known { interval, .. }) if interval.high == 72.0));
        assert_eq!(tail(&[], 0.95, 0.95), None);
    }
}
