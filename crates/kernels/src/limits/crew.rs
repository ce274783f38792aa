//! Threads that do the same work at the same time, and the rates of all of them together.
//!
//! Each thread works in chunks of some microseconds and writes down when each began and ended.
//! Rates come from windows of time, over all threads: a chunk counts in each window for the part of
//! its time that lies there. A thread that came late or was taken off its core has less in its
//! windows, never more; so no window shows more than the machine can do.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::pin;

/// Before the first turn, so that threads that were asleep are awake by then.
const START_UP: Duration = Duration::from_millis(1);

/// On a crowded machine all threads may sleep through a short measurement; seldom twice.
const TRIES: u32 = 4;

/// Enough that the guard before them costs little, few enough that every way has many turns.
const WINDOWS_PER_TURN: u64 = 8;

/// When which way of doing the work is taken: ways change from turn to turn, and a turn has some windows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turns {
    ways: usize,
    window_ns: u64,
    /// The beginning of a turn belongs to chunks of the one before, and to what they left in the caches.
    guard_ns: u64,
    windows_per_turn: u64,
    turns: u64,
}

impl Turns {
    /// At least one turn for each way.
    pub(super) fn new(duration: Duration, window: Duration, guard: Duration, ways: usize) -> Self {
        let (window_ns, guard_ns) = (window.as_nanos() as u64, guard.as_nanos() as u64);
        let windows_per_turn = WINDOWS_PER_TURN;
        let turn_ns = guard_ns + windows_per_turn * window_ns;
        let rounds = duration.as_nanos() as u64 / (turn_ns * ways.max(1) as u64);
        Turns { ways, window_ns, guard_ns, windows_per_turn, turns: rounds.max(1) * ways as u64 }
    }

    fn turn_ns(&self) -> u64 {
        self.guard_ns + self.windows_per_turn * self.window_ns
    }

    fn end_ns(&self) -> u64 {
        self.turns * self.turn_ns()
    }

    fn way_at(&self, ns: u64) -> usize {
        (ns / self.turn_ns()) as usize % self.ways
    }

    /// From when to when a window lasts, and which way is taken in it.
    fn window(&self, number: u64) -> (u64, u64, usize) {
        let turn = number / self.windows_per_turn;
        let start = turn * self.turn_ns() + self.guard_ns + number % self.windows_per_turn * self.window_ns;
        (start, start + self.window_ns, (turn % self.ways as u64) as usize)
    }

    fn windows(&self) -> u64 {
        self.turns * self.windows_per_turn
    }
}

/// Some work of one thread.
#[derive(Debug, Clone, Copy)]
struct Chunk {
    start_ns: u64,
    end_ns: u64,
    work: u64,
    way: usize,
}

/// What the windows showed.
pub(super) struct Rates {
    /// Work per second of each window, by way.
    pub(super) by_way: Vec<Vec<f64>>,
    /// How many threads worked.
    pub(super) threads: usize,
}

/// Runs the work that `prepare` makes, on so many threads at once. `prepared` is called when all are ready.
///
/// `None`: no thread could be started, or one could not prepare its work.
pub(super) fn run<W>(
    threads: usize,
    turns: Turns,
    prepare: impl Fn() -> Option<W> + Sync,
    prepared: impl Fn(),
) -> Option<Rates>
where
    W: FnMut(usize) -> u64,
{
    let mut rates = run_once(threads, turns, &prepare, &prepared)?;
    for _ in 1..TRIES {
        if rates.by_way.iter().flatten().any(|rate| *rate > 0.0) {
            break;
        }
        rates = run_once(threads, turns, &prepare, &prepared)?;
    }
    Some(rates)
}

fn run_once<W>(
    threads: usize,
    turns: Turns,
    prepare: &(impl Fn() -> Option<W> + Sync),
    prepared: &impl Fn(),
) -> Option<Rates>
where
    W: FnMut(usize) -> u64,
{
    let ready = AtomicUsize::new(0);
    let beginning: OnceLock<Instant> = OnceLock::new();
    // One per CPU, where there is one for each; fewer threads go where the system puts them.
    let cpus = Some(pin::allowed_cpus()).filter(|cpus| cpus.len() == threads && threads > 1).unwrap_or_default();
    let work = |number: usize| {
        if let Some(cpu) = cpus.get(number) {
            pin::pin_to(*cpu);
        }
        let made = prepare();
        ready.fetch_add(1, Ordering::Release);
        let start = *wait_for(|| beginning.get());
        made.map(|work| log(turns, start, work))
    };
    let logs: Vec<Option<Vec<Chunk>>> = thread::scope(|scope| {
        let work = &work;
        let start = |number| thread::Builder::new().spawn_scoped(scope, move || work(number)).ok();
        let started: Vec<_> = (0..threads).map_while(start).collect();
        wait_for(|| (ready.load(Ordering::Acquire) == started.len()).then_some(()));
        prepared();
        beginning.get_or_init(|| Instant::now() + START_UP);
        started.into_iter().map(|thread| thread.join().ok().flatten()).collect()
    });
    let logs: Vec<Vec<Chunk>> = logs.into_iter().collect::<Option<_>>()?;
    let by_way = rates(turns, &logs);
    (!logs.is_empty()).then_some(Rates { by_way, threads: logs.len() })
}

/// Not by a lock: a waiting thread must not disturb those that still prepare, and has to begin without delay.
fn wait_for<T>(mut ready: impl FnMut() -> Option<T>) -> T {
    loop {
        if let Some(value) = ready() {
            return value;
        }
        thread::sleep(Duration::from_micros(50));
    }
}

fn log(turns: Turns, start: Instant, mut work: impl FnMut(usize) -> u64) -> Vec<Chunk> {
    let mut chunks = Vec::with_capacity(1 << 14);
    while Instant::now() < start {
        std::hint::spin_loop();
    }
    let mut now = start.elapsed().as_nanos() as u64;
    while now < turns.end_ns() {
        let way = turns.way_at(now);
        let work = work(way);
        let end_ns = start.elapsed().as_nanos() as u64;
        chunks.push(Chunk { start_ns: now, end_ns, work, way });
        now = end_ns;
    }
    chunks
}

/// Work per second in each window.
fn rates(turns: Turns, logs: &[Vec<Chunk>]) -> Vec<Vec<f64>> {
    let mut work = vec![0.0; turns.windows() as usize];
    for chunk in logs.iter().flatten() {
        let per_ns = chunk.work as f64 / chunk.end_ns.saturating_sub(chunk.start_ns).max(1) as f64;
        let first = chunk.start_ns / turns.turn_ns() * turns.windows_per_turn;
        for number in first..turns.windows() {
            let (start, end, way) = turns.window(number);
            if start >= chunk.end_ns {
                break;
            }
            let overlap = end.min(chunk.end_ns).saturating_sub(start.max(chunk.start_ns));
            if way == chunk.way {
                work[number as usize] += overlap as f64 * per_ns;
            }
        }
    }
    let mut by_way = vec![Vec::new(); turns.ways];
    for (number, work) in (0..).zip(work) {
        by_way[turns.window(number).2].push(work / (turns.window_ns as f64 / 1e9));
    }
    by_way
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn chunk(start_ns: u64, end_ns: u64, work: u64, way: usize) -> Chunk {
        Chunk { start_ns, end_ns, work, way }
    }

    /// Two ways, windows of 2 ms with 1 ms before each eight: turns of 17 ms.
    fn two_ways() -> Turns {
        Turns::new(Duration::from_millis(34), Duration::from_millis(2), Duration::from_millis(1), 2)
    }

    #[test]
    fn turns_take_the_ways_in_order_and_fill_the_time() {
        let turns = two_ways();
        assert_eq!((turns.turn_ns(), turns.end_ns(), turns.windows()), (17 * MS, 34 * MS, 16));
        assert_eq!((turns.way_at(16 * MS), turns.way_at(17 * MS)), (0, 1));
        assert_eq!(turns.window(0), (MS, 3 * MS, 0));
        assert_eq!(turns.window(7), (15 * MS, 17 * MS, 0));
        assert_eq!(turns.window(8), (18 * MS, 20 * MS, 1));
        assert_eq!(Turns::new(Duration::ZERO, Duration::from_millis(1), Duration::ZERO, 3).turns, 3);
    }

    #[test]
    fn steady_work_of_two_threads_is_their_sum() {
        let steady: Vec<Chunk> =
            (0..340).map(|at| chunk(at * MS / 10, (at + 1) * MS / 10, 100, (at / 170) as usize)).collect();
        let rates = rates(two_ways(), &[steady.clone(), steady]);
        for rate in rates.iter().flatten() {
            assert!((rate / 2e6 - 1.0).abs() < 1e-9, "{rate}");
        }
        assert_eq!((rates[0].len(), rates[1].len()), (8, 8));
    }

    #[test]
    fn late_threads_and_long_chunks_never_show_more_than_there_was() {
        let late = vec![chunk(9 * MS, 10 * MS, 1000, 0)];
        let rates_of_late = rates(two_ways(), &[late]);
        assert_eq!(rates_of_late[0], [0.0, 0.0, 0.0, 0.0, 500_000.0, 0.0, 0.0, 0.0]);
        // Taken off its core for 12 of 16 ms: a quarter of the rate in every window, and nothing in the next turn.
        let interrupted = vec![chunk(MS, 17 * MS, 4000, 0), chunk(17 * MS, 18 * MS, 77, 0)];
        let rates = rates(two_ways(), &[interrupted]);
        assert_eq!(rates[0], [250_000.0; 8]);
        assert_eq!(rates[1], [0.0; 8]);
    }

    #[test]
    fn a_thread_that_cannot_prepare_spoils_the_whole() {
        let turns = Turns::new(Duration::from_millis(1), Duration::from_micros(100), Duration::ZERO, 1);
        assert!(run(2, turns, || None::<fn(usize) -> u64>, || ()).is_none());
        assert!(run(0, turns, || Some(|_| 1), || ()).is_none());
        let rates = run(2, turns, || Some(|_| 1), || ()).expect("threads start");
        assert_eq!((rates.threads, rates.by_way.len()), (2, 1));
    }
}
