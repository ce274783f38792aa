//! Rounds: every row has its turn in each of them, so that a noisy moment of the machine hits all rows alike.

use std::time::Instant;

use crate::clock::{Lap, process_cpu_ns, resident_bytes, resident_bytes_trimmed, thread_cpu_ns};
use crate::crew::{Batch, Crew};
use crate::options::{Effort, Options};
use crate::spread::{Spread, median};

/// Scopes before each timed batch: they build what a profiler builds once per thread and place, and warm the caches
/// where the thread has slept.
pub const WARM_UP: u32 = 2000;

/// Scopes over which the growth of memory is read; many, because memory comes in pages and in chunks.
const FLOOD: u32 = 100_000;

/// One thing to measure.
#[derive(Clone, Copy)]
pub struct Row {
    /// Its name in the table.
    pub name: &'static str,
    /// What it records.
    pub note: &'static str,
    /// Scopes of a timed batch.
    pub scopes: u32,
    /// Scopes before the timed ones.
    pub warm_up: u32,
    /// Switches it on, before the warm-up, on the thread that leads.
    pub setup: fn(),
    /// Runs that many scopes.
    pub batch: fn(u32),
    /// Lets it finish what it does with the recorded scopes, and switches it off. Its CPU time counts, its time not.
    pub drain: fn(),
    /// In which rounds it has its turn.
    pub when: When,
    /// Whether the memory it keeps per scope is of interest.
    pub flood: bool,
}

/// In which rounds a row has its turn.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// In all.
    Always,
    /// In the first half, before `midway` is called.
    FirstHalf,
    /// In the second half.
    SecondHalf,
}

impl Row {
    /// A row that needs neither setup nor drain.
    pub const fn new(name: &'static str, note: &'static str, batch: fn(u32)) -> Self {
        let nothing: fn() = || {};
        Self {
            name,
            note,
            scopes: 20_000,
            warm_up: WARM_UP,
            setup: nothing,
            batch,
            drain: nothing,
            when: When::Always,
            flood: false,
        }
    }
}

/// What a row costs.
#[derive(Debug, Clone, Copy)]
pub struct Costs {
    /// Nanoseconds per scope on the calling thread, with one thread at work.
    pub one: Spread,
    /// The same with two threads at work.
    pub two: Spread,
    /// CPU time of all threads per scope, with one and with two threads at work.
    pub total: [f64; 2],
    /// Resident bytes per scope that are kept while recording, where the row asks for it.
    pub kept_bytes: Option<f64>,
}

/// Measures all rows, in rounds; calls `midway` once, between the two halves. The costs are in the order of the rows.
pub fn measure(rows: &[Row], options: &Options, midway: fn()) -> Vec<Costs> {
    let crew = Crew::hire(2);
    let mut tallies: Vec<Tally> = rows.iter().map(|_| Tally::default()).collect();
    for half in [When::FirstHalf, When::SecondHalf] {
        if half == When::SecondHalf {
            midway();
        }
        run_half(&crew, rows, &mut tallies, half, options.effort);
        flood(&crew, rows, &mut tallies, half, options.effort);
    }
    tallies.into_iter().map(Tally::into_costs).collect()
}

fn run_half(crew: &Crew, rows: &[Row], tallies: &mut [Tally], half: When, effort: Effort) {
    let mut order: Vec<usize> =
        (0..rows.len()).filter(|&number| rows[number].when == When::Always || rows[number].when == half).collect();
    // Not counted: clocks are calibrated and memory is mapped when a profiler is used for the first time.
    for &number in &order {
        take_turn(crew, &rows[number], 2, Effort::Smoke);
    }
    let mut shuffle = Shuffle::new();
    let start = Instant::now();
    for _ in 0..effort.rounds().div_ceil(2) {
        // No row always follows the same neighbour: some leave cold caches behind.
        shuffle.shuffle(&mut order);
        for &number in &order {
            for threads in [1, 2] {
                tallies[number].add(threads, &take_turn(crew, &rows[number], threads, effort));
            }
        }
        if start.elapsed() > effort.limit() / 2 {
            return;
        }
    }
}

/// Orders that differ from round to round, and are the same in each run.
struct Shuffle {
    state: u32,
}

impl Shuffle {
    fn new() -> Self {
        Self { state: 0x9e37_79b9 }
    }

    fn shuffle(&mut self, order: &mut [usize]) {
        for end in (1..order.len()).rev() {
            order.swap(end, self.next() as usize % (end + 1));
        }
    }

    /// Xorshift; the low bits are good enough for this.
    fn next(&mut self) -> u32 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 17;
        self.state ^= self.state << 5;
        self.state
    }
}

/// One batch of a row on each of some threads.
struct Turn {
    /// Time per scope, of each thread.
    laps: Vec<Lap>,
    /// CPU time per scope of all that is not the batch itself nor this harness.
    elsewhere: f64,
}

fn take_turn(crew: &Crew, row: &Row, threads: usize, effort: Effort) -> Turn {
    let scopes = effort.scopes(row.scopes);
    (row.setup)();
    let elsewhere = Elsewhere::begin(crew);
    let laps = crew.run(threads, Batch { run: row.batch, warm_up: row.warm_up, scopes });
    let drain_begin = thread_cpu_ns();
    (row.drain)();
    let drain_ns = thread_cpu_ns() - drain_begin;
    let elsewhere_ns = elsewhere.end_ns(crew) + drain_ns;
    Turn {
        laps: laps.into_iter().map(|lap| lap.divided_by(f64::from(scopes))).collect(),
        // The warm-up has been recorded and drained, too.
        elsewhere: elsewhere_ns as f64 / (threads as f64 * f64::from(scopes + row.warm_up)),
    }
}

/// CPU time of the threads that a profiler started: of the process, without the crew and the thread that leads.
struct Elsewhere {
    ns_before: u64,
}

impl Elsewhere {
    fn begin(crew: &Crew) -> Self {
        Self { ns_before: Self::now_ns(crew) }
    }

    fn end_ns(self, crew: &Crew) -> u64 {
        Self::now_ns(crew).saturating_sub(self.ns_before)
    }

    fn now_ns(crew: &Crew) -> u64 {
        process_cpu_ns().saturating_sub(crew.cpu_ns() + thread_cpu_ns())
    }
}

/// Reads, for the rows of this half, how much memory grows while they record.
fn flood(crew: &Crew, rows: &[Row], tallies: &mut [Tally], half: When, effort: Effort) {
    for (row, tally) in rows.iter().zip(tallies) {
        let now = row.when == half || (row.when == When::Always && half == When::SecondHalf);
        if row.flood && now {
            tally.kept_bytes = Some(kept_bytes(crew, row, effort.scopes(FLOOD)));
        }
    }
}

fn kept_bytes(crew: &Crew, row: &Row, scopes: u32) -> f64 {
    let batch = |scopes| Batch { run: row.batch, warm_up: row.warm_up, scopes };
    (row.setup)();
    crew.run(1, batch(row.scopes));
    let before = resident_bytes_trimmed();
    crew.run(1, batch(scopes));
    let after = resident_bytes();
    (row.drain)();
    after.saturating_sub(before) as f64 / f64::from(scopes + row.warm_up)
}

/// What the turns of a row have given so far; index 0 is one thread, 1 is two.
#[derive(Default)]
struct Tally {
    laps: [Vec<Lap>; 2],
    elsewhere: [Vec<f64>; 2],
    kept_bytes: Option<f64>,
}

impl Tally {
    fn add(&mut self, threads: usize, turn: &Turn) {
        self.laps[threads - 1].extend(&turn.laps);
        self.elsewhere[threads - 1].push(turn.elsewhere);
    }

    fn into_costs(self) -> Costs {
        let had_a_turn = "every row had a turn";
        let [one, two] = self.laps.map(|laps| Spread::of(&laps).expect(had_a_turn));
        let [beside_one, beside_two] = self.elsewhere.map(|costs| median(costs).expect(had_a_turn));
        Costs { one, two, total: [one.median + beside_one, two.median + beside_two], kept_bytes: self.kept_bytes }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    static FIRST: AtomicU32 = AtomicU32::new(0);
    static SECOND: AtomicU32 = AtomicU32::new(0);
    static MIDWAY: AtomicU32 = AtomicU32::new(0);

    #[test]
    fn halves_are_apart_and_every_row_has_a_turn() {
        let first = Row::new("first", "", |n| {
            assert_eq!(MIDWAY.load(Ordering::Relaxed), 0);
            FIRST.fetch_add(n, Ordering::Relaxed);
        });
        let second = Row::new("second", "", |n| {
            assert_eq!(MIDWAY.load(Ordering::Relaxed), 1);
            SECOND.fetch_add(n, Ordering::Relaxed);
        });
        let rows = [Row { when: When::FirstHalf, ..first }, Row { when: When::SecondHalf, ..second }];
        let options = Options { effort: Effort::Smoke, filters: vec![] };
        let costs = measure(&rows, &options, || MIDWAY.store(1, Ordering::Relaxed));
        assert_eq!(costs.len(), 2);
        // Two threads once without counting, then one, then two.
        assert_eq!(FIRST.load(Ordering::Relaxed), 5 * (WARM_UP + 1000));
        assert_eq!(FIRST.load(Ordering::Relaxed), SECOND.load(Ordering::Relaxed));
    }

    #[test]
    fn shuffling_keeps_all_rows_and_moves_some() {
        let sorted: Vec<usize> = (0..20).collect();
        let mut order = sorted.clone();
        Shuffle::new().shuffle(&mut order);
        assert_ne!(order, sorted);
        order.sort_unstable();
        assert_eq!(order, sorted);
    }

    #[test]
    fn a_thread_beside_is_seen_in_the_total() {
        fn burn() {
            let start = Instant::now();
            while start.elapsed().as_millis() < 3 {}
        }
        let row = Row::new("helped", "", |_| {});
        let row = Row { drain: || drop(std::thread::spawn(burn).join()), ..row };
        let turn = take_turn(&Crew::hire(1), &row, 1, Effort::Smoke);
        assert!(turn.elsewhere > 100.0, "{} ns", turn.elsewhere);
    }
}
