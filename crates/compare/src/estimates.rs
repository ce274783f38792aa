//! Times estimated from sampled calls: standard errors of sums, intervals and durations.

use std::collections::BTreeMap;

use record::DurationCounts;

/// Half the width of a 95 % interval, in standard errors.
const HALF_WIDTH: f64 = 1.96;

/// A value with its standard error; a measurement has none.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Estimate {
    /// The value, in whatever unit.
    pub value: f64,
    /// Its standard error, in the same unit.
    pub se: Option<f64>,
}

impl Estimate {
    /// Of whole nanoseconds, as profiles have them.
    #[must_use]
    pub fn of_ns(value: u64, se: Option<u64>) -> Self {
        Estimate { value: value as f64, se: se.map(|se| se as f64) }
    }

    /// Half the width of the 95 % interval; `None` where it was measured.
    #[must_use]
    pub fn half_width(self) -> Option<f64> {
        self.se.map(|se| HALF_WIDTH * se)
    }

    /// The lower end of the 95 % interval. No time is below zero.
    #[must_use]
    pub fn low(self) -> f64 {
        (self.value - self.half_width().unwrap_or(0.0)).max(0.0)
    }

    /// The upper end.
    #[must_use]
    pub fn high(self) -> f64 {
        self.value + self.half_width().unwrap_or(0.0)
    }

    /// Whether the 95 % intervals have a value in common: then nobody can tell which of both is larger.
    #[must_use]
    pub fn overlaps(self, other: Estimate) -> bool {
        self.low() <= other.high() && other.low() <= self.high()
    }

    /// The sum of two independent ones.
    #[must_use]
    pub fn plus(self, other: Estimate) -> Self {
        Estimate { value: self.value + other.value, se: error_of_sum(self.se, other.se) }
    }

    /// In another unit, or as a share.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Estimate { value: self.value * factor, se: self.se.map(|se| se * factor) }
    }
}

/// The standard error of the sum of two independent values; a measurement adds none.
#[must_use]
pub fn error_of_sum(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.hypot(b)),
        (one, other) => one.or(other),
    }
}

/// The same in whole nanoseconds.
#[must_use]
pub fn error_of_sum_ns(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    error_of_sum(a.map(|se| se as f64), b.map(|se| se as f64)).map(|se| se.round() as u64)
}

/// The calls of several paths by duration.
#[must_use]
pub fn merged_durations<'a>(all: impl Iterator<Item = &'a DurationCounts>) -> DurationCounts {
    let mut merged: BTreeMap<u64, u64> = BTreeMap::new();
    for (ns, calls) in all.flat_map(|counts| counts.ns.iter().zip(&counts.calls)) {
        let sum = merged.entry(*ns).or_default();
        *sum = sum.saturating_add(*calls);
    }
    DurationCounts { ns: merged.keys().copied().collect(), calls: merged.into_values().collect() }
}

/// The duration that the share `q` of the calls do not exceed; `None` where there are none.
#[must_use]
pub fn duration_quantile(counts: &DurationCounts, q: f64) -> Option<u64> {
    let all: u128 = counts.calls.iter().map(|calls| u128::from(*calls)).sum();
    let rank = ((all as f64 * q).ceil() as u128).max(1);
    let mut upto = 0;
    let found = counts.ns.iter().zip(&counts.calls).find(|(_, calls)| {
        upto += u128::from(**calls);
        upto >= rank
    });
    found.map(|(ns, _)| *ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_and_sums() {
        let a = Estimate { value: 31.0, se: Some(3.0 / 1.96) };
        let b = Estimate { value: 26.0, se: Some(2.5 / 1.96) };
        assert!((a.low() - 28.0).abs() < 1e-9 && (a.high() - 34.0).abs() < 1e-9);
        assert!(a.overlaps(b) && b.overlaps(a), "28 to 34 and 23.5 to 28.5");
        assert!(!a.overlaps(Estimate { value: 27.9, se: None }));
        assert_eq!(Estimate { value: 1.0, se: Some(4.0) }.low(), 0.0);
        let sum = Estimate { value: 3.0, se: Some(3.0) }.plus(Estimate { value: 4.0, se: Some(4.0) });
        assert_eq!(sum, Estimate { value: 7.0, se: Some(5.0) });
        assert_eq!(error_of_sum_ns(Some(3), None), Some(3));
        assert_eq!(error_of_sum_ns(None, None), None);
    }

    #[test]
    fn quantiles_of_merged_counts() {
        let counts = |pairs: &[(u64, u64)]| DurationCounts {
            ns: pairs.iter().map(|pair| pair.0).collect(),
            calls: pairs.iter().map(|pair| pair.1).collect(),
        };
        let merged = merged_durations([counts(&[(10, 80), (30, 5)]), counts(&[(10, 4), (20, 10), (900, 1)])].iter());
        assert_eq!(merged, counts(&[(10, 84), (20, 10), (30, 5), (900, 1)]));
        assert_eq!([0.5, 0.9, 0.99, 1.0].map(|q| duration_quantile(&merged, q)), [10, 20, 30, 900].map(Some));
        assert_eq!(duration_quantile(&DurationCounts::default(), 0.5), None);
        let absurd = counts(&[(1, u64::MAX), (2, u64::MAX)]);
        assert_eq!(duration_quantile(&absurd, 0.99), Some(2));
    }
}
