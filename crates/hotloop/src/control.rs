//! Starting, stopping and reading the profiler.

use std::io::Write;

use crate::snapshot::Snapshot;
use crate::tree::{self, Link, mode};
use crate::{ENABLED, alloc, clock};

/// What to record.
///
/// ```
/// hotloop::Config::new().timeline(Some(1 << 16)).budget(None).start();
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    percentiles: bool,
    timeline: Option<usize>,
    budget: Option<f64>,
    allocations: bool,
}

impl Default for Config {
    fn default() -> Self {
        Config { percentiles: true, timeline: None, budget: Some(0.02), allocations: true }
    }
}

impl Config {
    /// The defaults: percentiles and allocations, no timeline, a budget of 2 %.
    #[must_use]
    pub fn new() -> Self {
        Config::default()
    }

    /// Keep the distribution of each scope's durations, for percentiles.
    #[must_use]
    pub fn percentiles(mut self, on: bool) -> Self {
        self.percentiles = on;
        self
    }

    /// Keep the last calls of each thread with their times: so many (rounded up to a power of two), 16 bytes each.
    /// Later calls overwrite the oldest; how many were lost is counted.
    #[must_use]
    pub fn timeline(mut self, events_per_thread: Option<usize>) -> Self {
        self.timeline = events_per_thread;
        self
    }

    /// The share of a thread's CPU time that the profiler may take, 0.02 for 2 %. Scopes too short and frequent for it are
    /// timed only now and then, while their calls, allocations and work stay exact; their times are estimates with a
    /// standard error. `None` times every call.
    ///
    /// A smaller budget costs less and widens the errors: with 1 % half as many calls are timed as with 2 %. Long calls that
    /// are rare may then go unseen in sampled scopes; their time is divided within what their parent took.
    #[must_use]
    pub fn budget(mut self, share: Option<f64>) -> Self {
        self.budget = share;
        self
    }

    /// Charge allocations to scopes, where [`Allocator`](crate::Allocator) is the global allocator.
    #[must_use]
    pub fn allocations(mut self, on: bool) -> Self {
        self.allocations = on;
        self
    }

    /// Starts recording, on top of what was recorded before; see [`reset`].
    ///
    /// The first start chooses the clock; every start measures the profiler's own cost, in under a millisecond.
    pub fn start(self) {
        if !ENABLED || !tree::may_lock() {
            return;
        }
        clock::init();
        tree::start(self.modes(), self.timeline.unwrap_or(0).min(MAX_EVENTS), self.budget.unwrap_or(0.0));
    }

    fn modes(self) -> u64 {
        let on = |condition: bool, bits: u64| if condition { bits } else { 0 };
        let budget = self.budget.is_some_and(|share| share > 0.0);
        mode::STARTED
            | on(self.percentiles, mode::PERCENTILES | mode::EVENTS)
            | on(self.timeline.is_some(), mode::TIMELINE | mode::EVENTS)
            | on(budget, mode::BUDGET | mode::EVENTS)
            | on(self.allocations && alloc::is_installed(), mode::ALLOCATIONS)
    }
}

/// The longest timeline of one thread: 256 MiB.
const MAX_EVENTS: usize = 1 << 24;

/// Starts recording with the default [`Config`].
pub fn start() {
    Config::default().start();
}

/// Stops recording; what was recorded stays. Time until the next start counts nowhere.
pub fn stop() {
    if ENABLED && tree::may_lock() {
        clock::init();
        tree::stop();
    }
}

/// Forgets all that was recorded. Goes on recording if it was; scopes that are open count from now.
pub fn reset() {
    if ENABLED && tree::may_lock() {
        clock::init();
        tree::reset();
    }
}

/// Whether scopes are being recorded.
#[inline]
#[must_use]
pub fn is_started() -> bool {
    ENABLED && tree::flags_now() & mode::STARTED != 0
}

/// Everything recorded so far, while the threads go on.
#[must_use]
pub fn snapshot() -> Snapshot {
    Snapshot::take()
}

/// Prints the report, with the first `n` of each ranking, to standard output. Nothing in a forked child that records
/// nothing.
pub fn print(n: usize) {
    if ENABLED && !tree::may_lock() {
        // Another thread of the parent may have been printing.
        return;
    }
    // A closed pipe is no reason to stop the program.
    let _ = std::io::stdout().lock().write_all(snapshot().report(n).as_bytes());
}

/// Names the calling thread in reports, where its own name would not do.
pub fn name_thread(name: &str) {
    if ENABLED {
        tree::name_thread(name);
    }
}

/// The scope this thread is in, to attach the work that it causes on other threads to it.
///
/// ```
/// hotloop::scope!("forward");
/// let link = hotloop::current();
/// let worker = std::thread::spawn(move || {
///     let _attached = link.attach();
///     hotloop::scope!("half of it"); // hangs below "forward"
/// });
/// worker.join().unwrap();
/// ```
#[must_use]
pub fn current() -> Link {
    if ENABLED { Link::here() } else { Link::ROOT }
}
