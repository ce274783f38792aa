//! Values over steps, drawn with no more points than can be seen.

use std::fmt::Write;

use super::axis::Axis;

/// Columns of a picture; more points could not be told apart.
const COLUMNS: usize = 840;
/// The mean covers about one of so many steps.
const SMOOTH: usize = 40;

/// Values over steps, without those that are no numbers.
#[derive(Debug, Clone)]
pub(super) struct Series {
    points: Vec<(f64, f64)>,
}

impl Series {
    pub(super) fn new(points: impl Iterator<Item = (f64, f64)>) -> Self {
        Self { points: points.filter(|(_, value)| value.is_finite()).collect() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    pub(super) fn last(&self) -> Option<f64> {
        self.points.last().map(|(_, value)| *value)
    }

    pub(super) fn least(&self) -> Option<f64> {
        self.points.iter().map(|(_, value)| *value).reduce(f64::min)
    }

    pub(super) fn most(&self) -> Option<f64> {
        self.points.iter().map(|(_, value)| *value).reduce(f64::max)
    }

    pub(super) fn quantile(&self, q: f64) -> Option<f64> {
        let values: Vec<f64> = self.points.iter().map(|(_, value)| *value).collect();
        compare::quantile(&compare::sorted(&values), q)
    }

    /// A mean in which earlier values fade; the first ones count as much as there are of them.
    pub(super) fn smoothed(&self) -> Self {
        let before = 1.0 - 1.0 / (self.points.len() / SMOOTH).max(1) as f64;
        let (mut sum, mut weight) = (0.0, 0.0);
        let mean = |(step, value): &(f64, f64)| {
            sum = before * sum + value;
            weight = before * weight + 1.0;
            (*step, sum / weight)
        };
        Self { points: self.points.iter().map(mean).collect() }
    }

    /// Parts of the series, at most one for each column.
    fn columns(&self) -> impl Iterator<Item = &[(f64, f64)]> {
        self.points.chunks(self.points.len().div_ceil(COLUMNS).max(1))
    }

    /// A line through the last point of each column.
    pub(super) fn line(&self, x: &Axis, y: &Axis) -> String {
        let mut path = String::new();
        for (step, value) in self.columns().filter_map(<[(f64, f64)]>::last) {
            let command = if path.is_empty() { 'M' } else { 'L' };
            let _ = write!(path, "{command}{:.1} {:.1}", x.place(*step), y.place(*value));
        }
        path
    }

    /// A line through the least and the most of each column, so that no peak is lost.
    pub(super) fn band(&self, x: &Axis, y: &Axis) -> String {
        let mut path = String::new();
        for column in self.columns() {
            let Some((step, _)) = column.last() else { continue };
            let low = column.iter().map(|(_, value)| *value).fold(f64::INFINITY, f64::min);
            let high = column.iter().map(|(_, value)| *value).fold(f64::NEG_INFINITY, f64::max);
            let command = if path.is_empty() { 'M' } else { 'L' };
            let _ = write!(path, "{command}{:.1} {:.1}", x.place(*step), y.place(low));
            if high > low {
                let _ = write!(path, "V{:.1}", y.place(high));
            }
        }
        path
    }
}

#[cfg(test)]
mod tests {
    use super::super::axis::Span;
    use super::*;

    fn series(values: &[f64]) -> Series {
        Series::new(values.iter().enumerate().map(|(step, value)| (step as f64, *value)))
    }

    #[test]
    fn what_is_no_number_is_not_drawn() {
        let series = series(&[1.0, f64::NAN, 3.0, f64::INFINITY]);
        assert_eq!((series.points.len(), series.least(), series.most()), (2, Some(1.0), Some(3.0)));
    }

    #[test]
    fn few_steps_are_their_own_mean_and_many_are_calmer() {
        assert_eq!(series(&[4.0, 2.0]).smoothed().last(), Some(2.0));
        let jumps: Vec<f64> = (0..4_000).map(|step| if step % 2 == 0 { 1.0 } else { 3.0 }).collect();
        let last = series(&jumps).smoothed().last().expect("there are some");
        assert!((last - 2.0).abs() < 0.02, "{last}");
    }

    #[test]
    fn long_series_stay_small_and_keep_their_peaks() {
        let mut values = vec![1.0; 100_000];
        values[50_001] = 9.0;
        let x = Axis::exactly(Span { low: 0.0, high: 1e5 }, (0.0, 800.0));
        let y = Axis::exactly(Span { low: 0.0, high: 10.0 }, (100.0, 0.0));
        let path = series(&values).band(&x, &y);
        assert!(path.len() < 20_000 && path.contains("V10.0"), "{}", path.len());
    }
}
