//! What is recorded, and since when: start, stop, reset.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::*};

use super::charge::OUTSIDE;
use super::local::{AFTER_END, Local};
use super::registry::{lock, with_registry};
use super::{FLAGS, mode};
use crate::clock;

static TIMES: Mutex<Times> = Mutex::new(Times { reset_at: 0, paused_at_reset: 0, paused: 0, paused_since: 1 });
static RING_CAPACITY: AtomicUsize = AtomicUsize::new(0);
static BUDGET: AtomicU64 = AtomicU64::new(0);
/// What was recorded last, also while stopped.
static LAST_MODES: AtomicU64 = AtomicU64::new(0);

/// When recording was on: ticks spent paused, and when the last reset was.
struct Times {
    reset_at: u64,
    paused_at_reset: u64,
    paused: u64,
    /// 0 while recording.
    paused_since: u64,
}

/// [`Times`] as of one moment.
pub(super) struct Intervals {
    pub(super) reset_at: u64,
    pub(super) paused_at_reset: u64,
    pub(super) paused: u64,
}

pub(super) fn intervals() -> Intervals {
    let times = lock(&TIMES);
    let pause = if times.paused_since == 0 { 0 } else { clock::now().saturating_sub(times.paused_since) };
    Intervals { reset_at: times.reset_at, paused_at_reset: times.paused_at_reset, paused: times.paused + pause }
}

/// Ticks since `start` in which recording was on, for a start since which it was paused or reset.
pub(super) fn active_since(start: u64) -> u64 {
    let times = intervals();
    let since = clock::now().saturating_sub(start.max(times.reset_at));
    since.saturating_sub(times.paused - times.paused_at_reset)
}

pub(super) fn ring_capacity() -> usize {
    RING_CAPACITY.load(Relaxed)
}

pub(super) fn budget() -> f64 {
    f64::from_bits(BUDGET.load(Relaxed))
}

/// What was recorded last, also while stopped.
pub(super) fn last_modes() -> u64 {
    LAST_MODES.load(Relaxed)
}

/// The share of the run that the profiler may take, as of the last start.
pub(crate) fn budget_in_force() -> Option<f64> {
    (last_modes() & mode::BUDGET != 0).then(budget)
}

/// Whether allocations are counted, as of the last start.
pub(crate) fn allocations_counted() -> bool {
    last_modes() & mode::ALLOCATIONS != 0
}

/// Starts or changes what is recorded.
pub(crate) fn start(modes: u64, ring_capacity: usize, budget: f64) {
    RING_CAPACITY.store(ring_capacity, Relaxed);
    BUDGET.store(budget.to_bits(), Relaxed);
    LAST_MODES.store(modes, Relaxed);
    set_modes(modes);
    // The thread that starts the profiler is there from the start, not only from its first scope on.
    Local::with(|local| local.fall_in_step(FLAGS.load(Relaxed)));
}

/// Stops recording.
pub(crate) fn stop() {
    set_modes(0);
}

fn set_modes(modes: u64) {
    with_registry(|_| {
        let mut times = lock(&TIMES);
        let now = clock::now();
        let (recording, started) = (times.paused_since == 0, modes & mode::STARTED != 0);
        if times.reset_at == 0 && started {
            // The first start: time before it was no pause.
            *times = Times { reset_at: now, paused_at_reset: 0, paused: 0, paused_since: 0 };
        } else if recording && !started {
            times.paused_since = now;
        } else if !recording && started {
            times.paused += now.saturating_sub(times.paused_since);
            times.paused_since = 0;
        }
        let flags = FLAGS.load(Relaxed);
        let epoch = flags & !(mode::EPOCH - 1);
        let generation = (flags + mode::GENERATION) & (mode::EPOCH - 1) & !mode::MASK;
        FLAGS.store(epoch | generation | flags & mode::WATCH | modes, Release);
    });
}

/// Counts allocations for an assertion, or stops doing so; several may be at it at once.
pub(crate) fn set_watch(on: bool) {
    static WATCHERS: AtomicUsize = AtomicUsize::new(0);
    with_registry(|_| {
        let before = if on { WATCHERS.fetch_add(1, Relaxed) } else { WATCHERS.fetch_sub(1, Relaxed) - 1 };
        let flags = FLAGS.load(Relaxed);
        FLAGS.store(if on || before > 0 { flags | mode::WATCH } else { flags & !mode::WATCH }, Release);
    });
}

/// Forgets all that was recorded. Scopes that are open count from now.
pub(crate) fn reset() {
    with_registry(|registry| {
        registry.forget_ended();
        OUTSIDE.clear();
        AFTER_END.store(0, Relaxed);
        let mut times = lock(&TIMES);
        let now = clock::now();
        let pause = if times.paused_since == 0 { 0 } else { now.saturating_sub(times.paused_since) };
        times.reset_at = now;
        times.paused_at_reset = times.paused + pause;
        FLAGS.store(FLAGS.load(Relaxed).wrapping_add(mode::EPOCH), Release);
    });
}
