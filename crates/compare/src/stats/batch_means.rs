//! The mean of a series whose neighbours are alike, by batch means.
//!
//! Tokens of a text are not independent: a hard passage costs several tokens in a row. Means of long batches are nearly
//! independent, so Student's t holds for them where it does not hold for single values.

use super::student::mean;
use super::t_factor;
use crate::Interval;

/// With fewer batches Student's factor grows quickly.
const FEWEST_BATCHES: usize = 10;
/// A batch is this many correlation times long: what neighbouring batches share is then a few percent of their variance.
const CORRELATION_TIMES: f64 = 8.0;

/// Where the mean lies that the series has in the long run, with a chance of `alpha` that it does not. `None` below
/// `FEWEST_BATCHES` values. The series has to be in its order.
#[must_use]
pub fn batch_mean_interval(series: &[f64], alpha: f64) -> Option<Interval> {
    let n = series.len();
    let batches = n / batch_length(series)?;
    let means: Vec<f64> =
        (0..batches).map(|batch| mean(&series[batch * n / batches..(batch + 1) * n / batches])).collect();
    let centre = mean(series);
    let squares: f64 = means.iter().map(|mean| (mean - centre).powi(2)).sum();
    let reach = t_factor(batches, alpha)? * (squares / (batches as f64 - 1.0) / batches as f64).sqrt();
    reach.is_finite().then_some(Interval { low: centre - reach, high: centre + reach })
}

/// Values in a batch: the root of their number, more where neighbours are more alike, never so many that too few batches are left.
fn batch_length(series: &[f64]) -> Option<usize> {
    let n = series.len();
    let longest = n / FEWEST_BATCHES;
    let wanted = (n as f64).sqrt().max(CORRELATION_TIMES * correlation_time(series));
    (longest > 0).then(|| (wanted.ceil() as usize).clamp(1, longest))
}

/// How many values count as one independent value: 1 + 2 Σ autocorrelations. The sum ends where a pair of neighbouring lags is no
/// longer positive, because beyond that it adds noise alone (the initial positive sequence).
fn correlation_time(series: &[f64]) -> f64 {
    let (n, centre) = (series.len(), mean(series));
    let covariance = |lag: usize| -> f64 {
        series.iter().zip(&series[lag..]).map(|(a, b)| (a - centre) * (b - centre)).sum::<f64>() / n as f64
    };
    let variance = covariance(0);
    if variance <= 0.0 {
        return 1.0;
    }
    let mut time = -1.0;
    for lag in (0..n / 4).step_by(2) {
        let pair = (covariance(lag) + covariance(lag + 1)) / variance;
        if pair <= 0.0 {
            break;
        }
        time += 2.0 * pair;
    }
    time.max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_grow_with_correlation_and_leave_enough() {
        let steps = |width: usize| (0..1_000).map(|at| ((at / width) % 7) as f64).collect::<Vec<_>>();
        assert_eq!(batch_length(&[1.0; 9]), None);
        assert_eq!(batch_length(&[1.0; 10]), Some(1));
        assert_eq!(batch_length(&[2.0; 400]), Some(20), "a constant has no correlation");
        let [short, long] = [1, 40].map(|width| batch_length(&steps(width)).unwrap());
        assert!(short < long && long <= 100, "{short} {long}");
    }

    #[test]
    fn a_constant_is_known() {
        assert_eq!(batch_mean_interval(&[2.0; 40], 0.05), Some(Interval { low: 2.0, high: 2.0 }));
        assert_eq!(batch_mean_interval(&[2.0; 9], 0.05), None);
        assert_eq!(batch_mean_interval(&[f64::NAN; 40], 0.05), None);
    }
}
