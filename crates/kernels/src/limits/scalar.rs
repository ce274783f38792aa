//! The loops in plain Rust, for the instructions that every CPU of the architecture has.

use std::hint::black_box;

use super::{BLOCK, Chain, FOUR_STREAMS, ONE_STREAM, Streams, Walk};
use crate::Isa;

const ACCUMULATORS: usize = 32;

pub(super) fn f32_chain() -> Chain {
    let ops_per_round = 2 * ACCUMULATORS as u64;
    Chain { isa: Isa::Scalar, how: "plain Rust", ops_per_round, code: f32_code }
}

pub(super) fn int8_chain() -> Chain {
    let ops_per_round = 2 * ACCUMULATORS as u64;
    Chain { isa: Isa::Scalar, how: "plain Rust", ops_per_round, code: int8_code }
}

pub(super) fn walks() -> Vec<Walk> {
    vec![
        Walk { isa: Isa::Scalar, how: ONE_STREAM, streams: 1, code: walk::<1> },
        Walk { isa: Isa::Scalar, how: FOUR_STREAMS, streams: 4, code: walk::<4> },
    ]
}

/// Two roundings: a fused multiply-add that the CPU may lack would be a call of a library.
fn f32_code(rounds: u64) -> f64 {
    let (factor, term) = black_box((1.0_f32, 1.0_f32));
    let mut sums = black_box([0.0_f32; ACCUMULATORS]);
    for _ in 0..rounds {
        for sum in &mut sums {
            *sum = *sum * factor + term;
        }
    }
    sums.iter().map(|sum| f64::from(*sum)).sum()
}

fn int8_code(rounds: u64) -> f64 {
    let mut sums = black_box([0_i32; ACCUMULATORS]);
    let (a, b) = (black_box([1_u8; ACCUMULATORS]), black_box([1_i8; ACCUMULATORS]));
    for _ in 0..rounds {
        for ((sum, a), b) in sums.iter_mut().zip(black_box(&a)).zip(black_box(&b)) {
            *sum = sum.wrapping_add(i32::from(*a) * i32::from(*b));
        }
    }
    sums.iter().map(|sum| f64::from(*sum)).sum()
}

/// # Safety
/// The streams can be read.
unsafe fn walk<const STREAMS: usize>(streams: Streams) -> u64 {
    const WORDS: usize = BLOCK / 8;
    let mut sums = [0_u64; 8];
    for _ in 0..streams.repeats {
        let mut at = 0;
        while at < streams.bytes {
            for word in 0..WORDS {
                let (stream, offset) = (word % STREAMS, word / STREAMS * 8);
                // SAFETY: as the caller promises; streams are a whole number of blocks.
                let value = unsafe { streams.from.add(stream * streams.stride + at + offset).cast::<u64>().read() };
                sums[word % 8] ^= value;
            }
            at += BLOCK / STREAMS;
        }
        black_box(&mut sums);
    }
    sums.iter().fold(0, |all, sum| all ^ sum)
}
