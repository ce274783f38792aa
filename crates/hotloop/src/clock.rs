//! The clock of the hot path: the CPU's own counter where it can be trusted, the operating system's clock elsewhere.
//!
//! Scopes store raw ticks; they become nanoseconds only when a snapshot is taken, by the rate seen between the first
//! start and then: a window as long as the run, so the rate is better than any calibration at start-up could make it.
#![allow(unsafe_code, reason = "reads the CPU's time stamp counter")]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The shortest window over which the tick rate is measured: 10 ms gave at most 1 ppm of error on a busy machine.
const CALIBRATION: Duration = Duration::from_millis(10);

/// Which clock times the scopes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockSource {
    /// The CPU's counter: `rdtsc` on x86-64, `cntvct_el0` on AArch64.
    Counter,
    /// The operating system's monotonic clock.
    Os,
}

/// What times the scopes, why it was chosen and how fine it is.
#[derive(Clone, Debug)]
pub struct ClockInfo {
    /// Which clock.
    pub source: ClockSource,
    /// Why this clock and not the other.
    pub why: &'static str,
    /// Ticks of the clock in one nanosecond.
    pub ticks_per_ns: f64,
    /// The usual distance of two readings in a row, in nanoseconds: shorter scopes cannot be told from empty ones.
    pub resolution_ns: f64,
}

/// Read by every scope, hence apart from [`Base`] and not behind a lock.
static COUNTER: AtomicBool = AtomicBool::new(false);

static BASE: OnceLock<Base> = OnceLock::new();

/// One moment, by both clocks.
struct Moment {
    ticks: u64,
    instant: Instant,
}

struct Base {
    first: Moment,
    why: &'static str,
    resolution_ticks: u64,
}

/// The current time in ticks. Means nothing before [`init`].
#[inline(always)]
pub(crate) fn now() -> u64 {
    counter().unwrap_or_else(read_os)
}

/// The current time in ticks, if the CPU's counter is the clock.
#[inline(always)]
pub(crate) fn counter() -> Option<u64> {
    COUNTER.load(Relaxed).then(read_counter)
}

/// Chooses the clock, once; later calls do nothing.
pub(crate) fn init() {
    BASE.get_or_init(|| {
        let (counter, why) = choose();
        // The OS clock counts from `first`, so a first moment must exist before `COUNTER` says which clock is used.
        let instant = Instant::now();
        OS_ZERO.get_or_init(|| instant);
        COUNTER.store(counter, Relaxed);
        Base { first: moment(), why, resolution_ticks: resolution() }
    });
}

/// The clock and its rate, measured since [`init`]; waits until that was at least [`CALIBRATION`] ago.
pub(crate) fn info() -> ClockInfo {
    init();
    let base = BASE.get().expect("init() has set it");
    let ticks_per_ns = if COUNTER.load(Relaxed) { rate_since(&base.first) } else { 1.0 };
    let source = if COUNTER.load(Relaxed) { ClockSource::Counter } else { ClockSource::Os };
    #[expect(clippy::cast_precision_loss, reason = "a handful of ticks")]
    let resolution_ns = base.resolution_ticks as f64 / ticks_per_ns;
    ClockInfo { source, why: base.why, ticks_per_ns, resolution_ns }
}

/// The usual distance of two readings in a row, in ticks.
pub(crate) fn resolution_ticks() -> u64 {
    BASE.get().map_or(0, |base| base.resolution_ticks)
}

/// So many nanoseconds in ticks, by the rate seen since [`init`].
#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a duration")]
pub(crate) fn ticks_of(ns: u64) -> u64 {
    let Some(base) = BASE.get() else { return 0 };
    let elapsed = base.first.instant.elapsed().as_nanos().max(1) as f64;
    let rate = if COUNTER.load(Relaxed) { now().saturating_sub(base.first.ticks) as f64 / elapsed } else { 1.0 };
    (ns as f64 * rate) as u64
}

fn rate_since(first: &Moment) -> f64 {
    while first.instant.elapsed() < CALIBRATION {
        std::hint::spin_loop();
    }
    let last = moment();
    let ticks = last.ticks.saturating_sub(first.ticks);
    let ns = last.instant.duration_since(first.instant).as_nanos();
    #[expect(clippy::cast_precision_loss, reason = "2^53 ns are 104 days; the rate stays right to 15 digits")]
    let rate = ticks as f64 / ns as f64;
    rate
}

/// One moment by both clocks; of several tries the one whose two counter readings lay closest together.
fn moment() -> Moment {
    (0..16)
        .map(|_| {
            let before = now();
            let instant = Instant::now();
            let after = now();
            (after.saturating_sub(before), Moment { ticks: before.midpoint(after), instant })
        })
        .min_by_key(|(width, _)| *width)
        .expect("sixteen tries")
        .1
}

/// The usual distance of two readings in a row.
fn resolution() -> u64 {
    let mut distances: Vec<u64> = (0..255)
        .map(|_| {
            let before = now();
            now().saturating_sub(before)
        })
        .collect();
    distances.sort_unstable();
    distances[distances.len() / 2].max(1)
}

static OS_ZERO: OnceLock<Instant> = OnceLock::new();

#[inline(never)]
fn read_os() -> u64 {
    let zero = OS_ZERO.get_or_init(Instant::now);
    // Starts at 1: a scope's start of 0 means "not open".
    u64::try_from(zero.elapsed().as_nanos()).unwrap_or(u64::MAX).saturating_add(1)
}

/// Whether the CPU's counter can be trusted, and why.
fn choose() -> (bool, &'static str) {
    match std::env::var_os("HOTLOOP_CLOCK") {
        Some(value) if value == "os" => return (false, "HOTLOOP_CLOCK=os asks for it"),
        Some(value) if !value.is_empty() => {
            return (counter_is_trusted().0, "HOTLOOP_CLOCK is set to something other than `os`, and ignored");
        }
        _ => {}
    }
    if cfg!(miri) {
        return (false, "the program runs in an interpreter");
    }
    counter_is_trusted()
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
fn read_counter() -> u64 {
    // SAFETY: every x86-64 CPU has `rdtsc`; it touches no memory.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
fn counter_is_trusted() -> (bool, &'static str) {
    use core::arch::x86_64::__cpuid;
    let invariant = __cpuid(0x8000_0000).eax >= 0x8000_0007 && __cpuid(0x8000_0007).edx & (1 << 8) != 0;
    if !invariant {
        return (false, "the CPU does not promise a constant rate of its time stamp counter");
    }
    if cfg!(target_os = "linux") {
        return kernel_trusts_counter();
    }
    (true, "the CPU promises a constant rate of its time stamp counter")
}

/// The invariant bit alone is not enough: virtual CPUs were seen whose counters differ by a millisecond. Linux checks
/// that and turns to another clock source.
#[cfg(all(target_arch = "x86_64", not(miri)))]
fn kernel_trusts_counter() -> (bool, &'static str) {
    let source = std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    match source.as_deref().map(str::trim) {
        Ok("tsc") => (true, "the time stamp counter is invariant and the kernel keeps time by it"),
        Ok(_) => (false, "the kernel does not keep time by the time stamp counter"),
        Err(_) => (false, "the kernel does not say whether it keeps time by the time stamp counter"),
    }
}

#[cfg(all(target_arch = "aarch64", not(miri)))]
#[inline(always)]
fn read_counter() -> u64 {
    let ticks: u64;
    // SAFETY: the virtual counter is readable from user space on every AArch64 system; it touches no memory.
    unsafe {
        core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack, preserves_flags));
    }
    ticks
}

#[cfg(all(target_arch = "aarch64", not(miri)))]
fn counter_is_trusted() -> (bool, &'static str) {
    (true, "the architecture promises one system-wide counter of constant rate")
}

#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
fn read_counter() -> u64 {
    read_os()
}

#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
fn counter_is_trusted() -> (bool, &'static str) {
    (false, "no counter is known for this CPU")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_agrees_with_the_os_clock() {
        let info = info();
        let (ticks, instant) = (now(), Instant::now());
        std::thread::sleep(Duration::from_millis(30));
        let by_ticks = (now() - ticks) as f64 / info.ticks_per_ns;
        let by_os = instant.elapsed().as_nanos() as f64;
        assert!((by_ticks / by_os - 1.0).abs() < 0.02, "{by_ticks} ns by {info:?}, {by_os} ns by the OS");
    }

    #[test]
    fn never_runs_backwards_on_one_thread() {
        init();
        let mut last = now();
        for _ in 0..100_000 {
            let next = now();
            assert!(next >= last);
            last = next;
        }
    }
}
