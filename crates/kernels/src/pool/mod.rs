//! Threads for parallel regions so small that starting one must cost less than a microsecond.
//!
//! A token of a small model is hundreds of regions of a few microseconds each. The workers spin between them, and park
//! when nothing comes; the caller works too, and never waits for a worker that has not begun. `region` tells how parts
//! are handed out and why that is sound, `patience` how long anybody waits awake.

#[cfg(any(target_os = "linux", test))]
mod cgroup;
mod cpus;
mod patience;
mod region;

use std::ops::Range;
use std::panic::{RefUnwindSafe, UnwindSafe, resume_unwind};
use std::slice::from_raw_parts_mut;
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicIsize, AtomicUsize};
use std::thread::{Builder, JoinHandle};

pub use cpus::{memory_left_in_groups, usable_cpus};
use patience::Patience;
use region::{Line, Region, Task};

/// Single-threaded work in nanoseconds that every part must have. On two threads the way to a worker and back takes
/// 0.15–0.65 µs, as the cores lie, and work of 1 µs divided in two took 0.56–1.0 (two cores of Zen 4, every cache warm;
/// `benches/pool.rs`). Real parts begin by fetching what the caller wrote from its cache, and a worker whose core was
/// taken away holds up everybody: small gains are not worth that risk.
const WORK_PER_PART: f64 = 1000.0;

/// A team of threads that runs the parts of a region together.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// let pool = kernels::Pool::new(2);
/// let sum = AtomicUsize::new(0);
/// pool.run(10, |part| {
///     sum.fetch_add(part, Ordering::Relaxed);
/// });
/// assert_eq!(sum.into_inner(), 45);
/// ```
pub struct Pool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    caller: Patience,
}

/// What the workers own a share of.
struct Shared {
    region: Region,
    /// How many workers are parked, or about to be. Read at every region, written only around a silence. It may be
    /// wrong for a moment, below zero too; a worker overlooked then is roused by the next region.
    asleep: Line<AtomicIsize>,
    /// Per worker: it is parked, or about to be, and nobody has roused it.
    parked: Box<[Line<AtomicBool>]>,
    /// Per worker: where the system finds it, and what it is kept off.
    seats: Box<[Seat]>,
    crowded: bool,
    patience: Patience,
}

/// A worker is woken off the caller's CPU. In a virtual machine a halted CPU may look like one that
/// is not available, and the scheduler puts the worker behind the caller, where it waits until the
/// caller is done: for milliseconds two threads had the speed of one.
#[derive(Default)]
struct Seat {
    /// The worker's number in the system; 0 before it has one.
    thread: AtomicI32,
    /// One more than the CPU that it was kept off; 0 where nothing is to be undone.
    kept_off: AtomicUsize,
}

impl Seat {
    /// By whoever wakes the worker.
    fn keep_off(&self, cpu: usize) {
        let thread = self.thread.load(Relaxed);
        if thread != 0 && cpus::forbid(thread, cpu) {
            self.kept_off.store(cpu + 1, Relaxed);
        }
    }

    /// By the worker itself.
    fn let_back(&self) {
        if self.kept_off.load(Relaxed) != 0 {
            cpus::allow(self.kept_off.swap(0, Relaxed) - 1);
        }
    }
}

// A panic in a part leaves nothing half done: the region is over before it is resumed.
impl UnwindSafe for Pool {}
impl RefUnwindSafe for Pool {}

impl Pool {
    /// A pool of `threads` threads, the caller's among them; 0 is taken as 1. The others are named
    /// `hotloop-1`, `hotloop-2` and so on.
    ///
    /// More threads than [`usable_cpus`] are allowed and useful for tests alone: nobody spins then, everybody parks at
    /// once, and a region costs as much as waking. Where the system refuses a thread, the pool has fewer: see
    /// [`Pool::threads`].
    pub fn new(threads: usize) -> Self {
        let threads = threads.max(1);
        let crowded = threads > usable_cpus();
        let shared = Arc::new(Shared {
            region: Region::new(),
            asleep: Line(AtomicIsize::new(0)),
            parked: (1..threads).map(|_| Line(AtomicBool::new(false))).collect(),
            seats: (1..threads).map(|_| Seat::default()).collect(),
            crowded,
            patience: if crowded { Patience::CROWDED } else { Patience::WORKER },
        });
        let spawn = |number: usize| {
            let shared = Arc::clone(&shared);
            Builder::new().name(format!("hotloop-{number}")).spawn(move || shared.work(number - 1)).ok()
        };
        let workers = (1..threads).map_while(spawn).collect();
        Self { workers, shared, caller: if crowded { Patience::CROWDED } else { Patience::CALLER } }
    }

    /// One thread per CPU that this process may use: see [`usable_cpus`].
    pub fn best() -> Self {
        Self::new(usable_cpus())
    }

    /// How many threads work on a region, the caller's among them.
    pub fn threads(&self) -> usize {
        self.workers.len() + 1
    }

    /// Runs `work` once for each of `0..parts`, on any of the threads, and returns when all are done. Allocates
    /// nothing.
    ///
    /// The first part is always the caller's. The others are claimed in order by whoever is free, so that with as many
    /// parts as threads and two threads, the same thread has the same part each time, unless one is late.
    ///
    /// From inside a part, or while another thread runs a region, all parts run on the calling thread.
    ///
    /// # Panics
    /// If a part panics: the others still run, then the first panic continues here. The pool stays usable. More than
    /// [`u32::MAX`] parts are refused.
    pub fn run(&self, parts: usize, work: impl Fn(usize) + Sync) {
        match parts {
            0 => {}
            1 => work(0),
            _ => self.run_together(parts, Task::new(&work)),
        }
    }

    /// Runs `work` once for each item, on any of the threads, and returns when all are done:
    /// [`Pool::run`] for parts that have something of their own to write to.
    ///
    /// ```
    /// let mut rows = [[1, 2], [3, 4]];
    /// kernels::Pool::new(2).run_each(&mut rows, |row| row.reverse());
    /// assert_eq!(rows, [[2, 1], [4, 3]]);
    /// ```
    pub fn run_each<T: Send>(&self, items: &mut [T], work: impl Fn(&mut T) + Sync) {
        let start = Items(items.as_mut_ptr());
        self.run(items.len(), |part| {
            // SAFETY: each part is run once, on one thread, and has an item of its own; they are
            // borrowed until all have run.
            work(unsafe { &mut *start.at(part) });
        });
    }

    /// Divides `data`, rows of `width` values, among up to `parts` calls of `work`, which are told
    /// which rows they have.
    #[track_caller]
    pub fn run_rows<T: Send>(
        &self,
        parts: usize,
        data: &mut [T],
        width: usize,
        work: impl Fn(Range<usize>, &mut [T]) + Sync,
    ) {
        let rows = data.len().checked_div(width).unwrap_or(0);
        assert!(rows * width == data.len(), "{} values are no whole rows of {width}", data.len());
        let parts = parts.min(rows);
        if parts <= 1 {
            return work(0..rows, data);
        }
        let start = Items(data.as_mut_ptr());
        self.run(parts, |part| {
            let rows = rows * part / parts..rows * (part + 1) / parts;
            let (first, len) = (start.at(rows.start * width), rows.len() * width);
            // SAFETY: parts have no row in common; the rows are borrowed until all have run.
            work(rows, unsafe { from_raw_parts_mut(first, len) });
        });
    }

    fn run_together(&self, parts: usize, task: Task<'_>) {
        let parts = u32::try_from(parts).expect("a region has at most u32::MAX parts");
        let result = if self.workers.is_empty() {
            Err(task)
        } else {
            self.shared.region.lead(parts, task, self.caller, |more| self.rouse(more))
        };
        if let Some(payload) = result.unwrap_or_else(|task| task.run_alone(parts)) {
            resume_unwind(payload);
        }
    }

    /// Rouses parked workers and returns at once.
    ///
    /// After a silence longer than about 200 µs the workers are parked. The first region then spends some 7 µs on
    /// waking them and goes on alone until they have woken, 25 to 70 µs later. Called that long ahead, this hides it;
    /// they stay awake for about 200 µs.
    pub fn wake(&self) {
        self.rouse(self.workers.len());
    }

    /// In how many parts to divide work that takes one thread `nanoseconds`: 1 where dividing it would not pay, at most
    /// [`Pool::threads`].
    pub fn parts(&self, nanoseconds: f64) -> usize {
        // The conversion saturates, and takes what is not a number as 0.
        ((nanoseconds / WORK_PER_PART) as usize).clamp(1, self.threads())
    }

    /// Sees to it that `helpers` workers are awake, as far as there are so many.
    #[inline]
    fn rouse(&self, helpers: usize) {
        let asleep = self.shared.asleep.0.load(SeqCst);
        if asleep > 0 {
            let awake = self.workers.len().saturating_sub(asleep.unsigned_abs());
            self.unpark(helpers.saturating_sub(awake));
        }
    }

    #[cold]
    fn unpark(&self, mut count: usize) {
        let here = if self.shared.crowded { None } else { cpus::current() };
        for (worker, seat) in self.workers.iter().zip(0..) {
            if count == 0 {
                break;
            }
            if self.shared.rise(seat) {
                if let Some(here) = here {
                    self.shared.seats[seat].keep_off(here);
                }
                worker.thread().unpark();
                count -= 1;
            }
        }
    }
}

/// Where items begin, of which every thread takes some.
struct Items<T>(*mut T);

// SAFETY: it gives away items one by one, which may go to other threads.
unsafe impl<T: Send> Sync for Items<T> {}

impl<T> Items<T> {
    fn at(&self, index: usize) -> *mut T {
        self.0.wrapping_add(index)
    }
}

impl Shared {
    /// What a worker does all its life.
    fn work(&self, seat: usize) {
        self.seats[seat].thread.store(cpus::thread_number(), Relaxed);
        while !self.region.ended() {
            if self.patience.wait(|| self.region.calls()) {
                self.region.help();
            } else {
                self.sleep(seat);
            }
        }
    }

    fn sleep(&self, seat: usize) {
        // Should the last waking have come too late to be undone.
        self.seats[seat].let_back();
        self.parked[seat].0.store(true, Relaxed);
        self.asleep.0.fetch_add(1, SeqCst);
        // Whoever opened a region before this addition could be seen is seen here.
        if self.region.calls() {
            self.rise(seat);
            return;
        }
        while self.parked[seat].0.load(Acquire) && !self.region.ended() {
            std::thread::park();
        }
        self.seats[seat].let_back();
        // Waking may have pushed the caller off its core, which then has more to do than we.
        std::thread::yield_now();
    }

    /// Marks a worker as awake; false if it was.
    fn rise(&self, seat: usize) -> bool {
        let parked = &self.parked[seat].0;
        let rises = parked.load(Relaxed) && parked.swap(false, AcqRel);
        if rises {
            self.asleep.0.fetch_sub(1, Relaxed);
        }
        rises
    }
}

impl Drop for Pool {
    /// Ends the workers and waits for them.
    fn drop(&mut self) {
        self.shared.region.end();
        for worker in self.workers.drain(..) {
            worker.thread().unpark();
            // A worker catches what its parts throw, so that there is nothing to hear from it.
            let _ = worker.join();
        }
    }
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Pool").field("threads", &self.threads()).finish_non_exhaustive()
    }
}
