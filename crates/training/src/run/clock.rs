//! Where the wall time goes, and what time it is.

use std::time::Instant;

use record::TrainingPhases;

/// Every moment belongs to one phase: each lap begins where the one before ended, so that the phases are the whole.
#[derive(Debug)]
pub(super) struct Clock {
    last: Instant,
    /// Of the epoch that is going on.
    pub(super) phases: TrainingPhases,
    /// Of the epochs before.
    earlier: TrainingPhases,
    /// CPU time of all threads up to the beginning of the epoch.
    cpu: Option<f64>,
}

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    DataWait,
    Forward,
    Backward,
    Optimizer,
    Validation,
    Checkpoint,
    Sample,
    Overhead,
}

impl Clock {
    pub(super) fn start() -> Self {
        let none = TrainingPhases::default();
        Self { last: Instant::now(), phases: none, earlier: none, cpu: cpu_seconds() }
    }

    /// What was done since the last lap; how long it took.
    pub(super) fn lap(&mut self, phase: Phase) -> f64 {
        let now = Instant::now();
        let seconds = now.duration_since(self.last).as_secs_f64();
        self.last = now;
        let phases = &mut self.phases;
        *match phase {
            Phase::DataWait => &mut phases.data_wait,
            Phase::Forward => &mut phases.forward,
            Phase::Backward => &mut phases.backward,
            Phase::Optimizer => &mut phases.optimizer,
            Phase::Validation => &mut phases.validation,
            Phase::Checkpoint => &mut phases.checkpoint,
            Phase::Sample => &mut phases.sample,
            Phase::Overhead => &mut phases.overhead,
        } += seconds;
        seconds
    }

    /// The phases of the epoch, which ends.
    pub(super) fn end_epoch(&mut self) -> TrainingPhases {
        self.lap(Phase::Overhead);
        let ended = std::mem::take(&mut self.phases);
        self.earlier = sum(&self.earlier, &ended);
        ended
    }

    /// CPU time of all threads since this was asked last, or since the beginning; where the system tells it.
    pub(super) fn cpu_of_epoch(&mut self) -> Option<f64> {
        let before = std::mem::replace(&mut self.cpu, cpu_seconds());
        Some(self.cpu? - before?)
    }

    /// All phases so far.
    pub(super) fn all(&self) -> TrainingPhases {
        sum(&self.earlier, &self.phases)
    }
}

fn sum(a: &TrainingPhases, b: &TrainingPhases) -> TrainingPhases {
    TrainingPhases {
        data_wait: a.data_wait + b.data_wait,
        forward: a.forward + b.forward,
        backward: a.backward + b.backward,
        optimizer: a.optimizer + b.optimizer,
        validation: a.validation + b.validation,
        checkpoint: a.checkpoint + b.checkpoint,
        sample: a.sample + b.sample,
        overhead: a.overhead + b.overhead,
    }
}

/// CPU time of all threads of this process so far.
#[cfg(unix)]
fn cpu_seconds() -> Option<f64> {
    use nix::sys::resource::{UsageWho, getrusage};
    let usage = getrusage(UsageWho::RUSAGE_SELF).ok()?;
    let times = [usage.user_time(), usage.system_time()];
    Some(times.iter().map(|time| time.tv_sec() as f64 + time.tv_usec() as f64 * 1e-6).sum())
}

#[cfg(not(unix))]
fn cpu_seconds() -> Option<f64> {
    None
}

/// All of them together.
pub(super) fn whole(phases: &TrainingPhases) -> f64 {
    phases.named().iter().map(|(_, seconds)| seconds).sum()
}

/// The time by RFC 3339, in UTC and whole seconds.
pub(super) fn now() -> String {
    rfc3339(jiff::Timestamp::now().as_second())
}

fn rfc3339(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds).unwrap_or_default().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_as_people_read_them() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_210_096, "2024-02-29T12:34:56Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(rfc3339(seconds), text);
        }
    }

    #[test]
    fn phases_are_the_whole() {
        let begin = Instant::now();
        let mut clock = Clock::start();
        for phase in [Phase::DataWait, Phase::Forward, Phase::Backward, Phase::Optimizer, Phase::Sample] {
            std::thread::sleep(std::time::Duration::from_millis(2));
            assert!(clock.lap(phase) >= 0.002);
        }
        let ended = clock.end_epoch();
        assert_eq!(whole(&clock.all()), whole(&ended));
        let whole = whole(&ended);
        assert!(whole >= 0.010 && whole <= begin.elapsed().as_secs_f64(), "{whole}");
    }
}
