//! Student's t: where a mean lies, of few values that scatter about evenly.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::Interval;

/// How many standard errors the interval reaches to either side, with `values` values and a chance of `alpha` outside it. `None` below
/// two values.
#[must_use]
pub fn t_factor(values: usize, alpha: f64) -> Option<f64> {
    Some(distribution(values)?.inverse_cdf(1.0 - alpha / 2.0))
}

/// Where the mean lies that the values come from, with a chance of `alpha` that it does not. `None` below two values.
#[must_use]
pub fn mean_interval(values: &[f64], alpha: f64) -> Option<Interval> {
    let reach = t_factor(values.len(), alpha)? * standard_error(values);
    let mean = mean(values);
    Some(Interval { low: mean - reach, high: mean + reach })
}

/// The chance of such a mean, or one further from 0, where the true one is 0. `None` below two values.
#[must_use]
pub fn mean_p(values: &[f64]) -> Option<f64> {
    let distribution = distribution(values.len())?;
    let (mean, error) = (mean(values), standard_error(values));
    if error == 0.0 {
        return Some(if mean == 0.0 { 1.0 } else { 0.0 });
    }
    Some((2.0 * distribution.sf((mean / error).abs())).min(1.0))
}

fn distribution(values: usize) -> Option<StudentsT> {
    StudentsT::new(0.0, 1.0, values.checked_sub(1)? as f64).ok()
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn standard_error(values: &[f64]) -> f64 {
    let (mean, n) = (mean(values), values.len() as f64);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (n - 1.0) / n).sqrt()
}
