//! How a thread learns that it lost its CPU, and for how long.
//!
//! glibc registers a `struct rseq` for every thread. The kernel clears its field `rseq_cs` whenever the thread is
//! preempted, migrated or signalled outside the critical section that the field points to. So a thread stores a pointer
//! to a section that no code runs in, and a zero at the next scope boundary means that it was interrupted: one load and
//! compare. How long it then waited for a CPU is in `/proc/thread-self/schedstat`. That time is taken out of all scopes
//! that are open, as a pause is, and gets a row of its own.

use std::collections::VecDeque;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};

use super::events::Event;
use super::hot::flags_now;
use super::local::Local;
use super::thread::Thread;
use crate::clock;
use crate::snapshot::{InterruptionInfo, InterruptionSource};

/// What a thread watches that has no `rseq` area: never zero, so never interrupted.
pub(super) static NEVER: AtomicU64 = AtomicU64::new(1);

/// Reading schedstat takes some microseconds, so it is read again only after this many times as long: 1 % of the time at
/// most. Waits are of milliseconds, so none of any length is put down to a later scope.
const READS_APART: u64 = 100;
/// The same for threads that mostly sleep, at the most.
const MOST_APART: u64 = 64 * READS_APART;

/// The address of the section that no code runs in, or why there is none. Set at the first start: nothing that runs inside
/// the program's scopes may allocate.
static SECTION: OnceLock<Result<u64, &'static str>> = OnceLock::new();

/// The profiler's clock does not go on as the kernel's does: a simulated one, which has no waiting in it.
static SIMULATED: AtomicBool = AtomicBool::new(false);

/// Prepares what all threads need; later calls do nothing.
pub(super) fn init() {
    SECTION.get_or_init(area::section);
}

/// Does some work of a millisecond or so, and looks whether the profiler's clock goes on meanwhile as the kernel's does.
pub(super) fn check_clock(work: impl FnOnce()) {
    // The kernel's is read within the profiler's, so that an interruption between them makes it the shorter one.
    let start = clock::now();
    let real_start = area::real_ns();
    work();
    let real = area::real_ns().saturating_sub(real_start);
    let ticks = clock::now().saturating_sub(start);
    if section().is_some() && ticks < clock::ticks_of(real) / 2 {
        SIMULATED.store(true, Relaxed);
    }
}

fn section() -> Option<u64> {
    SECTION.get()?.ok().filter(|_| !SIMULATED.load(Relaxed))
}

/// Reading schedstat takes at most this many times as long as it did at best.
const UNDISTURBED: u64 = 8;

/// Ticks that belong to no scope, up to `end`: without a CPU, and spent on finding that out.
struct Lost {
    waited: u64,
    finding_out: u64,
    end: u64,
}

/// How interruptions are recognised in this process.
pub(crate) fn interruptions() -> InterruptionInfo {
    let (source, why) = match *SECTION.get().unwrap_or(&Err("nothing was recorded yet")) {
        Ok(_) if SIMULATED.load(Relaxed) => {
            (InterruptionSource::None, "the profiler's clock does not go on as the kernel's does")
        }
        Ok(_) => (InterruptionSource::Rseq, "the kernel marks interruptions in each thread's rseq area"),
        Err(why) => (InterruptionSource::None, why),
    };
    InterruptionInfo { source, why }
}

/// What a thread knows of the time that it had no CPU.
#[derive(Clone, Copy, Debug)]
pub(super) struct WaitState {
    /// What the kernel had counted when it was asked last; `None` where it does not tell.
    seen: Option<SchedStat>,
    /// When that was, and how long it takes when nothing comes between, in ticks.
    read_at: u64,
    read_cost: u64,
    /// What taking the wait out of the open scopes took then.
    walk_cost: u64,
    /// It is asked again only after so many times what asking costs.
    apart: u64,
    /// Time between boundaries with an interruption since then, in ticks: no more was lost.
    suspect: u64,
}

/// The first two numbers of `/proc/thread-self/schedstat`, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct SchedStat {
    run_ns: u64,
    waited_ns: u64,
}

impl WaitState {
    pub(super) const NONE: WaitState =
        WaitState { seen: None, read_at: 0, read_cost: 0, walk_cost: 0, apart: READS_APART, suspect: 0 };

    fn cost(&self) -> u64 {
        self.read_cost + self.walk_cost
    }
}

impl Local {
    /// Whether the kernel took the CPU from this thread since it looked last.
    #[inline(always)]
    pub(super) fn is_interrupted(&self) -> bool {
        // SAFETY: this thread's `rseq_cs`, which lives as long as the thread, or `NEVER`.
        unsafe { &*self.interrupted.get() }.load(Relaxed) == 0
    }

    /// Begins to watch for interruptions, and forgets what this thread waited before.
    pub(super) fn watch_interruptions(&self) {
        let Some(section) = section() else { return self.unwatch_interruptions() };
        let Some(word) = area::of_this_thread() else { return };
        self.interrupted.set(ptr::from_ref(word));
        word.store(section, Relaxed);
        let before = clock::now();
        let seen = self.quietly(sched_stat);
        let after = clock::now();
        let known = self.waiting.get().read_cost;
        let read_cost = after.saturating_sub(before).clamp(1, if known == 0 { u64::MAX } else { known });
        self.waiting.set(WaitState { seen, read_at: after, read_cost, ..WaitState::NONE });
    }

    /// This thread ends: its `rseq` area is left as it was found.
    pub(super) fn unwatch_interruptions(&self) {
        if !ptr::eq(self.interrupted.get(), &raw const NEVER) {
            // SAFETY: as in `is_interrupted`.
            unsafe { &*self.interrupted.get() }.store(0, Relaxed);
            self.interrupted.set(&raw const NEVER);
        }
    }

    /// Accounts for interruptions up to now, before something is read or changed.
    pub(super) fn note_interruptions(&self) {
        if self.is_interrupted() {
            self.note_interruption();
        }
    }

    /// The thread was interrupted since its last scope boundary: finds out for how long it waited, and takes that and the
    /// cost of finding out from all scopes that are open.
    #[cold]
    #[inline(never)]
    pub(super) fn note_interruption(&self) {
        let Some(section) = section() else { return self.unwatch_interruptions() };
        // SAFETY: as in `is_interrupted`.
        unsafe { &*self.interrupted.get() }.store(section, Relaxed);
        let (now, mut state) = (clock::now(), self.waiting.get());
        let (Some(thread), Some(seen)) = (self.thread(), state.seen) else { return };
        if !self.is_in_effect(flags_now()) {
            // Some of it may lie in a pause, which counts nowhere anyway: the thread begins anew when it falls in step.
            return;
        }
        // No longer than since the clock was read last.
        state.suspect += now.saturating_sub(self.last_reading().max(state.read_at));
        if self.busy.get() || now.saturating_sub(state.read_at) < state.apart * state.cost() {
            return self.waiting.set(state);
        }
        // Known from now on: a signal handler that comes between must not ask too. What it opens is recorded, for asking
        // allocates nothing.
        self.waiting.set(WaitState { read_at: now, ..state });
        let Some(stat) = sched_stat() else {
            // It told before and does not now: the program has left the folder it is in.
            return self.waiting.set(WaitState::NONE);
        };
        let end = clock::now();
        let took = end.saturating_sub(now);
        let read_cost = state.read_cost.min(took).max(1);
        let waited = clock::ticks_of(stat.waited_ns.saturating_sub(seen.waited_ns)).min(state.suspect);
        let ran = clock::ticks_of(stat.run_ns.saturating_sub(seen.run_ns));
        let blocked = now.saturating_sub(state.read_at).saturating_sub(ran + waited).min(state.suspect - waited);
        // Finding out that took many times as long as it can was interrupted itself.
        let finding_out = took.min(UNDISTURBED * read_cost);
        thread.add_blocked(blocked);
        self.take_out(thread, &Lost { waited: waited + (took - finding_out), finding_out, end });
        // A thread that mostly sleeps ran for less of that time: it is asked more rarely.
        let apart = if ran < READS_APART * read_cost { (2 * state.apart).min(MOST_APART) } else { READS_APART };
        let walk_cost = clock::now().saturating_sub(end);
        self.waiting.set(WaitState { seen: Some(stat), read_at: end, read_cost, walk_cost, apart, suspect: 0 });
    }

    /// Takes time that belongs to no scope out of those that are open.
    fn take_out(&self, thread: &Thread, lost: &Lost) {
        if let Some(node) = self.current_node() {
            node.waited.add(lost.waited);
        }
        thread.take_out(lost.waited, lost.finding_out, lost.end);
        let ticks = lost.waited + lost.finding_out;
        self.paused.set(self.paused.get() + ticks);
        self.last_reading.set((self.last_reading.get() + ticks).min(lost.end));
        // A handler that interrupts this very line finds it locked, and its own wait is not on the timeline.
        if let Ok(mut waits) = thread.waits.try_lock() {
            waits.add(lost.end.saturating_sub(self.paused.get()), ticks);
        }
    }

    /// The last time that this thread is known to have read the clock.
    fn last_reading(&self) -> u64 {
        let opened = self.current_node().map_or(0, |node| node.open_since.get());
        self.last_reading.get().max(opened)
    }
}

/// When a thread waited, and how long: its events are recorded in the time that it did not, and are shown in the time that
/// all threads share.
#[derive(Debug, Default)]
pub(super) struct Waits {
    /// When each was, in the time of the events, and what all up to it took together.
    ends: VecDeque<(u64, u64)>,
    all: u64,
    /// What those that are not remembered took.
    forgotten: u64,
}

/// Waits that are remembered for a timeline; those before only count as one.
const MAX_WAITS: usize = 1 << 14;

impl Waits {
    /// Makes room for those of a timeline.
    pub(super) fn reserve(&mut self) {
        self.ends.reserve_exact(MAX_WAITS.saturating_sub(self.ends.len()));
    }

    /// Adds one. Never allocates, because a signal handler may come here: without room the oldest gives way.
    fn add(&mut self, at: u64, ticks: u64) {
        self.all += ticks;
        if self.ends.capacity() == 0 {
            self.forgotten = self.all;
            return;
        }
        if self.ends.len() == self.ends.capacity()
            && let Some((_, until)) = self.ends.pop_front()
        {
            self.forgotten = until;
        }
        self.ends.push_back((at, self.all));
    }

    /// Puts events into the time in which waiting counts.
    pub(super) fn put_back(&self, events: &mut [Event]) {
        for event in events {
            let end = event.start + event.ticks;
            let (before, by_end) = (self.until(|at| at <= event.start), self.until(|at| at < end));
            event.start += before;
            event.ticks += by_end.saturating_sub(before);
        }
    }

    /// What the waits that are `over` took together, and those that are forgotten.
    fn until(&self, over: impl Fn(u64) -> bool) -> u64 {
        match self.ends.partition_point(|(at, _)| over(*at)) {
            0 => self.forgotten,
            place => self.ends[place - 1].1,
        }
    }
}

/// What the kernel counted for the calling thread since it began.
#[cfg(all(target_os = "linux", not(miri)))]
fn sched_stat() -> Option<SchedStat> {
    use std::io::Read;
    let _errno = errno::keep();
    // "run wait slices"; a file of this kind is read whole or not at all.
    let mut text = [0; 96];
    let length = std::fs::File::open("/proc/thread-self/schedstat").ok()?.read(&mut text).ok()?;
    let mut numbers = std::str::from_utf8(&text[..length]).ok()?.split_ascii_whitespace();
    let mut next = || numbers.next()?.parse().ok();
    Some(SchedStat { run_ns: next()?, waited_ns: next()? })
}

/// The program's error number, which asking must not change.
#[cfg(all(target_os = "linux", not(miri)))]
mod errno {
    use std::ffi::c_int;

    unsafe extern "C" {
        safe fn __errno_location() -> *mut c_int;
    }

    /// Puts it back when it is dropped.
    pub(super) struct Kept(c_int);

    pub(super) fn keep() -> Kept {
        // SAFETY: this thread's, which is always there.
        Kept(unsafe { *__errno_location() })
    }

    impl Drop for Kept {
        fn drop(&mut self) {
            // SAFETY: as above.
            unsafe { *__errno_location() = self.0 };
        }
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn sched_stat() -> Option<SchedStat> {
    None
}

/// The `rseq` area of glibc's threads.
#[cfg(all(
    target_os = "linux",
    target_env = "gnu",
    target_pointer_width = "64",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(miri)
))]
mod area {
    use super::{AtomicU64, OnceLock};
    use std::ffi::{c_char, c_int, c_uint, c_void};

    unsafe extern "C" {
        fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    }

    /// What the kernel expects right before the address that it would jump to.
    const SIGNATURE: u32 = if cfg!(target_arch = "x86_64") { 0x5305_3053 } else { 0xd428_bc00 };
    /// Where `rseq_cs` lies in `struct rseq`.
    const FIELD: isize = 8;

    /// `struct rseq_cs`, and behind it the signature that its `abort_ip` needs.
    ///
    /// No code lies between `start_ip` and its end, so the kernel never aborts anything and only clears the field.
    #[repr(C, align(64))]
    struct Section {
        version: u32,
        flags: u32,
        start_ip: u64,
        post_commit_offset: u64,
        abort_ip: u64,
        signature: [u32; 2],
    }

    unsafe extern "C" {
        fn clock_gettime(clock: c_int, time: *mut [i64; 2]) -> c_int;
    }

    /// The kernel's time since it began, in nanoseconds.
    pub(super) fn real_ns() -> u64 {
        const CLOCK_BOOTTIME: c_int = 7;
        let mut time = [0; 2];
        // SAFETY: a `timespec` is two numbers of 64 bits here.
        unsafe { clock_gettime(CLOCK_BOOTTIME, &raw mut time) };
        time[0].unsigned_abs() * 1_000_000_000 + time[1].unsigned_abs()
    }

    /// The address of the section that nothing runs in, or why there is none.
    ///
    /// On the heap and never freed: the kernel reads it at every interruption, also after a library that has this code in
    /// it was unloaded.
    pub(super) fn section() -> Result<u64, &'static str> {
        offset().ok_or("the C library registers no rseq area (glibc before 2.35, or turned off)")?;
        super::sched_stat().ok_or("the kernel does not tell how long a thread waited for a CPU")?;
        let section = Box::leak(Box::new(Section {
            version: 0,
            flags: 0,
            start_ip: 0,
            post_commit_offset: 1,
            abort_ip: 0,
            signature: [0, SIGNATURE],
        }));
        section.start_ip = (&raw const *section).expose_provenance() as u64;
        section.abort_ip = section.start_ip + size_of::<[u64; 5]>() as u64;
        Ok(section.start_ip)
    }

    /// Where the area lies behind the thread pointer.
    fn offset() -> Option<isize> {
        static OFFSET: OnceLock<Option<isize>> = OnceLock::new();
        *OFFSET.get_or_init(|| {
            // SAFETY: the names end with a zero byte; a null handle asks for the program's own symbols.
            let find = |name: &std::ffi::CStr| unsafe { dlsym(std::ptr::null_mut(), name.as_ptr()) };
            let (offset, size) = (find(c"__rseq_offset").cast::<isize>(), find(c"__rseq_size").cast::<c_uint>());
            if offset.is_null() || size.is_null() {
                return None;
            }
            // SAFETY: glibc declares both with these types, and sets them before any code of ours runs.
            let (offset, size) = unsafe { (offset.read(), size.read()) };
            (size > 0).then_some(offset)
        })
    }

    /// This thread's `rseq_cs`.
    pub(super) fn of_this_thread() -> Option<&'static AtomicU64> {
        let thread_pointer: *mut u8;
        // SAFETY: reads the thread pointer, nothing else.
        unsafe {
            #[cfg(target_arch = "x86_64")]
            core::arch::asm!("mov {}, fs:0", out(reg) thread_pointer, options(nostack, preserves_flags, readonly));
            #[cfg(target_arch = "aarch64")]
            core::arch::asm!("mrs {}, tpidr_el0", out(reg) thread_pointer, options(nostack, preserves_flags, nomem));
        }
        let word = thread_pointer.wrapping_offset(offset()? + FIELD).cast::<AtomicU64>();
        // SAFETY: glibc keeps the area there for as long as the thread runs, and only code of this thread and the kernel touch
        // it. Other users of `rseq` on this thread may overwrite the word, and so hide an interruption.
        Some(unsafe { &*word })
    }
}

#[cfg(not(all(
    target_os = "linux",
    target_env = "gnu",
    target_pointer_width = "64",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(miri)
)))]
mod area {
    use super::AtomicU64;

    pub(super) fn section() -> Result<u64, &'static str> {
        Err("this system has no rseq areas")
    }

    pub(super) fn of_this_thread() -> Option<&'static AtomicU64> {
        None
    }

    pub(super) fn real_ns() -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_put_back_into_the_time_that_all_threads_share() {
        let mut waits = Waits::default();
        waits.add(50, 0);
        waits.reserve();
        waits.add(100, 1_000);
        waits.add(150, 10);
        let event = |start, ticks| Event { path: 0, start, ticks };
        let mut events = [event(50, 40), event(60, 60), event(110, 20), event(10, 300)];
        waits.put_back(&mut events);
        let times = events.map(|event| (event.start, event.ticks));
        assert_eq!(times, [(50, 40), (60, 1_060), (1_110, 20), (10, 1_310)]);
    }
}
