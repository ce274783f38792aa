//! The course of a run: what was measured so far, how much time is left, and whether somebody wants to end.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use compare::{quantile_interval, sorted};
use record::{Phase, Row, Sample};

/// The metric that decides when a row was repeated often enough.
pub(crate) const WALL: &str = "wall_s";
/// Without a number of repeats, a row has at least so many: with fewer the median has no interval.
pub(crate) const LEAST: u64 = 6;
/// No row is repeated more often: samples are kept, and more would tell nothing new.
pub(crate) const MOST: u64 = 1_000;
/// A median is known well enough when it lies in an interval of this part of it, either way.
const PRECISE: f64 = 0.01;
const CONFIDENCE: f64 = 0.95;

/// How often, and for how long.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RepeatSettings {
    /// Repeats of each row that count; `None`: until the median is known to 1 % or the time is up.
    pub repeat: Option<u64>,
    /// Repeats before those.
    pub warmup: u64,
    /// The time for all rows together; the least number of repeats is made in any case.
    pub time: Duration,
}

/// Who looks on.
pub trait RunObserver {
    /// What is being done, and which part of the whole is done, from 0 to 1.
    fn tell(&mut self, share: f64, what: &str);

    /// Whether to end now, with what there is.
    fn is_stopped(&self) -> bool;
}

/// Does the lab's own work, which is no part of what is measured: in a scope of its own, or it would be taken for that of the
/// scope around it.
pub(crate) fn bookkeeping<T>(work: impl FnOnce() -> T) -> T {
    hotloop::scope!("lab");
    work()
}

/// One repeat, before it has its place in the run.
#[derive(Debug, Clone, Default)]
pub struct Measurement {
    /// By the names of metrics.
    pub values: BTreeMap<String, f64>,
    /// Several values of one metric.
    pub series: BTreeMap<String, Vec<f64>>,
}

impl Measurement {
    /// With these values.
    pub fn of(values: &[(&str, f64)]) -> Self {
        let values = values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        Self { values, series: BTreeMap::new() }
    }
}

/// The course of a run.
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
    /// Nothing was measured yet.
    pub fn new(effort: RepeatSettings, watch: &'a mut dyn RunObserver) -> Self {
        let (rows, samples) = (Vec::new(), Vec::new());
        Self { start: Instant::now(), effort, watch, shares: (0.0, 1.0), rows, samples, interrupted: false }
    }

    /// How often and how long.
    pub(crate) fn effort(&self) -> RepeatSettings {
        self.effort
    }

    /// The rows that follow take this part of the time.
    pub(crate) fn part(&mut self, from: f64, to: f64) {
        self.shares = (from, to);
    }

    /// A fair part of the time that is left, for the next of so many rows.
    pub(crate) fn fair(&self, rows: u32) -> Duration {
        self.effort.time.saturating_sub(self.start.elapsed()) / rows.max(1)
    }

    /// Whether somebody wants to end; then nothing more is measured.
    pub(crate) fn is_over(&mut self) -> bool {
        self.interrupted |= self.watch.is_stopped();
        self.interrupted
    }

    /// Whether anything was measured that counts, beside the making of a model.
    pub(crate) fn has_measured(&self) -> bool {
        self.samples.iter().any(|sample| sample.phase == Phase::Timed && sample.row != "creation")
    }

    /// Says what is being done.
    pub(crate) fn tell(&mut self, done: f64, what: &str) {
        let (from, to) = self.shares;
        bookkeeping(|| self.watch.tell(from + (to - from) * done.clamp(0.0, 1.0), what));
    }

    /// Now, since the run began.
    pub(crate) fn now_ns(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Declares a row.
    pub(crate) fn row(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// Keeps a repeat of a row.
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

/// Whether these repeats say enough, or there is no more time.
fn is_known(walls: &[f64], begun: Instant, time: Duration) -> bool {
    if (walls.len() as u64) < LEAST {
        return false;
    }
    if begun.elapsed() >= time {
        return true;
    }
    // Looking costs a sort: only now and then.
    walls.len().is_power_of_two() && is_precise(walls)
}

/// Whether the median is known to 1 %.
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
