//! The loops for NEON.

use core::arch::aarch64::*;
use core::arch::asm;
use std::hint::black_box;

use super::{BLOCK, Chain, FOUR_STREAMS, ONE_STREAM, Streams, Walk};
use crate::Isa;
use crate::dispatch::Neon;

/// Four units with a latency of four cycles keep sixteen busy; there are thirty-two registers.
const ACCUMULATORS: usize = 20;
/// The dot product by four instructions also needs registers in between.
const DOTS: usize = 16;

pub(super) fn f32_chain(_: Neon) -> Chain {
    Chain { isa: Isa::Neon, how: "fmla", ops_per_round: (2 * 4 * ACCUMULATORS) as u64, code: f32_code }
}

pub(super) fn int8_chain(_: Neon) -> Chain {
    Chain { isa: Isa::Neon, how: "smull+sadalp", ops_per_round: (2 * 8 * DOTS) as u64, code: int8_code }
}

pub(super) fn walks(_: Neon) -> Vec<Walk> {
    vec![
        Walk { isa: Isa::Neon, how: ONE_STREAM, streams: 1, code: walk::<1> },
        Walk { isa: Isa::Neon, how: FOUR_STREAMS, streams: 4, code: walk::<4> },
    ]
}

#[target_feature(enable = "neon")]
fn f32_code(rounds: u64) -> f64 {
    let (factor, term) = black_box((vdupq_n_f32(1.0), vdupq_n_f32(1.0)));
    // `fmla` adds a product to its accumulator, so the product is what is constant here.
    let mut sums = black_box([vdupq_n_f32(0.0); ACCUMULATORS]);
    for _ in 0..rounds {
        for sum in &mut sums {
            *sum = vfmaq_f32(*sum, factor, term);
        }
    }
    sums.into_iter().map(|sum| f64::from(vaddvq_f32(sum))).sum()
}

#[target_feature(enable = "neon")]
fn int8_code(rounds: u64) -> f64 {
    let (mut a, b) = (vdup_n_s8(1), vdup_n_s8(1));
    let mut sums = black_box([vdupq_n_s32(0); DOTS]);
    for _ in 0..rounds {
        for sum in &mut sums {
            // SAFETY: there is no code; the compiler forgets what it knew of `a`, and computes with it again.
            unsafe { asm!("/* {0:v} */", inout(vreg) a, options(nomem, nostack, preserves_flags)) };
            *sum = vpadalq_s16(*sum, vmull_s8(a, b));
        }
    }
    sums.into_iter().map(|sum| f64::from(vaddvq_s32(sum))).sum()
}

/// # Safety
/// The CPU has NEON; the streams can be read.
#[target_feature(enable = "neon")]
unsafe fn walk<const STREAMS: usize>(streams: Streams) -> u64 {
    const VECTORS: usize = BLOCK / 16;
    let mut sums = [vdupq_n_u64(0); 8];
    for _ in 0..streams.repeats {
        let mut at = 0;
        while at < streams.bytes {
            for vector in 0..VECTORS {
                let (stream, offset) = (vector / (VECTORS / STREAMS), vector % (VECTORS / STREAMS) * 16);
                // SAFETY: as the caller promises; streams are a whole number of blocks.
                let value = unsafe { vld1q_u64(streams.from.add(stream * streams.stride + at + offset).cast()) };
                sums[vector % 8] = veorq_u64(sums[vector % 8], value);
            }
            at += BLOCK / STREAMS;
        }
        // SAFETY: there is no code; the compiler must assume that the memory has changed, and reads it again.
        unsafe { asm!("/* {0} */", in(reg) streams.from, options(nostack, preserves_flags)) };
    }
    sums.into_iter().fold(0, |all, sum| all ^ vgetq_lane_u64::<0>(sum) ^ vgetq_lane_u64::<1>(sum))
}
