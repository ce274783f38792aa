//! Clocks of the CPU, of threads and of the process, and the memory that is resident.
#![allow(
    unsafe_code,
    reason = "the time stamp counter and the CPU clocks have no safe interface in the standard library"
)]

use std::time::Instant;

/// The cheapest clock of the CPU, as a profiler would read it: not serialising, in its own unit.
#[inline(always)]
#[cfg(target_arch = "x86_64")]
pub fn ticks() -> u64 {
    // SAFETY: every x86-64 CPU has the instruction.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// The cheapest clock of the CPU, as a profiler would read it: not serialising, in its own unit.
#[inline(always)]
#[cfg(target_arch = "aarch64")]
pub fn ticks() -> u64 {
    let ticks;
    // SAFETY: Linux lets programs read the virtual counter; reading it changes nothing.
    unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack)) };
    ticks
}

/// CPU time of the calling thread so far.
pub fn thread_cpu_ns() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// CPU time of all threads of this process so far.
pub fn process_cpu_ns() -> u64 {
    read(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// The CPU clock of one thread, readable from any other while that thread lives.
#[derive(Clone, Copy)]
pub struct ThreadClock(libc::clockid_t);

impl ThreadClock {
    /// The clock of the calling thread.
    pub fn of_this_thread() -> Self {
        let mut id = 0;
        // SAFETY: the thread that asks is alive, and `id` outlives the call.
        let failed = unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &mut id) };
        assert_eq!(failed, 0, "this thread has no CPU clock");
        Self(id)
    }

    /// CPU time of that thread so far.
    pub fn now_ns(self) -> u64 {
        read(self.0)
    }
}

/// How long something took on one thread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lap {
    /// By the wall: never too little, too much where the thread lost its CPU meanwhile.
    pub wall_ns: f64,
    /// Without the time during which the thread was not running: right on average, but in a virtual machine the CPU
    /// clock is corrected for time that the host took, and that can be too much.
    pub own_ns: f64,
}

impl Lap {
    /// Times `work` on the calling thread.
    pub fn of(work: impl FnOnce()) -> Self {
        let cpu = thread_cpu_ns();
        let wall = Instant::now();
        work();
        let wall_ns = wall.elapsed().as_nanos() as f64;
        // The CPU clock is read by two system calls around the wall clock: it shows less only where time was lost.
        let own_ns = wall_ns.min((thread_cpu_ns() - cpu) as f64);
        Self { wall_ns, own_ns }
    }

    /// The share of one of `count` equal parts.
    pub fn divided_by(self, count: f64) -> Self {
        Self { wall_ns: self.wall_ns / count, own_ns: self.own_ns / count }
    }
}

/// Resident memory of this process, after the allocator has given back what it holds free.
pub fn resident_bytes_trimmed() -> u64 {
    // SAFETY: takes the allocator's own locks; no pointer is involved.
    unsafe { libc::malloc_trim(0) };
    resident_bytes()
}

/// Resident memory of this process; 0 where `/proc` does not say.
pub fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0);
    // SAFETY: reads a constant of the system.
    let page_bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    pages * page_bytes as u64
}

/// Ends the process without running destructors of statics, which may wait for a peer's network connection.
pub fn exit_now() -> ! {
    // SAFETY: ends the process; what the benchmark had to print is flushed by its caller.
    unsafe { libc::_exit(0) }
}

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec for the kernel to write to.
    let failed = unsafe { libc::clock_gettime(clock, &mut time) };
    assert_eq!(failed, 0, "clock {clock} cannot be read");
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleeping_is_not_own_time() {
        let lap = Lap::of(|| std::thread::sleep(std::time::Duration::from_millis(50)));
        assert!(lap.own_ns < 25e6 && lap.wall_ns >= 50e6, "{lap:?}");
    }

    #[test]
    fn work_is_own_time_and_the_process_has_it_too() {
        let before = process_cpu_ns();
        let lap = Lap::of(|| {
            let start = Instant::now();
            while start.elapsed().as_millis() < 5 {}
        });
        assert!(lap.own_ns > 0.0);
        assert!((process_cpu_ns() - before) as f64 >= lap.own_ns);
    }

    #[test]
    fn a_thread_clock_follows_its_thread() {
        let clock = ThreadClock::of_this_thread();
        let (mine, theirs) = (thread_cpu_ns(), clock.now_ns());
        assert!(theirs >= mine && theirs - mine < 50_000_000);
    }

    #[test]
    fn memory_is_seen() {
        assert!(resident_bytes() > 0);
    }
}
