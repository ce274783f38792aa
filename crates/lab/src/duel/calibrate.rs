//! How often the work is repeated in a round, so that a round is long enough to measure.

use std::time::{Duration, Instant};

use super::{Launched, Reading, WALL};

/// Guesses that are tried before the last one counts.
const TRIES: u32 = 8;
/// Rounds that have to be long enough in a row.
const CONFIRMATIONS: usize = 2;
/// Work of which one call takes this many rounds needs no confirmation.
const FAR_LONGER: f64 = 2.0;
/// What is added to a guess, so that a slightly faster round is still long enough.
const MARGIN: f64 = 1.1;
/// The work grows at most so much from one guess to the next: the first call may have been a fast one.
const GROWTH: f64 = 100.0;
/// More repeats than anything needs whose time can be measured.
const MOST: u64 = 1 << 40;
/// A round of the fastest side should take this long, in seconds: shorter ones mostly measure the clock and the scheduler.
pub(super) const SHORTEST_S: f64 = 0.02;
/// For the sake of the fastest side, rounds of the slowest one grow by this factor at most.
const STRETCH: u64 = 5;

/// What was found out about a side before the first launch that counts.
#[derive(Debug, Clone)]
pub(super) struct Calibrated {
    /// Repeats that make a round of this side long enough.
    pub(super) calls: u64,
    /// What each of its rounds measured; there is at least one.
    pub(super) readings: Vec<Reading>,
    /// What the last round took, in seconds.
    pub(super) wall_s: f64,
    /// What it took to start the side, in seconds.
    pub(super) start_s: f64,
}

impl Calibrated {
    /// The time of one call, in seconds.
    pub(super) fn call_s(&self) -> f64 {
        self.wall_s / self.calls.max(1) as f64
    }
}

/// The time of a round, by its own clock where it has one.
pub(super) fn timed(launched: &mut dyn Launched, calls: u64, profiled: bool) -> Result<(Reading, f64), String> {
    let start = Instant::now();
    let mut reading = launched.round(calls, profiled)?;
    let elapsed = start.elapsed().as_secs_f64();
    reading.drop_what_is_no_number();
    let wall = reading.values.get(WALL).copied().unwrap_or(elapsed);
    Ok((reading, wall))
}

/// Finds the number of repeats for one side, and confirms it twice.
pub(super) fn calibrate(
    launched: &mut dyn Launched,
    round: Duration,
    is_stopped: impl Fn() -> bool,
) -> Result<Calibrated, String> {
    let wanted = round.as_secs_f64();
    let mut calls = 1;
    let (first, mut wall_s) = timed(launched, calls, false)?;
    let mut readings = vec![first];
    let is_long = wall_s >= wanted * FAR_LONGER;
    for _ in 0..if is_long { 0 } else { TRIES } {
        calls = scaled(calls, wanted, wall_s);
        let mut long_enough = 0;
        while long_enough < CONFIRMATIONS && !is_stopped() {
            let (reading, took_s) = timed(launched, calls, false)?;
            readings.push(reading);
            wall_s = took_s;
            if wall_s < wanted {
                break;
            }
            long_enough += 1;
        }
        if long_enough == CONFIRMATIONS || calls == MOST || is_stopped() {
            break;
        }
    }
    Ok(Calibrated { calls, readings, wall_s, start_s: 0.0 })
}

/// Repeats for all sides: as many as the slowest side needs, and more where a round of the fastest one would be too short to measure.
pub(super) fn calls(sides: &[Calibrated]) -> u64 {
    let slowest = sides.iter().map(|side| side.calls).min().unwrap_or(1).max(1);
    let fastest_s = sides.iter().map(Calibrated::call_s).fold(f64::INFINITY, f64::min);
    let wanted = if fastest_s > 0.0 { (SHORTEST_S / fastest_s).ceil().min(MOST as f64) as u64 } else { MOST };
    wanted.clamp(slowest, slowest.saturating_mul(STRETCH))
}

/// As many calls as would take long enough, if each takes what it took.
fn scaled(calls: u64, wanted: f64, wall: f64) -> u64 {
    if wall >= wanted {
        return calls;
    }
    let factor = if wall > 0.0 { (MARGIN * wanted / wall).min(GROWTH) } else { GROWTH };
    // Past 2^53 the product is not exact, and `MOST` is below that.
    ((calls as f64 * factor).ceil() as u64).clamp(1, MOST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Takes so long for each call; the first round is another one.
    struct Fake {
        call_s: f64,
        first_s: f64,
        rounds: Vec<u64>,
    }

    impl Launched for &mut Fake {
        fn round(&mut self, calls: u64, _: bool) -> Result<Reading, String> {
            let each = if self.rounds.is_empty() { self.first_s } else { self.call_s };
            self.rounds.push(calls);
            let values = BTreeMap::from([(WALL.to_owned(), each * calls as f64)]);
            Ok(Reading { values, ..Reading::default() })
        }
    }

    fn calls(call_s: f64, first_s: f64) -> (u64, Vec<u64>) {
        let mut fake = Fake { call_s, first_s, rounds: Vec::new() };
        let found = calibrate(&mut &mut fake, Duration::from_millis(250), || false).expect("readings");
        (found.calls, fake.rounds)
    }

    #[test]
    fn long_work_is_done_once() {
        assert_eq!(calls(0.3, 0.3), (1, vec![1, 1, 1]));
    }

    #[test]
    fn short_work_is_repeated_and_that_is_confirmed_twice() {
        assert_eq!(calls(0.01, 0.01), (28, vec![1, 28, 28]));
        let (tiny, rounds) = calls(1e-6, 1e-6);
        assert!(tiny as f64 * 1e-6 >= 0.25, "{rounds:?}");
        assert_eq!(rounds[rounds.len() - 2..], [tiny, tiny]);
    }

    #[test]
    fn a_slow_beginning_does_not_decide() {
        let (found, rounds) = calls(0.001, 0.2);
        assert!(found >= 250, "{rounds:?}");
    }

    #[test]
    fn very_long_work_is_not_repeated_to_size_it() {
        assert_eq!(calls(30.0, 30.0), (1, vec![1]));
    }

    #[test]
    fn rounds_are_sized_by_the_slower_side() {
        let side = |calls: u64, call_s: f64| Calibrated {
            calls,
            readings: vec![Reading::default()],
            wall_s: call_s * calls as f64,
            start_s: 0.0,
        };
        assert_eq!(super::calls(&[side(20, 0.01), side(10, 0.02)]), 10, "both are long enough");
        assert_eq!(super::calls(&[side(200, 0.001), side(10, 0.02)]), 20, "20 ms of the faster one");
        assert_eq!(super::calls(&[side(20_000, 1e-5), side(1, 0.3)]), 5, "but not for a minute of the slower one");
        assert_eq!(super::calls(&[side(1, 3.0), side(1, 6.0)]), 1);
        assert_eq!(super::calls(&[side(7, 0.0)]), 35);
        assert_eq!(super::calls(&[]), 1);
    }

    #[test]
    fn work_that_takes_no_time_ends() {
        let (found, rounds) = calls(0.0, 0.0);
        assert!(found <= MOST && rounds.len() < 20, "{rounds:?}");
    }
}
