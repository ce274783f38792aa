//! What is recorded, and since when: start, stop, reset.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::*};

use super::charge::OUTSIDE;
use super::fork;
use super::interruptions;
use super::local::{AFTER_END, Local};
use super::measure;
use super::registry::{lock, with_registry};
use super::{FLAGS, mode};
use crate::clock;

static TIMES: Mutex<Times> = Mutex::new(Times { reset_at: 0, paused_at_reset: 0, paused: 0, paused_since: 1 });
/// Copies of the times of the last reset, for readers that must not wait.
static RESET_AT: AtomicU64 = AtomicU64::new(0);
static PAUSED_AT_RESET: AtomicU64 = AtomicU64::new(0);
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
    taken_at: u64,
    is_paused: bool,
}

impl Intervals {
    /// The ticks paused up to `then`, if that is not before the pause that is going on.
    pub(super) fn paused_by(&self, then: u64) -> u64 {
        let later = self.taken_at.saturating_sub(then);
        if self.is_paused { self.paused.saturating_sub(later).max(self.paused_at_reset) } else { self.paused }
    }
}

pub(super) fn intervals() -> Intervals {
    let times = lock(&TIMES);
    let (now, is_paused) = (clock::now(), times.paused_since != 0);
    let pause = if is_paused { now.saturating_sub(times.paused_since) } else { 0 };
    let Times { reset_at, paused_at_reset, paused, .. } = *times;
    Intervals { reset_at, paused_at_reset, paused: paused + pause, taken_at: now, is_paused }
}

/// Ticks from `start` to `now` in which recording was on; `paused_then` and `paused_now` are what was paused by either.
/// What lies before a reset does not count.
pub(super) fn active_since(start: u64, paused_then: u64, paused_now: u64, now: u64) -> u64 {
    let (reset_at, paused_at_reset) = (RESET_AT.load(Acquire), PAUSED_AT_RESET.load(Acquire));
    let (start, paused_then) = if reset_at > start { (reset_at, paused_at_reset) } else { (start, paused_then) };
    now.saturating_sub(start).saturating_sub(paused_now.saturating_sub(paused_then))
}

/// When the last reset was.
pub(super) fn last_reset() -> u64 {
    RESET_AT.load(Acquire)
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

/// Starts or changes what is recorded. One start at a time: the cost that is measured belongs to these modes.
pub(crate) fn start(modes: u64, ring_capacity: usize, budget: f64) {
    static STARTING: Mutex<()> = Mutex::new(());
    let _starting = lock(&STARTING);
    Local::with(|local| local.quietly(interruptions::init));
    interruptions::check_clock(|| measure::measure(modes));
    RING_CAPACITY.store(ring_capacity, Relaxed);
    BUDGET.store(budget.to_bits(), Relaxed);
    LAST_MODES.store(modes, Relaxed);
    Local::with(|local| {
        // Its tree is made before the time begins.
        local.registered();
        let now = set_modes(modes);
        // The thread that starts the profiler is there from the start, not only from its first scope on.
        local.fall_in_step_at(FLAGS.load(Relaxed), now);
    });
}

/// Stops recording.
pub(crate) fn stop() {
    Local::with(Local::note_interruptions);
    set_modes(0);
}

/// Puts the modes in force and returns when.
fn set_modes(modes: u64) -> u64 {
    with_registry(|_| {
        let mut times = lock(&TIMES);
        let now = clock::now();
        let (recording, started) = (times.paused_since == 0, modes & mode::STARTED != 0);
        if times.reset_at == 0 && started {
            // The first start: time before it was no pause.
            *times = Times { reset_at: now, paused_at_reset: 0, paused: 0, paused_since: 0 };
            RESET_AT.store(now, Release);
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
        now
    })
}

/// Counts allocations for an assertion, or stops doing so; several may be at it at once.
pub(crate) fn set_watch(on: bool) {
    static WATCHERS: AtomicUsize = AtomicUsize::new(0);
    if !fork::may_lock() {
        // Nobody else writes the flags of a forked child. Counting that goes on afterwards does no harm.
        FLAGS.fetch_or(mode::WATCH, Release);
        return;
    }
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
        RESET_AT.store(now, Release);
        PAUSED_AT_RESET.store(times.paused_at_reset, Release);
        FLAGS.store(FLAGS.load(Relaxed).wrapping_add(mode::EPOCH), Release);
    });
    // Waiting counts from now on, not only from this thread's next scope boundary: otherwise a wait before that boundary
    // would be in the scopes that are open.
    Local::with(|local| {
        let flags = FLAGS.load(Relaxed);
        if flags & mode::STARTED != 0 && local.thread().is_some() {
            local.fall_in_step(flags);
        }
    });
}
