//! How long a thread was on a CPU.
#![allow(unsafe_code, reason = "asks the system for it")]

use std::time::Duration;

/// The calling thread's time on a CPU.
#[cfg(all(target_os = "linux", target_pointer_width = "64", not(miri)))]
pub(crate) fn time_on_cpu() -> Duration {
    unsafe extern "C" {
        fn clock_gettime(clock: std::ffi::c_int, time: *mut [i64; 2]) -> std::ffi::c_int;
    }
    const CLOCK_THREAD_CPUTIME_ID: std::ffi::c_int = 3;
    let mut time = [0; 2];
    // SAFETY: a `timespec` is two numbers of 64 bits here.
    assert_eq!(unsafe { clock_gettime(CLOCK_THREAD_CPUTIME_ID, &raw mut time) }, 0);
    Duration::new(time[0].unsigned_abs(), u32::try_from(time[1]).unwrap())
}

/// Elsewhere waiting is not reported from working, neither here nor in the profiler.
#[cfg(not(all(target_os = "linux", target_pointer_width = "64", not(miri))))]
pub(crate) fn time_on_cpu() -> Duration {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    START.get_or_init(std::time::Instant::now).elapsed()
}
