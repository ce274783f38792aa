//! Values over steps, drawn with no more points than can be seen.

use std::fmt::Write;

use super::axis::Axis;

/// Columns of a picture; more points could not be told apart.
const COLUMNS: usize = 840;
/// The mean covers about one of so many steps.
const SMOOTH: usize = 40;

/// Values over steps, without those that are not numbers.
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

    /// The mean of each value and its neighbours on both sides, so that it does not lag behind; towards the ends of fewer, as many on
    /// one side as on the other.
    pub(super) fn smoothed(&self) -> Self {
        let mut sums = vec![0.0];
        for (_, value) in &self.points {
            sums.push(sums[sums.len() - 1] + value);
        }
        let mean = |(at, (step, _)): (usize, &(f64, f64))| {
            let side = self.side().min(at).min(self.points.len() - 1 - at);
            (*step, (sums[at + side + 1] - sums[at - side]) / (2 * side + 1) as f64)
        };
        Self { points: self.points.iter().enumerate().map(mean).collect() }
    }

    /// Neighbours on one side.
    fn side(&self) -> usize {
        self.points.len() / SMOOTH / 2
    }

    /// The mean of the last values, as many as a mean within the series has.
    pub(super) fn end(&self) -> Option<f64> {
        let last = self.points.len().saturating_sub(2 * self.side() + 1);
        let values: Vec<f64> = self.points[last..].iter().map(|(_, value)| *value).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
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
        assert_eq!(series(&[4.0, 2.0]).smoothed().points, [(0.0, 4.0), (1.0, 2.0)]);
        assert_eq!((series(&[4.0, 2.0]).end(), series(&[]).end()), (Some(2.0), None));
        let jumps: Vec<f64> = (0..4_000).map(|step| if step % 2 == 0 { 1.0 } else { 3.0 }).collect();
        let means = series(&jumps).smoothed().points;
        assert!(means[100..3_900].iter().all(|(_, mean)| (mean - 2.0).abs() < 0.02));
    }

    #[test]
    fn the_mean_of_a_slope_lies_on_it() {
        let slope: Vec<f64> = (0..1_000).map(f64::from).collect();
        assert!(series(&slope).smoothed().points.iter().all(|(step, mean)| (step - mean).abs() < 1e-9));
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
