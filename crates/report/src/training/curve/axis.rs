//! From values to places in the picture, and the round values that are written beside it.

/// Two values, the smaller first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Span {
    pub(super) low: f64,
    pub(super) high: f64,
}

/// One direction of a panel.
#[derive(Debug, Clone)]
pub(super) struct Axis {
    span: Span,
    /// The places of the lowest and the highest value.
    ends: (f64, f64),
    /// From one tick to the next.
    distance: f64,
}

impl Axis {
    /// Wide enough for the values and a little more, with about so many ticks at round values.
    pub(super) fn new(span: Span, ends: (f64, f64), ticks: u32) -> Self {
        let width = span.high - span.low;
        // One value alone stands in the middle.
        let span = match width > 0.0 {
            true => Span { low: span.low - 0.04 * width, high: span.high + 0.04 * width },
            false => Span { low: span.low - 0.5, high: span.high + 0.5 },
        };
        Self { span, ends, distance: round_distance((span.high - span.low) / f64::from(ticks.max(1))) }
    }

    /// Whole numbers, without room beside them.
    pub(super) fn of_steps(span: Span, ends: (f64, f64), ticks: u32) -> Self {
        let span = if span.high > span.low { span } else { Span { low: span.low - 0.5, high: span.low + 0.5 } };
        let distance = round_distance((span.high - span.low) / f64::from(ticks.max(1))).max(1.0);
        Self { span, ends, distance }
    }

    /// Just these values.
    pub(super) fn exactly(span: Span, ends: (f64, f64)) -> Self {
        Self { span, ends, distance: (span.high - span.low).max(f64::MIN_POSITIVE) }
    }

    pub(super) fn ends(&self) -> (f64, f64) {
        self.ends
    }

    pub(super) fn place(&self, value: f64) -> f64 {
        let share = (value - self.span.low) / (self.span.high - self.span.low);
        self.ends.0 + share * (self.ends.1 - self.ends.0)
    }

    /// Round values within the span, and no negative ones: there are no such steps or losses.
    pub(super) fn ticks(&self) -> Vec<f64> {
        let first = (self.span.low / self.distance).ceil();
        let last = (self.span.high / self.distance).floor();
        let count = (last - first + 1.0).clamp(0.0, 32.0) as u32;
        (0..count).map(|at| (first + f64::from(at)) * self.distance).filter(|tick| *tick >= 0.0).collect()
    }

    /// With as many digits as tell one tick from the next.
    pub(super) fn written(&self, tick: f64) -> String {
        let digits = (-self.distance.log10()).ceil().clamp(0.0, 6.0) as usize;
        format!("{tick:.digits$}")
    }
}

/// The next of 1, 2 and 5 times a power of ten.
fn round_distance(least: f64) -> f64 {
    if !least.is_finite() || least <= 0.0 {
        return 1.0;
    }
    let power = 10_f64.powf(least.log10().floor());
    let factor = least / power;
    power * [1.0, 2.0, 5.0].into_iter().find(|round| factor <= *round + 1e-9).unwrap_or(10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_round() {
        let round: Vec<f64> = [0.07, 0.1, 0.11, 0.3, 4.0, 6.0, 170.0].into_iter().map(round_distance).collect();
        let expected = [0.1, 0.1, 0.2, 0.5, 5.0, 10.0, 200.0];
        assert!(round.iter().zip(expected).all(|(one, other)| (one - other).abs() < 1e-9), "{round:?}");
        assert_eq!(round_distance(f64::NAN), 1.0);
    }

    #[test]
    fn ticks_lie_within_and_are_told_apart() {
        let axis = Axis::new(Span { low: 1.93, high: 4.17 }, (400.0, 70.0), 6);
        let written: Vec<String> = axis.ticks().iter().map(|tick| axis.written(*tick)).collect();
        assert_eq!(written, ["2.0", "2.5", "3.0", "3.5", "4.0"]);
        assert!(axis.place(4.17) < axis.place(1.93), "what is more stands higher");
        let alone = Axis::new(Span { low: 2.0, high: 2.0 }, (400.0, 70.0), 6);
        assert!((alone.place(2.0) - 235.0).abs() < 1e-9);
    }
}
