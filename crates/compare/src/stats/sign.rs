//! The sign test: which values lie above and which below, and nothing of how far. Exact for every distribution.

use statrs::distribution::{Beta, Binomial, ContinuousCDF, DiscreteCDF};

use crate::{Interval, quantile_interval, sorted};

/// Where the median lies that the values come from, with a chance of `alpha` at most that it does not. `None` where there are too
/// few values: fewer than 6 at 5 %, 8 at 1 %, 11 at 0.1 %.
#[must_use]
pub fn sign_interval(values: &[f64], alpha: f64) -> Option<Interval> {
    quantile_interval(&sorted(values), 0.5, 1.0 - alpha)
}

/// The chance of so uneven signs, or more uneven ones, where the median is 0. Values of 0 have no sign and are left out.
#[must_use]
pub fn sign_p(values: &[f64]) -> f64 {
    let above = values.iter().filter(|value| **value > 0.0).count() as u64;
    let below = values.iter().filter(|value| **value < 0.0).count() as u64;
    let Ok(binomial) = Binomial::new(0.5, above + below) else { return 1.0 };
    (2.0 * binomial.cdf(above.min(below))).min(1.0)
}

/// Where the share lies that `found` of `of` come from, by Clopper and Pearson: exact, with a chance of `alpha` at most that it does
/// not lie there.
#[must_use]
pub fn binomial_interval(found: u64, of: u64, alpha: f64) -> Interval {
    let quantile = |shape: f64, other: f64, q: f64| Beta::new(shape, other).map(|beta| beta.inverse_cdf(q)).ok();
    let (hits, misses) = (found.min(of) as f64, of.saturating_sub(found) as f64);
    Interval {
        low: quantile(hits, misses + 1.0, alpha / 2.0).unwrap_or(0.0),
        high: quantile(hits + 1.0, misses, 1.0 - alpha / 2.0).unwrap_or(1.0),
    }
}
