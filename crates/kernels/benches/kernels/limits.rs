//! What the machine can do at most, measured beside the contenders.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kernels::limits::{self, Pages, Plan, ReadThrough, Reading};
use kernels::{AlignedBuffer, Isa, Kernels, Pool};

use crate::contest::{Contender, Function, Speed};

/// What bounds a row.
#[derive(Debug, Clone, Copy)]
pub enum Limit {
    /// Multiply-adds of f32, in operations.
    Floats,
    /// Multiply-adds of bytes, in operations.
    Bytes,
    /// Reading so many bytes over and over, divided among the threads, in bytes.
    Reading(usize),
    /// Reading so many f32 and writing as many, in elements: what a kernel that touches each once cannot go below.
    Copying(usize),
}

/// More than a last cache holds, nearly everywhere.
const FROM_DRAM: usize = 32 << 20;

/// For memory of half a gigabyte, even where others use the machine.
const PREPARATION: Duration = Duration::from_secs(20);

impl Limit {
    /// Whether it changes with what others do meanwhile, so that it has to take its turns with the contenders.
    fn takes_turns(self) -> bool {
        matches!(self, Limit::Reading(bytes) if bytes > FROM_DRAM)
    }

    /// Those who reach it, where it takes its turns.
    pub fn contenders(self, threads: usize) -> Vec<Box<dyn Contender>> {
        let Limit::Reading(bytes) = self else { return Vec::new() };
        let Some(best) = vectors().pop().filter(|_| self.takes_turns()) else { return Vec::new() };
        let Some(memory) = ReadThrough::new(best, threads, bytes / threads, PREPARATION) else { return Vec::new() };
        let (memory, pool) = (Arc::new(memory), Arc::new(Pool::new(threads)));
        let reader = |way: usize| {
            let (memory, pool) = (Arc::clone(&memory), Arc::clone(&pool));
            let read = move |_: &mut [f32]| pool.run(threads, |part| _ = black_box(memory.read(part, way)));
            Function::contender("reading", 0, threads, read)
        };
        (0..memory.ways()).map(reader).collect()
    }

    /// Work per nanosecond. `None` where it cannot be measured, or takes its turns.
    pub fn measure(self, threads: usize, duration: Duration) -> Option<Speed> {
        if self.takes_turns() {
            return None;
        }
        let plan = Plan { threads, duration, preparation: PREPARATION };
        let measured = match self {
            Limit::Floats => limits::f32_flops(&vectors(), plan),
            Limit::Bytes => limits::int8_ops(&vectors(), plan),
            Limit::Reading(bytes) => {
                let reading = Reading { bytes: bytes / threads, pages: Pages::Huge, from_dram: false };
                limits::read_bytes(&vectors(), plan, reading)
            }
            Limit::Copying(len) => return Some(copying(len, duration)),
        };
        measured.map(|measured| Speed { best: measured.best() / 1e9, median: measured.median() / 1e9 })
    }
}

/// All instruction sets but the one that nobody would choose.
fn vectors() -> Vec<Kernels> {
    let mut all = Kernels::available();
    if all.len() > 1 {
        all.retain(|kernels| kernels.isa() != Isa::Scalar);
    }
    all
}

/// Elements that are copied between two readings of the clock: some ten microseconds.
const CHUNK: usize = 1 << 17;

fn copying(len: usize, duration: Duration) -> Speed {
    let (from, mut to) = (AlignedBuffer::<f32>::zeroed(len), AlignedBuffer::<f32>::zeroed(len));
    let repeats = (CHUNK / len).max(1);
    let mut rates = Vec::new();
    let start = Instant::now();
    while rates.is_empty() || start.elapsed() < duration {
        let chunk = Instant::now();
        for _ in 0..repeats {
            add_one(black_box(&from), black_box(&mut to));
        }
        rates.push((len * repeats) as f64 / chunk.elapsed().as_nanos() as f64);
    }
    rates.sort_unstable_by(f64::total_cmp);
    Speed { best: rates[rates.len() - 1], median: rates[rates.len() / 2] }
}

/// A copy that the compiler does not replace by `memcpy`, which is slow where both begin at the same place of a page.
fn add_one(from: &[f32], to: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        #[target_feature(enable = "avx2")]
        fn with_avx2(from: &[f32], to: &mut [f32]) {
            add_one_anywhere(from, to);
        }
        // SAFETY: the CPU has it, as was just asked.
        return unsafe { with_avx2(from, to) };
    }
    add_one_anywhere(from, to);
}

#[inline(always)]
fn add_one_anywhere(from: &[f32], to: &mut [f32]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = from + 1.0;
    }
}
