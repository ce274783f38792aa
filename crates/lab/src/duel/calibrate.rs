//! How often the work has to be repeated so that a round is long enough.

use std::time::{Duration, Instant};

use super::{Launched, Reading, WALL};

/// Guesses that are tried before the last one counts.
const TRIES: u32 = 8;
/// Rounds that have to be long enough in a row.
const CONFIRMATIONS: usize = 2;
/// What is added to a guess, so that a round which is a little faster is long enough too.
const MARGIN: f64 = 1.1;
/// The work grows at most so much from one guess to the next: the first call may have been a fast one.
const GROWTH: f64 = 100.0;
/// More repeats than anything needs whose time can be measured.
const MOST: u64 = 1 << 40;

/// What was found out before the first launch that counts.
pub(super) struct Calibrated {
    pub(super) calls: u64,
    /// What the last round gave.
    pub(super) reading: Reading,
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

/// Finds the number of repeats on the base, and confirms it twice.
pub(super) fn calibrate(
    launched: &mut dyn Launched,
    round: Duration,
    is_stopped: impl Fn() -> bool,
) -> Result<Calibrated, String> {
    let wanted = round.as_secs_f64();
    let mut calls = 1;
    let (mut reading, mut wall) = timed(launched, calls, false)?;
    for _ in 0..TRIES {
        calls = scaled(calls, wanted, wall);
        let mut long_enough = 0;
        while long_enough < CONFIRMATIONS && !is_stopped() {
            (reading, wall) = timed(launched, calls, false)?;
            if wall < wanted {
                break;
            }
            long_enough += 1;
        }
        if long_enough == CONFIRMATIONS || calls == MOST || is_stopped() {
            break;
        }
    }
    Ok(Calibrated { calls, reading })
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
    fn work_that_takes_no_time_ends() {
        let (found, rounds) = calls(0.0, 0.0);
        assert!(found <= MOST && rounds.len() < 20, "{rounds:?}");
    }
}
