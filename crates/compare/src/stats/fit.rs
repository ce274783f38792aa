//! A straight line through points.

use super::student::{mean, t_factor};
use crate::Interval;

/// A straight line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fit {
    /// What y grows by where x grows by 1.
    pub slope: f64,
    /// y where x is 0.
    pub intercept: f64,
    /// Where the slope lies, with the confidence that was asked for.
    pub interval: Interval,
}

/// The line with the least squares, and how sure its slope is by Student's t. `None` below three points, or where all x are the same.
#[must_use]
pub fn fit(x: &[f64], y: &[f64], confidence: f64) -> Option<Fit> {
    let n = x.len().min(y.len());
    let (x, y) = (&x[..n], &y[..n]);
    // A line has two numbers of its own, so n points leave one value fewer than a mean does.
    let factor = t_factor(n.checked_sub(1)?, 1.0 - confidence)?;
    let (mean_x, mean_y) = (mean(x), mean(y));
    let about = |a: &[f64], mean_a: f64, b: &[f64], mean_b: f64| {
        a.iter().zip(b).map(|(a, b)| (a - mean_a) * (b - mean_b)).sum::<f64>()
    };
    let width = about(x, mean_x, x, mean_x);
    let slope = about(x, mean_x, y, mean_y) / width;
    let intercept = mean_y - slope * mean_x;
    let left: f64 = x.iter().zip(y).map(|(x, y)| (y - intercept - slope * x).powi(2)).sum();
    let reach = factor * (left / (n as f64 - 2.0) / width).sqrt();
    let fit = Fit { slope, intercept, interval: Interval { low: slope - reach, high: slope + reach } };
    (fit.interval.low.is_finite() && fit.interval.high.is_finite() && intercept.is_finite()).then_some(fit)
}
