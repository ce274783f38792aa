//! One row of a table: contenders that do the same work take turns, and each result is checked first.

use std::time::{Duration, Instant};

use crate::limits::Limit;
use crate::options::Options;

/// How long one call took.
#[derive(Debug, Clone, Copy)]
pub struct Lap {
    /// By the wall: never too little, too much where a thread lost its CPU meanwhile.
    pub wall_ns: f64,
    /// Without the time during which the thread was not running, where that is known.
    pub own_ns: f64,
}

impl Lap {
    /// Times `calls` calls on this thread and gives the share of one. The CPU clock of this thread
    /// counts only if it does the work alone.
    pub fn of(calls: u32, alone: bool, mut call: impl FnMut()) -> Self {
        let cpu = thread_cpu_ns();
        let wall = Instant::now();
        for _ in 0..calls {
            call();
        }
        let wall_ns = wall.elapsed().as_nanos() as f64;
        let own_ns = if alone { wall_ns.min((thread_cpu_ns() - cpu) as f64) } else { wall_ns };
        Self { wall_ns, own_ns }.divided_by(f64::from(calls))
    }

    /// The share of one of `count` equal parts.
    pub fn divided_by(self, count: f64) -> Self {
        Self { wall_ns: self.wall_ns / count, own_ns: self.own_ns / count }
    }
}

#[cfg(unix)]
fn thread_cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec for the kernel to write to.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    assert_eq!(failed, 0, "the CPU clock of a thread can be read");
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Elsewhere the wall clock stands in for it.
#[cfg(not(unix))]
fn thread_cpu_ns() -> u64 {
    use std::sync::LazyLock;
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed().as_nanos() as u64
}

/// Somebody who can do the work of a row.
pub trait Contender {
    /// The column.
    fn column(&self) -> &'static str;
    /// Does the work `calls` times or a little more often; gives the time of one call.
    fn turn(&mut self, calls: u32) -> Lap;
    /// Does the work once; gives what came out.
    fn result(&mut self) -> Vec<f32>;
}

/// Fills an output.
type Call<'a> = dyn FnMut(&mut [f32]) + 'a;
/// Says what is wrong with a result, if anything.
type Check<'a> = dyn Fn(&[f32]) -> Option<String> + 'a;

/// A contender that is a function of this process.
pub struct Function<'a> {
    column: &'static str,
    call: Box<Call<'a>>,
    output: Vec<f32>,
    /// What the output holds before a call whose result counts; of other calls it is what the one before has left.
    before: Option<Vec<f32>>,
    threads: usize,
}

impl<'a> Function<'a> {
    /// `call` fills an output of `len` elements.
    pub fn contender(
        column: &'static str,
        len: usize,
        threads: usize,
        call: impl FnMut(&mut [f32]) + 'a,
    ) -> Box<dyn Contender + 'a> {
        Box::new(Self { column, call: Box::new(call), output: vec![0.0; len], before: None, threads })
    }

    /// `call` works in the place of its input, on one thread.
    pub fn in_place(column: &'static str, input: &[f32], call: impl FnMut(&mut [f32]) + 'a) -> Box<dyn Contender + 'a> {
        let (call, before) = (Box::new(call), Some(input.to_vec()));
        Box::new(Self { column, call, output: input.to_vec(), before, threads: 1 })
    }
}

impl Contender for Function<'_> {
    fn column(&self) -> &'static str {
        self.column
    }

    fn turn(&mut self, calls: u32) -> Lap {
        Lap::of(calls, self.threads == 1, || (self.call)(&mut self.output))
    }

    fn result(&mut self) -> Vec<f32> {
        match &self.before {
            Some(input) => self.output.copy_from_slice(input),
            // What is not written shows.
            None => self.output.fill(f32::NAN),
        }
        (self.call)(&mut self.output);
        self.output.clone()
    }
}

/// A row before it is measured.
pub struct Contest<'a> {
    /// The row's name.
    pub row: String,
    /// Operations, bytes or elements of one call; divided by nanoseconds they give the figure.
    pub work: f64,
    /// How many threads the contenders use.
    pub threads: usize,
    /// Those who do it.
    pub contenders: Vec<Box<dyn Contender + 'a>>,
    /// What limits them.
    pub limit: Limit,
    /// What a result has to be like.
    pub check: Box<Check<'a>>,
}

/// A row after it was measured.
pub struct Row {
    /// Its name.
    pub name: String,
    /// What each column reached, in the row's unit per nanosecond.
    pub cells: Vec<Cell>,
    /// What the machine reached, where that could be measured.
    pub limit: Option<Speed>,
    /// How far the best of one half of the rounds is from the best of the other, for the contender in the middle.
    pub noise: f64,
}

/// What one contender reached.
pub struct Cell {
    /// The column.
    pub column: &'static str,
    /// The figures, or what was wrong with the result.
    pub speed: Result<Speed, String>,
}

/// Work per nanosecond, in the best batch and in the median one.
#[derive(Debug, Clone, Copy)]
pub struct Speed {
    /// By the wall clock; at least the median.
    pub best: f64,
    /// By the smaller of wall clock and CPU clock. On a busy machine no call of many milliseconds
    /// is undisturbed by the wall; then this is the better measure of both.
    pub median: f64,
}

/// A batch of calls that are shorter than this follows some that are not timed: they put the
/// operands back into the caches, which others used meanwhile. A longer call does that itself.
const WARMED_NS: f64 = 5e6;
/// So many calls, or as many as take so long. A last cache that takes what others let fall keeps
/// much of what it had when new operands come: after 64 MiB of other data it was eight calls until
/// those of 16 MiB had their full speed. With fewer, weights of one's own would be read from DRAM,
/// and those that most contenders share would not.
const WARMING: (u32, Duration) = (16, Duration::from_millis(4));

/// After a turn with several threads, those of some libraries go on spinning for a moment.
const SILENCE: Duration = Duration::from_millis(2);

impl Contest<'_> {
    /// Checks everyone, then lets them take turns.
    pub fn hold(mut self, options: &Options) -> Row {
        let mut sound = Vec::new();
        let mut cells = Vec::new();
        for mut contender in std::mem::take(&mut self.contenders) {
            match (self.check)(&contender.result()) {
                None => sound.push(contender),
                Some(wrong) => cells.push(Cell { column: contender.column(), speed: Err(wrong) }),
            }
        }
        let before = self.limit.measure(self.threads, options.limit());
        let contenders = sound.len();
        sound.extend(self.limit.contenders(self.threads));
        let mut turns: Vec<Turns> = sound.into_iter().map(|contender| Turns::new(contender, options)).collect();
        take_turns(&mut turns, self.threads == 1, options);
        let limits: Vec<Turns> = turns.drain(contenders..).collect();
        let after = self.limit.measure(self.threads, options.limit());
        let speed = |turns: &Turns| Cell { column: turns.contender.column(), speed: Ok(turns.speed(self.work)) };
        cells.extend(turns.iter().map(speed));
        let limits = limits.iter().map(|limit| limit.speed(self.work)).chain(before).chain(after);
        let limit = limits.max_by(|a, b| a.best.total_cmp(&b.best));
        Row { name: self.row, cells, limit, noise: noise(&turns) }
    }
}

/// Round by round, in an order that changes, so that a noisy moment hits all alike.
fn take_turns(turns: &mut [Turns], alone: bool, options: &Options) {
    let start = Instant::now();
    let budget = options.budget() * turns.len() as u32;
    let mut round = 0;
    while round < options.least_rounds() || start.elapsed() < budget {
        for place in 0..turns.len() {
            // To and fro, so that nobody always follows the same one.
            let place = if round % 2 == 0 { place } else { turns.len() - 1 - place };
            let whose = (place + round) % turns.len();
            turns[whose].take();
            if !alone {
                std::thread::sleep(SILENCE);
            }
        }
        round += 1;
    }
}

/// One contender and its laps so far.
struct Turns<'t> {
    contender: Box<dyn Contender + 't>,
    /// What makes a batch.
    calls: u32,
    /// How long one takes, roughly.
    call_ns: f64,
    laps: Vec<Lap>,
}

impl<'t> Turns<'t> {
    /// Finds out how many calls make a batch.
    fn new(mut contender: Box<dyn Contender + 't>, options: &Options) -> Self {
        let wanted = options.batch().as_nanos() as f64;
        let (mut calls, mut call_ns) = (1, 0.0);
        // The first calls are slow, and one call may be too short for the clock: approach it from below.
        for _ in 0..4 {
            call_ns = contender.turn(calls).wall_ns;
            let fitting = (wanted / call_ns).clamp(1.0, 1e6) as u32;
            calls = fitting.min(calls.saturating_mul(50));
        }
        Self { contender, calls, call_ns, laps: Vec::new() }
    }

    fn take(&mut self) {
        if self.call_ns < WARMED_NS {
            let start = Instant::now();
            for _ in 0..WARMING.0 {
                self.contender.turn(1);
                if start.elapsed() > WARMING.1 {
                    break;
                }
            }
        }
        self.laps.push(self.contender.turn(self.calls));
    }

    fn speed(&self, work: f64) -> Speed {
        let mut own: Vec<f64> = self.laps.iter().map(|lap| lap.own_ns).collect();
        own.sort_unstable_by(f64::total_cmp);
        let median = own[own.len() / 2];
        Speed { best: work / best(self.laps.iter()).min(median), median: work / median }
    }

    /// The distance between the bests of even and odd rounds.
    fn noise(&self) -> f64 {
        let (even, odd) = (best(self.laps.iter().step_by(2)), best(self.laps.iter().skip(1).step_by(2)));
        (even / odd - 1.0).abs()
    }
}

fn best<'l>(laps: impl Iterator<Item = &'l Lap>) -> f64 {
    laps.map(|lap| lap.wall_ns).fold(f64::INFINITY, f64::min)
}

fn noise(turns: &[Turns]) -> f64 {
    let mut all: Vec<f64> = turns.iter().map(Turns::noise).collect();
    all.sort_unstable_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(0.0)
}
