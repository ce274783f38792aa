//! A thread that loses its CPU at a scope boundary, right before the clock is read there: the wait is in no scope's time.
//!
//! The program's clock waits at a chosen reading until the kernel has given the CPU to another thread.
#![cfg(all(
    feature = "enabled",
    target_os = "linux",
    target_env = "gnu",
    target_pointer_width = "64",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(miri)
))]
#![allow(unsafe_code, reason = "takes the place of the C library's clock")]
#![allow(clippy::print_stderr, reason = "says why nothing was tested")]

use std::cell::Cell;
use std::ffi::{c_int, c_long};
use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

use hotloop::{Config, InterruptionSource, Snapshot};

const MONOTONIC: c_int = 1;
const SYS_CLOCK_GETTIME: c_long = if cfg!(target_arch = "x86_64") { 228 } else { 113 };
/// Far longer than anything else here takes.
const WAIT_NS: u64 = 4_000_000;

thread_local! {
    /// Whether this thread waits for its CPU at the next reading of the clock.
    static IS_ARMED: Cell<bool> = const { Cell::new(false) };
}

unsafe extern "C" {
    fn syscall(number: c_long, ...) -> c_long;
    safe fn sched_getcpu() -> c_int;
    fn sched_setaffinity(process: c_int, size: usize, mask: *const [u64; 16]) -> c_int;
}

/// The C library's, but that the thread may lose its CPU first.
///
/// # Safety
/// `time` may be written to.
#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(clock: c_int, time: *mut [i64; 2]) -> c_int {
    if clock == MONOTONIC && IS_ARMED.replace(false) {
        let before = kernel_waiting_ns();
        while kernel_waiting_ns() < before + WAIT_NS {
            spin_loop();
        }
    }
    // SAFETY: as the C library does it.
    unsafe { syscall(SYS_CLOCK_GETTIME, c_long::from(clock), time) as c_int }
}

/// Time that this thread was ready to run but had no CPU.
fn kernel_waiting_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().nth(1).and_then(|number| number.parse().ok()).unwrap_or(u64::MAX / 2)
}

/// Lets the calling thread, and those that it starts, run on its present CPU alone.
fn stay_on_this_cpu() {
    let mut mask = [0; 16];
    let cpu = sched_getcpu() as usize;
    mask[cpu / 64] = 1 << (cpu % 64);
    // SAFETY: the mask is as long as is said; 0 is the calling thread.
    assert_eq!(unsafe { sched_setaffinity(0, size_of_val(&mask), &raw const mask) }, 0);
}

/// What is recorded of two scopes, of which one loses its CPU right before the clock is read for it.
fn measure(config: Config, at_entry: bool) -> Snapshot {
    hotloop::stop();
    config.start();
    hotloop::reset();
    {
        hotloop::scope!("outer");
        IS_ARMED.set(at_entry);
        hotloop::scope!("inner");
        IS_ARMED.set(!at_entry);
    }
    hotloop::snapshot()
}

/// Ends the other thread, also after a failure.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

#[test]
fn a_wait_right_before_the_clock_is_read_is_in_no_scope() {
    // SAFETY: before anything else of this process reads the environment.
    unsafe { std::env::set_var("HOTLOOP_CLOCK", "os") };
    stay_on_this_cpu();
    let is_over = AtomicBool::new(false);
    thread::scope(|threads| {
        let _end = End(&is_over);
        threads.spawn(|| {
            while !is_over.load(Relaxed) {
                spin_loop();
            }
        });
        for (budget, at_entry) in [(Some(0.02), true), (Some(0.02), false), (None, true), (None, false)] {
            let snapshot = measure(Config::new().budget(budget), at_entry);
            if snapshot.interruptions.source == InterruptionSource::None {
                eprintln!("interruptions are not recognised here: {}", snapshot.interruptions.why);
                return;
            }
            let waiting_ns = snapshot.waiting_ns.expect("interruptions are recognised");
            let what =
                format!("budget {budget:?}, at entry: {at_entry}: {waiting_ns} ns, at least {WAIT_NS} ns waited");
            assert!(waiting_ns as f64 >= 0.9 * WAIT_NS as f64, "{what}");
        }
    });
}
