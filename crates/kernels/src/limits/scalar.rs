//! The loops in plain Rust, for the instructions that every CPU of the architecture has.

use std::hint::black_box;

use super::{BLOCK, Chain, FOUR_STREAMS, ONE_STREAM, Streams, Walk};
use crate::Isa;

/// Twelve vectors of four on x86-64: as many as its registers hold beside the operands.
const ACCUMULATORS: usize = 48;
/// Of the vectors of the dot product.
const LENGTH: usize = 256;

pub(super) fn f32_chain() -> Chain {
    let ops_per_round = 2 * ACCUMULATORS as u64;
    Chain { isa: Isa::Scalar, how: "plain Rust", ops_per_round, code: f32_code }
}

pub(super) fn int8_chain() -> Chain {
    let ops_per_round = 2 * LENGTH as u64;
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
    let [mut first, mut second, mut third] = black_box([[0.0_f32; ACCUMULATORS / 3]; 3]);
    for _ in 0..rounds {
        // Whole arrays at a time: the compiler keeps these in vectors, where it would leave a loop in memory.
        first = first.map(|sum| sum * factor + term);
        second = second.map(|sum| sum * factor + term);
        third = third.map(|sum| sum * factor + term);
    }
    first.iter().chain(&second).chain(&third).map(|sum| f64::from(*sum)).sum()
}

/// A dot product as one would write it, from the nearest cache.
fn int8_code(rounds: u64) -> f64 {
    let (a, b) = ([1_u8; LENGTH], [1_i8; LENGTH]);
    let products = |a: &[u8; LENGTH], b: &[i8; LENGTH]| -> i32 {
        a.iter().zip(b).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum()
    };
    let sum: i64 = (0..rounds).map(|_| i64::from(products(black_box(&a), black_box(&b)))).sum();
    sum as f64
}

/// # Safety
/// The streams can be read and are aligned.
unsafe fn walk<const STREAMS: usize>(streams: Streams) -> u64 {
    /// One cache line at a time: the compiler makes of it what vectors every CPU of the architecture has.
    type Line = [u64; 8];
    let mut sums: Line = [0; 8];
    for _ in 0..streams.repeats {
        let mut at = 0;
        while at < streams.bytes {
            for stream in 0..STREAMS {
                for line in 0..BLOCK / STREAMS / size_of::<Line>() {
                    let offset = stream * streams.stride + at + line * size_of::<Line>();
                    // SAFETY: as the caller promises; streams are a whole number of blocks.
                    let values = unsafe { streams.from.add(offset).cast::<Line>().read() };
                    sums.iter_mut().zip(values).for_each(|(sum, value)| *sum ^= value);
                }
            }
            at += BLOCK / STREAMS;
        }
        black_box(&streams);
    }
    sums.iter().fold(0, |all, sum| all ^ sum)
}
