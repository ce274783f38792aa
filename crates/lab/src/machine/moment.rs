//! What disturbed a short while: two looks at the system's counters.

use std::time::Instant;

use super::Files;
use super::noise::{all_ticks, load};

/// The system's counters at one time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    at: Instant,
    /// Ticks of all CPUs, and those that a hypervisor took.
    ticks: Option<(f64, f64)>,
    /// Time for which some program waited for a CPU, in seconds.
    waited_s: Option<f64>,
}

/// What happened from one moment to another; absent is what the system does not tell.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Disturbance {
    pub(crate) steal_share: Option<f64>,
    pub(crate) cpu_pressure: Option<f64>,
    pub(crate) load_1m: Option<f64>,
}

impl Moment {
    pub(crate) fn now(files: &impl Files) -> Self {
        let ticks = files.read("/proc/stat").and_then(|stat| all_ticks(&stat));
        Moment {
            at: Instant::now(),
            ticks: ticks.map(|(all, _, stolen)| (all, stolen)),
            waited_s: files.read("/proc/pressure/cpu").and_then(|text| waited_s(&text)),
        }
    }

    /// From this moment to now.
    pub(crate) fn until_now(self, files: &impl Files) -> Disturbance {
        let now = Self::now(files);
        let share = |((all, stolen), (all_now, stolen_now)): ((f64, f64), (f64, f64))| {
            (all_now > all).then(|| ((stolen_now - stolen) / (all_now - all)).clamp(0.0, 1.0))
        };
        let elapsed_s = now.at.duration_since(self.at).as_secs_f64();
        let waited = self.waited_s.zip(now.waited_s).filter(|_| elapsed_s > 0.0);
        Disturbance {
            steal_share: self.ticks.zip(now.ticks).and_then(share),
            cpu_pressure: waited.map(|(before, after)| ((after - before) / elapsed_s).clamp(0.0, 1.0)),
            load_1m: files.read("/proc/loadavg").and_then(|text| load(&text)).map(|[minute, _]| minute),
        }
    }
}

/// `some avg10=1.50 avg60=… total=123456`, in microseconds.
fn waited_s(text: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.starts_with("some "))?;
    let word = line.split_whitespace().find_map(|word| word.strip_prefix("total="))?;
    word.parse::<f64>().ok().map(|micros| micros * 1e-6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn totals_are_found() {
        assert_eq!(waited_s("some avg10=1.50 avg60=0.10 avg300=0.00 total=2500000\nfull avg10=0 total=1\n"), Some(2.5));
        assert_eq!(waited_s("full avg10=0.00 total=1\n"), None);
    }

    #[test]
    fn what_is_not_told_is_absent() {
        let silent: BTreeMap<&str, &str> = BTreeMap::new();
        assert_eq!(Moment::now(&silent).until_now(&silent), Disturbance::default());
    }

    #[test]
    fn shares_are_of_what_passed() {
        let before: BTreeMap<&str, &str> = BTreeMap::from([("/proc/stat", "cpu  10 0 0 90 0 0 0 0 0 0\n")]);
        let after =
            BTreeMap::from([("/proc/stat", "cpu  60 0 0 100 0 0 0 40 0 0\n"), ("/proc/loadavg", "2.5 1 1 1/2 3\n")]);
        let passed = Moment::now(&before).until_now(&after);
        assert_eq!(passed, Disturbance { steal_share: Some(0.4), cpu_pressure: None, load_1m: Some(2.5) });
    }
}
