//! What this machine can do, measured: arithmetic in registers and reading from each level of memory.
//!
//! A limit is the best of many short windows, because it is what the machine *can* do; the median beside it shows how
//! much of that the machine gave while it was measured. Every way to do the work (instruction set, number of streams)
//! takes its turns, and the best one is the limit.

mod buffer;
pub mod counters;
mod crew;
mod pin;
mod scalar;

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

use std::hint::black_box;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::dispatch::Level;
use crate::{Isa, Kernels};
use buffer::Buffer;
pub use buffer::Pages;
use crew::Turns;

/// The time over which a rate is taken. On a busy machine threads get slices of a few milliseconds,
/// and a window shows the limit only where slices of all threads overlap: with 2 ms, two threads
/// among eight others were seldom seen together.
const WINDOW: Duration = Duration::from_micros(500);
/// The same where the answer comes from DRAM, which refreshes and serves others in between.
const DRAM_WINDOW: Duration = Duration::from_millis(2);
/// Before the first window of a turn: longer than any chunk of the one before.
const GUARD: Duration = Duration::from_micros(500);
/// The same for DRAM. In 4 ms a thread reads more than its cache holds: nothing is left of what the
/// way before had read.
const DRAM_GUARD: Duration = Duration::from_millis(4);

/// Rounds of a chain between two readings of the clock: 10 to 50 µs.
const ROUNDS: u64 = 8_000;
/// Bytes read between two readings of the clock, where the buffer is smaller than that: 10 to 100 µs.
const CHUNK_BYTES: usize = 2 << 20;
/// The same for one stream of a larger buffer; at a few GB/s still far below a window.
const PIECE_BYTES: usize = 64 << 10;
/// Buffers from here on are read piece by piece.
const LARGE_BYTES: usize = 1 << 20;

/// How many threads work at a time, and for how long.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Threads that do the same work at the same time, each on its own data.
    pub threads: usize,
    /// How long they do it, all ways together.
    pub duration: Duration,
    /// How long they may take before, to get the memory that they read.
    pub preparation: Duration,
}

/// What is read.
#[derive(Debug, Clone, Copy)]
pub struct Reading {
    /// Of each thread.
    pub bytes: usize,
    /// The pages that the memory is asked to have.
    pub pages: Pages,
    /// Whether it is meant to come from DRAM, where windows are longer.
    pub from_dram: bool,
}

/// The rates of one way to do the work, the best one that was tried.
#[derive(Debug, Clone)]
pub struct Measured {
    /// The instruction set.
    pub isa: Isa,
    /// The instructions, or how the memory was walked through.
    pub how: &'static str,
    /// How many threads there really were.
    pub threads: usize,
    /// Bytes that each thread read; fewer than asked for, where they could not be had in time. 0: nothing was read.
    pub bytes: usize,
    /// The part of the memory that had huge pages, from 0 to 1, where the system tells.
    pub huge_share: Option<f64>,
    /// All windows, slowest first, per second; never empty.
    windows: Vec<f64>,
}

impl Measured {
    /// The fastest window.
    pub fn best(&self) -> f64 {
        self.quantile(1.0)
    }

    /// Half of the windows were slower.
    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// From the slowest tenth of the windows to the fastest, as a part of the best one.
    pub fn spread(&self) -> f64 {
        (self.quantile(0.9) - self.quantile(0.1)) / self.best()
    }

    /// How many windows there were.
    pub fn windows(&self) -> usize {
        self.windows.len()
    }

    fn quantile(&self, part: f64) -> f64 {
        self.windows[((self.windows.len() - 1) as f64 * part).round() as usize]
    }
}

/// Additions and multiplications of f32 per second, by fused multiply-add where there is one, in registers alone.
///
/// `None` where no thread could be started.
pub fn f32_flops(kernels: &[Kernels], plan: Plan) -> Option<Measured> {
    chains(plan, &kernels.iter().flat_map(|kernels| f32_chains(kernels.level)).collect::<Vec<_>>())
}

/// Additions and multiplications of the dot product of u8 and i8 into i32, per second, in registers alone.
///
/// `None` where no thread could be started.
pub fn int8_ops(kernels: &[Kernels], plan: Plan) -> Option<Measured> {
    chains(plan, &kernels.iter().flat_map(|kernels| int8_chains(kernels.level)).collect::<Vec<_>>())
}

/// Bytes read per second, over and over the same buffer of each thread, in one stream and in four.
///
/// `None` where no thread could be started or its memory not be had.
pub fn read_bytes(kernels: &[Kernels], plan: Plan, reading: Reading) -> Option<Measured> {
    let walks: Vec<Walk> = kernels.iter().flat_map(|kernels| walks(kernels.level)).collect();
    let (window, guard) = if reading.from_dram { (DRAM_WINDOW, DRAM_GUARD) } else { (WINDOW, GUARD) };
    let turns = Turns::new(plan.duration, window, guard, walks.len());
    let huge_before = buffer::huge_bytes();
    let huge_after = OnceLock::new();
    let (until, smallest) = (Instant::now() + plan.preparation, AtomicUsize::new(usize::MAX));
    let prepare = || {
        let buffer = Buffer::new(reading.bytes, reading.pages, until)?;
        smallest.fetch_min(buffer.bytes(), Ordering::Relaxed);
        Some(reader(&walks, buffer))
    };
    let rates = crew::run(plan.threads, turns, prepare, || _ = huge_after.set(buffer::huge_bytes()))?;
    let mut measured = best(rates, |way| (walks[way].isa, walks[way].how))?;
    measured.bytes = smallest.into_inner();
    let touched = (measured.threads * Buffer::touched(measured.bytes, reading.pages)?) as f64;
    let gained = |after: u64| after.saturating_sub(huge_before.unwrap_or(0)) as f64;
    measured.huge_share = huge_after.into_inner().flatten().map(|after| (gained(after) / touched).min(1.0));
    Some(measured)
}

/// Memory in parts that are read through once per call, as fast as can be. [`read_bytes`] gives
/// what the machine can do; this is for work that reads as much once, beside which it takes its
/// turns: DRAM serves others too, and gives now more, now less.
pub struct ReadThrough {
    parts: Vec<Buffer>,
    walks: Vec<Walk>,
}

impl ReadThrough {
    /// So many parts of so many bytes each, rounded up a little, in huge pages where the system has
    /// them, all on the caller's node. `None` where they cannot be had in time.
    pub fn new(kernels: Kernels, parts: usize, bytes: usize, preparation: Duration) -> Option<Self> {
        let until = Instant::now() + preparation;
        let parts = (0..parts).map(|_| Buffer::new(bytes, Pages::Huge, until).filter(|part| part.bytes() >= bytes));
        Some(Self { parts: parts.collect::<Option<_>>()?, walks: walks(kernels.level) })
    }

    /// In how many ways a part can be read.
    pub fn ways(&self) -> usize {
        self.walks.len()
    }

    /// Reads a part; gives the exclusive or of its 64-bit words. Several threads may do so at the same time.
    #[track_caller]
    pub fn read(&self, part: usize, way: usize) -> u64 {
        let (part, walk) = (&self.parts[part], &self.walks[way]);
        walk.run(part, 0, part.bytes() / walk.streams, 1)
    }
}

/// Reads the next chunk of the buffer by the way of that number, and says how many bytes that were.
fn reader(walks: &[Walk], buffer: Buffer) -> impl FnMut(usize) -> u64 {
    let mut at = 0;
    move |way| {
        let walk = &walks[way];
        let stride = buffer.bytes() / walk.streams;
        let (from, bytes, repeats) = if buffer.bytes() < LARGE_BYTES {
            (0, stride, (CHUNK_BYTES / buffer.bytes()).max(1))
        } else {
            // Four streams move on by a quarter of what one stream reads, so that all ways walk through everything.
            let bytes = PIECE_BYTES * 4 / walk.streams;
            at = if at + bytes > stride { 0 } else { at };
            (at, bytes, 1)
        };
        black_box(walk.run(&buffer, from, bytes, repeats));
        at = from + bytes;
        (bytes * walk.streams * repeats) as u64
    }
}

fn chains(plan: Plan, chains: &[Chain]) -> Option<Measured> {
    let turns = Turns::new(plan.duration, WINDOW, GUARD, chains.len());
    let work = |way: usize| {
        black_box(chains[way].run(ROUNDS));
        ROUNDS * chains[way].ops_per_round
    };
    let rates = crew::run(plan.threads, turns, || Some(work), || ())?;
    best(rates, |way| (chains[way].isa, chains[way].how))
}

/// The way with the fastest window.
fn best(rates: crew::Rates, name: impl Fn(usize) -> (Isa, &'static str)) -> Option<Measured> {
    let threads = rates.threads;
    let measured = rates.by_way.into_iter().enumerate().filter_map(|(way, mut windows)| {
        windows.sort_unstable_by(f64::total_cmp);
        let (isa, how) = name(way);
        (!windows.is_empty()).then_some(Measured { isa, how, threads, bytes: 0, huge_share: None, windows })
    });
    measured.max_by(|a, b| a.best().total_cmp(&b.best())).filter(|measured| measured.best() > 0.0)
}

/// Arithmetic in registers: independent accumulators, enough of them to hide the latency of one.
///
/// Its code returns the sum of all lanes. Each step adds one to a lane, so that the sum tells how many there were.
struct Chain {
    isa: Isa,
    how: &'static str,
    /// Multiplications and additions of one round.
    ops_per_round: u64,
    /// To be called only where the CPU has its instructions.
    code: unsafe fn(u64) -> f64,
}

impl Chain {
    fn run(&self, rounds: u64) -> f64 {
        // SAFETY: a chain is built only from the token of its instruction set.
        unsafe { (self.code)(rounds) }
    }
}

/// Reading memory in some number of streams; its code returns the exclusive or of all 64-bit words.
struct Walk {
    isa: Isa,
    how: &'static str,
    streams: usize,
    /// To be called only where the CPU has its instructions.
    code: unsafe fn(Streams) -> u64,
}

/// What a walk reads: `bytes` at `from`, at `from + stride`, … and all of it `repeats` times.
#[derive(Clone, Copy)]
struct Streams {
    from: *const u8,
    stride: usize,
    bytes: usize,
    repeats: usize,
}

/// Streams are read in blocks of so many bytes, all streams together.
const BLOCK: usize = 512;
/// The alignment that walks need of each stream.
const ALIGNMENT: usize = 64;

impl Walk {
    fn run(&self, buffer: &Buffer, from: usize, bytes: usize, repeats: usize) -> u64 {
        let stride = buffer.bytes() / self.streams;
        assert!(from + bytes <= stride && bytes.is_multiple_of(BLOCK) && (from | stride).is_multiple_of(ALIGNMENT));
        // SAFETY: a walk is built only from the token of its instruction set; its streams lie inside of the buffer and
        // are aligned, as was just checked.
        unsafe {
            let from = buffer.start().add(from);
            (self.code)(Streams { from, stride, bytes, repeats })
        }
    }
}

fn f32_chains(level: Level) -> Vec<Chain> {
    match level {
        Level::Scalar => vec![scalar::f32_chain()],
        #[cfg(target_arch = "x86_64")]
        Level::Avx2(token) => vec![x86_64::avx2::f32_chain(token)],
        #[cfg(target_arch = "x86_64")]
        Level::Avx512(token) => vec![x86_64::avx512::f32_chain(token)],
        #[cfg(target_arch = "aarch64")]
        Level::Neon(token) => vec![aarch64::f32_chain(token)],
    }
}

fn int8_chains(level: Level) -> Vec<Chain> {
    match level {
        Level::Scalar => vec![scalar::int8_chain()],
        #[cfg(target_arch = "x86_64")]
        Level::Avx2(token) => x86_64::avx2::int8_chains(token),
        #[cfg(target_arch = "x86_64")]
        Level::Avx512(token) => vec![x86_64::avx512::int8_chain(token)],
        #[cfg(target_arch = "aarch64")]
        Level::Neon(token) => vec![aarch64::int8_chain(token)],
    }
}

fn walks(level: Level) -> Vec<Walk> {
    match level {
        Level::Scalar => scalar::walks(),
        #[cfg(target_arch = "x86_64")]
        Level::Avx2(token) => x86_64::avx2::walks(token),
        #[cfg(target_arch = "x86_64")]
        Level::Avx512(token) => x86_64::avx512::walks(token),
        #[cfg(target_arch = "aarch64")]
        Level::Neon(token) => aarch64::walks(token),
    }
}

/// The names of walks, so that all instruction sets use the same words.
const ONE_STREAM: &str = "one stream";
const FOUR_STREAMS: &str = "four streams";

#[cfg(test)]
mod tests;
