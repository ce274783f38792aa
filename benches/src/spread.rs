//! Best and median of the batches of a row.

use crate::clock::Lap;

/// Nanoseconds per scope of all batches of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The cheapest batch, by the wall clock: what the code costs when nothing disturbs it.
    pub best: f64,
    /// The batch in the middle, without lost time: what to expect.
    pub median: f64,
}

impl Spread {
    /// Of the batches, in any order; `None` without a batch.
    pub fn of(laps: &[Lap]) -> Option<Self> {
        let best = laps.iter().map(|lap| lap.wall_ns).min_by(f64::total_cmp)?;
        let median = median(laps.iter().map(|lap| lap.own_ns).collect())?;
        Some(Self { best, median })
    }
}

/// The one in the middle, or between the two in the middle; `None` of nothing.
pub fn median(mut samples: Vec<f64>) -> Option<f64> {
    samples.sort_unstable_by(f64::total_cmp);
    let above = *samples.get(samples.len() / 2)?;
    let below = samples[(samples.len() - 1) / 2];
    Some((below + above) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0, 2.0, 9.0]), Some(3.0));
    }

    #[test]
    fn best_is_by_the_wall() {
        let lap = |wall_ns, own_ns| Lap { wall_ns, own_ns };
        let laps = [lap(9.0, 2.0), lap(5.0, 5.0), lap(6.0, 6.0)];
        assert_eq!(Spread::of(&laps), Some(Spread { best: 5.0, median: 5.0 }));
        assert_eq!(Spread::of(&[]), None);
    }
}
