//! Records the rows and samples of a run, and decides when a row was repeated often enough.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use compare::{quantile_interval, sorted};
use record::{Phase, Row, Sample};

/// The metric that decides when a row was repeated often enough.
pub(crate) const WALL: &str = "wall_s";
/// The minimum number of repeats: with fewer, the median has no confidence interval.
pub(crate) const LEAST: u64 = 6;
/// The maximum number of repeats: all samples are stored, and more would add nothing.
pub(crate) const MOST: u64 = 1_000;
/// A median is known well enough when its interval is within this share of it.
const PRECISE: f64 = 0.01;
const CONFIDENCE: f64 = 0.95;

/// How often to repeat, and for how long.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RepeatSettings {
    /// Timed repeats of each row; `None`: until the median is known to 1 % or the time is up.
    pub repeat: Option<u64>,
    /// Warm-up repeats.
    pub warmup: u64,
    /// The time for all rows together; the minimum number of repeats is always done.
    pub time: Duration,
}

/// Follows the progress and can stop it.
pub trait RunObserver {
    /// The current step, and the share of the whole that is done, from 0 to 1.
    fn tell(&mut self, share: f64, what: &str);

    /// Whether to stop now and keep what was measured so far.
    fn is_stopped(&self) -> bool;
}

/// Does the lab's own work, which is no part of what is measured: in a scope of its own, or it would be taken for that of the
/// scope around it.
pub(crate) fn bookkeeping<T>(work: impl FnOnce() -> T) -> T {
    hotloop::scope!("lab");
    work()
}

/// The values of one repeat.
#[derive(Debug, Clone, Default)]
pub struct Measurement {
    /// Values by metric name.
    pub values: BTreeMap<String, f64>,
    /// Several values of one metric.
    pub series: BTreeMap<String, Vec<f64>>,
}

impl Measurement {
    /// A measurement with these values.
    pub fn of(values: &[(&str, f64)]) -> Self {
        let values = values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        Self { values, series: BTreeMap::new() }
    }
}

/// The rows and samples of a run while it is measured.
pub struct RunRecorder<'a> {
    start: Instant,
    effort: RepeatSettings,
    watch: &'a mut dyn RunObserver,
    /// The share of the run before and after the row that is being measured.
    shares: (f64, f64),
    pub(crate) rows: Vec<Row>,
    pub(crate) samples: Vec<Sample>,
    pub(crate) interrupted: bool,
}

impl<'a> RunRecorder<'a> {
    /// An empty recorder, whose time starts now.
    pub fn new(effort: RepeatSettings, watch: &'a mut dyn RunObserver) -> Self {
        let (rows, samples) = (Vec::new(), Vec::new());
        Self { start: Instant::now(), effort, watch, shares: (0.0, 1.0), rows, samples, interrupted: false }
    }

    /// How often to repeat, and for how long.
    pub(crate) fn effort(&self) -> RepeatSettings {
        self.effort
    }

    /// Sets the part of the progress that the following rows take.
    pub(crate) fn part(&mut self, from: f64, to: f64) {
        self.shares = (from, to);
    }

    /// An equal share of the remaining time for each of this many rows.
    pub(crate) fn fair(&self, rows: u32) -> Duration {
        self.effort.time.saturating_sub(self.start.elapsed()) / rows.max(1)
    }

    /// Whether to stop; then nothing more is measured.
    pub(crate) fn is_over(&mut self) -> bool {
        self.interrupted |= self.watch.is_stopped();
        self.interrupted
    }

    /// Whether any timed sample exists, besides those of creating the model.
    pub(crate) fn has_measured(&self) -> bool {
        self.samples.iter().any(|sample| sample.phase == Phase::Timed && sample.row != "creation")
    }

    /// Reports the current step.
    pub(crate) fn tell(&mut self, done: f64, what: &str) {
        let (from, to) = self.shares;
        bookkeeping(|| self.watch.tell(from + (to - from) * done.clamp(0.0, 1.0), what));
    }

    /// Nanoseconds since the run began.
    pub(crate) fn now_ns(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// Adds a sample of a row.
    pub(crate) fn keep(&mut self, row: &str, phase: Phase, (round, start_ns): (u64, u64), taken: Measurement) {
        let Measurement { values, series } = taken;
        let row = row.to_owned();
        self.samples.push(Sample { row, phase, round, start_ns, values, series, ..Sample::default() });
    }

    /// Repeats a row: first to warm up, then until it is known well enough, within `time`. `take` gives what it took, for
    /// this row and for those that are parts of it; `phased` is told when the first repeat that counts begins.
    pub(crate) fn repeat(
        &mut self,
        row: &str,
        time: Duration,
        mut phased: impl FnMut(Phase),
        mut take: impl FnMut() -> Result<Vec<(String, Measurement)>, String>,
    ) -> Result<(), String> {
        let phases = [(Phase::Warmup, self.effort.warmup), (Phase::Timed, self.effort.repeat.unwrap_or(MOST))];
        let (mut walls, mut begun) = (Vec::new(), Instant::now());
        for (phase, most) in phases {
            phased(phase);
            if phase == Phase::Timed {
                begun = Instant::now();
            }
            for round in 0..most {
                let is_timed = phase == Phase::Timed;
                let is_known = || bookkeeping(|| is_known(&walls, begun, time));
                if self.is_over() || (is_timed && self.effort.repeat.is_none() && is_known()) {
                    break;
                }
                let least = self.effort.repeat.unwrap_or(LEAST) as f64;
                let by_time = begun.elapsed().as_secs_f64() / time.as_secs_f64().max(1e-9);
                self.tell((round as f64 / least).min(by_time.max(round as f64 / most as f64)), row);
                let start_ns = self.now_ns();
                let parts = take()?;
                bookkeeping(|| {
                    for (name, taken) in parts {
                        walls.extend(taken.values.get(WALL).filter(|_| is_timed && name == row));
                        self.keep(&name, phase, (round, start_ns), taken);
                    }
                });
            }
        }
        Ok(())
    }
}

/// Whether the median is known well enough, or the time is up.
fn is_known(walls: &[f64], begun: Instant, time: Duration) -> bool {
    if (walls.len() as u64) < LEAST {
        return false;
    }
    if begun.elapsed() >= time {
        return true;
    }
    // The check sorts, so it runs only at powers of two.
    walls.len().is_power_of_two() && is_precise(walls)
}

/// Whether the confidence interval of the median is within 1 %.
pub(crate) fn is_precise(walls: &[f64]) -> bool {
    let walls = sorted(walls);
    let (Some(median), Some(interval)) = (compare::quantile(&walls, 0.5), quantile_interval(&walls, 0.5, CONFIDENCE))
    else {
        return false;
    };
    interval.high - median <= PRECISE * median && median - interval.low <= PRECISE * median
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Quiet {
        stop_after: u64,
        told: std::cell::Cell<u64>,
    }

    impl RunObserver for Quiet {
        fn tell(&mut self, share: f64, _: &str) {
            assert!((0.0..=1.0).contains(&share), "{share}");
            self.told.set(self.told.get() + 1);
        }

        fn is_stopped(&self) -> bool {
            self.told.get() >= self.stop_after
        }
    }

    fn repeats(effort: RepeatSettings, stop_after: u64, wall: impl Fn(u64) -> f64) -> (usize, usize, bool) {
        let mut watch = Quiet { stop_after, told: std::cell::Cell::new(0) };
        let mut recorder = RunRecorder::new(effort, &mut watch);
        let mut count = 0;
        let time = effort.time;
        let take = || {
            count += 1;
            Ok(vec![("x".to_owned(), Measurement::of(&[(WALL, wall(count))]))])
        };
        recorder.repeat("x", time, |_| (), take).unwrap();
        let timed = recorder.samples.iter().filter(|sample| sample.phase == Phase::Timed).count();
        (recorder.samples.len() - timed, timed, recorder.interrupted)
    }

    const LONG: Duration = Duration::from_secs(1_000);

    #[test]
    fn as_often_as_was_asked_for() {
        let effort = RepeatSettings { repeat: Some(3), warmup: 2, time: Duration::ZERO };
        assert_eq!(repeats(effort, u64::MAX, |_| 1.0), (2, 3, false));
    }

    #[test]
    fn until_the_median_is_known() {
        let effort = RepeatSettings { repeat: None, warmup: 1, time: LONG };
        assert_eq!(repeats(effort, u64::MAX, |_| 1.0), (1, 8, false), "no spread: the first look");
        let (_, noisy, _) = repeats(effort, u64::MAX, |count| if count % 2 == 0 { 1.0 } else { 1.5 });
        assert_eq!(noisy as u64, MOST, "two values far apart are never known");
    }

    #[test]
    fn until_the_time_is_up_but_not_too_few() {
        let effort = RepeatSettings { repeat: None, warmup: 0, time: Duration::ZERO };
        assert_eq!(repeats(effort, u64::MAX, |count| count as f64), (0, LEAST as usize, false));
    }

    #[test]
    fn until_somebody_ends_it() {
        let effort = RepeatSettings { repeat: Some(100), warmup: 0, time: LONG };
        assert_eq!(repeats(effort, 4, |_| 1.0), (0, 4, true));
    }
}
