//! The profiler's `(waiting for a CPU)` against the kernel's count for the same thread.

use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};

/// Work of one scope.
const SCOPE_NS: f64 = 1000.0;

/// Scopes between two readings of the clock that ends the loop.
const SCOPES_PER_CHECK: u32 = 100;

/// The columns of [`Comparison::row`].
pub const HEAD: &str = "repeat  waiting, profiler   waiting, kernel    ratio  scopes";

/// What one repeat found.
pub struct Comparison {
    profiler_ns: u64,
    kernel_ns: u64,
    scopes: u64,
}

impl Comparison {
    /// Opens scopes on a new thread for that time. The error says why waiting is not measured here.
    pub fn measure(work: Work, time: Duration) -> Result<Self, String> {
        // A new thread has no scopes from the repeat before.
        let worker = thread::spawn(move || Self::measure_here(work, time));
        worker.join().expect("the thread does not panic")
    }

    fn measure_here(work: Work, time: Duration) -> Result<Self, String> {
        hotloop::reset();
        // Started before the first reading: a start measures the profiler's own cost, outside any scope.
        hotloop::start();
        let before = kernel_waiting_ns();
        open_scopes(work, time);
        let after = kernel_waiting_ns();
        hotloop::stop();
        let snapshot = hotloop::snapshot();
        let kernel_ns = after.zip(before).map(|(after, before)| after - before);
        let kernel_ns = kernel_ns.ok_or("the kernel has no schedstat for threads")?;
        let profiler_ns = snapshot.waiting_ns.ok_or(snapshot.interruptions.why)?;
        let scopes = snapshot.scopes.iter().map(|scope| scope.calls).sum();
        Ok(Self { profiler_ns, kernel_ns, scopes })
    }

    /// Of the profiler's waiting time to the kernel's.
    pub fn ratio(&self) -> f64 {
        self.profiler_ns as f64 / self.kernel_ns as f64
    }

    /// A line of the table.
    pub fn row(&self, number: usize) -> String {
        let [profiler, kernel] = [self.profiler_ns, self.kernel_ns].map(|ns| format!("{:.1} ms", ns as f64 * 1e-6));
        format!("{number:<6}  {profiler:>17}  {kernel:>16}  {:>7.3}  {}", self.ratio(), self.scopes)
    }
}

fn open_scopes(work: Work, time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        for _ in 0..SCOPES_PER_CHECK {
            hotloop::scope!("about 1 us");
            work.run();
        }
    }
}

/// Time that this thread was ready to run but had no CPU: the second field of its schedstat.
fn kernel_waiting_ns() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().nth(1)?.parse().ok()
}

/// Dependent integer operations that take about [`SCOPE_NS`].
#[derive(Clone, Copy)]
pub struct Work {
    steps: u64,
}

impl Work {
    /// Found by the fastest of several tries, so that a preempted one does not count.
    pub fn calibrated() -> Self {
        const TRIES: usize = 200;
        const STEPS: u64 = 10_000;
        let timed = |_| {
            let start = Instant::now();
            Work { steps: STEPS }.run();
            start.elapsed().as_nanos() as f64
        };
        let best = (0..TRIES).map(timed).fold(f64::MAX, f64::min);
        Self { steps: (SCOPE_NS * STEPS as f64 / best).ceil() as u64 }
    }

    fn run(self) {
        let mut state = black_box(0x9e37_79b9_7f4a_7c15_u64);
        for _ in 0..self.steps {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
        }
        black_box(state);
    }
}
