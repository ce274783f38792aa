//! Measures pieces of work: wall time, CPU time and allocations; defines the metrics.

use std::time::Instant;

use record::{Better, Metric, Per, ProcessUse};

use crate::machine::{Files, System};
use crate::recorder::{Measurement, WALL, bookkeeping};

/// A metric: name, definition, unit, what a value covers, whether it is exact.
pub(crate) type MetricRow = (&'static str, &'static str, &'static str, Per, bool);

/// Metrics of samples.
const METRICS: &[MetricRow] = &[
    (WALL, "from the beginning of the sample to its end, by the clock", "s", Per::Sample, false),
    ("cpu_s", "CPU time of all threads of the process during the sample", "s", Per::Sample, false),
    ("ttft_s", "time to first token: from the prompt to the first token that was chosen", "s", Per::Call, false),
    ("token_s", "time of each token after the first, from one to the next", "s", Per::Call, false),
    ("allocs", "allocations in the sample's calls, in a repeat of its own", "count", Per::Sample, true),
    ("alloc_bytes", "bytes allocated in the sample's calls, in a repeat of its own", "bytes", Per::Sample, true),
    (
        "peak_live_bytes",
        "the most bytes live above the level before, in a repeat of its own",
        "bytes",
        Per::MaximumOfCalls,
        true,
    ),
];

/// Definitions of the metrics of samples.
pub(crate) fn metrics() -> impl Iterator<Item = (String, Metric)> {
    described(METRICS)
}

/// Metrics of which lower is better.
pub(crate) fn described(all: &'static [MetricRow]) -> impl Iterator<Item = (String, Metric)> {
    all.iter().map(|(name, definition, unit, per, exact)| {
        let metric = Metric {
            definition: (*definition).to_owned(),
            unit: (*unit).to_owned(),
            better: Better::Lower,
            per: Some(*per),
            exact: *exact,
        };
        ((*name).to_owned(), metric)
    })
}

/// Runs the work and measures its wall time and CPU time.
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (T, Measurement) {
    let cpu = cpu_s();
    let start = Instant::now();
    let result = work();
    let wall = start.elapsed().as_secs_f64();
    let cpu = cpu.zip(cpu_s()).map(|(before, after)| after - before);
    let taken = bookkeeping(|| {
        let mut taken = Measurement::of(&[(WALL, wall)]);
        taken.values.extend(cpu.map(|cpu| ("cpu_s".to_owned(), cpu)));
        taken
    });
    (result, taken)
}

/// The allocations of a piece of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AllocationCount {
    pub(crate) allocs: u64,
    pub(crate) bytes: u64,
    pub(crate) peak_live: u64,
    /// Bytes that were not freed again.
    pub(crate) kept: u64,
}

impl AllocationCount {
    /// The allocations of this many calls; the peak stays the same.
    pub(crate) fn times(self, calls: u64) -> Self {
        Self { allocs: self.allocs * calls, bytes: self.bytes * calls, ..self }
    }

    /// Adds them to a sample's values.
    pub(crate) fn add_to(self, taken: &mut Measurement) {
        for (name, value) in [("allocs", self.allocs), ("alloc_bytes", self.bytes), ("peak_live_bytes", self.peak_live)]
        {
            taken.values.insert(name.to_owned(), value as f64);
        }
    }
}

/// Runs it with the profiler on, and gives what this thread allocated; `None` where allocations are not counted. What was
/// recorded before is forgotten.
pub(crate) fn counted(work: impl FnOnce()) -> Option<AllocationCount> {
    counted_in("counted", work)
}

/// The same for the scopes of this name that the work opens.
pub(crate) fn counted_in(name: &str, work: impl FnOnce()) -> Option<AllocationCount> {
    hotloop::Config::new().percentiles(false).budget(None).start();
    hotloop::reset();
    {
        hotloop::scope!("counted");
        work();
    }
    hotloop::stop();
    let snapshot = hotloop::snapshot();
    hotloop::reset();
    let scope = snapshot.find(name).filter(|_| snapshot.allocations_counted)?;
    let total = scope.allocs_total;
    Some(AllocationCount {
        allocs: total.allocs,
        bytes: total.alloc_bytes,
        peak_live: scope.peak_live_bytes,
        kept: total.alloc_bytes.saturating_sub(total.free_bytes),
    })
}

/// CPU time of all threads of this process, in seconds.
#[cfg(unix)]
#[must_use]
pub fn cpu_s() -> Option<f64> {
    use nix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).ok()?;
    Some(time.tv_sec() as f64 + time.tv_nsec() as f64 * 1e-9)
}

/// Not known here.
#[cfg(not(unix))]
#[must_use]
pub fn cpu_s() -> Option<f64> {
    None
}

/// The resource use of this process since its start, as far as the system reports it.
#[cfg(unix)]
pub(crate) fn process(wall_s: f64) -> ProcessUse {
    use nix::sys::resource::{UsageWho, getrusage};
    use nix::sys::time::TimeVal;
    let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) else { return ProcessUse { wall_s, ..ProcessUse::default() } };
    let seconds = |time: TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 * 1e-6;
    let count = |number: i64| u64::try_from(number).ok();
    // Linux counts kibibytes, others bytes.
    let unit = if cfg!(target_os = "linux") { 1024 } else { 1 };
    ProcessUse {
        wall_s,
        user_s: Some(seconds(usage.user_time())),
        system_s: Some(seconds(usage.system_time())),
        peak_rss_bytes: peak_rss().or_else(|| count(usage.max_rss()).map(|rss| rss * unit)),
        minor_faults: count(usage.minor_page_faults()),
        major_faults: count(usage.major_page_faults()),
        voluntary_switches: count(usage.voluntary_context_switches()),
        involuntary_switches: count(usage.involuntary_context_switches()),
        ..ProcessUse::default()
    }
}

/// The resource use of this process since its start, as far as the system reports it.
#[cfg(not(unix))]
pub(crate) fn process(wall_s: f64) -> ProcessUse {
    ProcessUse { wall_s, ..ProcessUse::default() }
}

/// Resets the peak memory of the process where the system supports it, so that earlier work does not count.
pub(crate) fn forget_peak() {
    // Where it cannot, the peak is that of the whole process.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// The peak memory of this process, since its start or since the last reset.
#[must_use]
pub fn peak_rss() -> Option<u64> {
    peak_of(&System.read("/proc/self/status")?)
}

/// `VmHWM:     5120 kB`
fn peak_of(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peaks_are_read() {
        assert_eq!(peak_of("Name:\tx\nVmPeak:\t 9 kB\nVmHWM:\t    5120 kB\nVmRSS:\t 1 kB\n"), Some(5_242_880));
        assert_eq!(peak_of("Name:\tx\n"), None);
        assert_eq!(peak_of("VmHWM:\t5120\n"), None);
    }
}
