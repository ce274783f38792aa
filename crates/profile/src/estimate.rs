//! Values that were estimated from some of the calls: their standard errors and 95 % intervals.

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
}
