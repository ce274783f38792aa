//! Vectors of 512 bits.

use core::arch::asm;
use core::arch::x86_64::*;
use std::hint::black_box;

use crate::Isa;
use crate::dispatch::Avx512;
use crate::limits::{BLOCK, Chain, FOUR_STREAMS, ONE_STREAM, Streams, Walk};

/// Two units with a latency of at most five cycles keep ten busy.
const ACCUMULATORS: usize = 12;

pub(in crate::limits) fn f32_chain(_: Avx512) -> Chain {
    Chain { isa: Isa::Avx512, how: "vfmadd zmm", ops_per_round: (2 * 16 * ACCUMULATORS) as u64, code: f32_code }
}

pub(in crate::limits) fn int8_chain(_: Avx512) -> Chain {
    Chain { isa: Isa::Avx512, how: "vpdpbusd zmm", ops_per_round: (2 * 64 * ACCUMULATORS) as u64, code: int8_code }
}

pub(in crate::limits) fn walks(_: Avx512) -> Vec<Walk> {
    vec![
        Walk { isa: Isa::Avx512, how: ONE_STREAM, streams: 1, code: walk::<1> },
        Walk { isa: Isa::Avx512, how: FOUR_STREAMS, streams: 4, code: walk::<4> },
    ]
}

#[target_feature(enable = "avx512f")]
fn f32_code(rounds: u64) -> f64 {
    let (factor, term) = black_box((_mm512_set1_ps(1.0), _mm512_set1_ps(1.0)));
    let mut sums = black_box([_mm512_setzero_ps(); ACCUMULATORS]);
    for _ in 0..rounds {
        for sum in &mut sums {
            *sum = _mm512_fmadd_ps(*sum, factor, term);
        }
    }
    let lanes = |sum: __m512| {
        let mut lanes = [0.0_f32; 16];
        // SAFETY: sixteen values fit.
        unsafe { _mm512_storeu_ps(lanes.as_mut_ptr(), sum) };
        lanes.into_iter().map(f64::from).sum::<f64>()
    };
    sums.into_iter().map(lanes).sum()
}

#[target_feature(enable = "avx512f,avx512vnni")]
fn int8_code(rounds: u64) -> f64 {
    let (mut a, b) = (_mm512_set1_epi8(1), _mm512_set1_epi8(1));
    let mut sums = black_box([_mm512_setzero_si512(); ACCUMULATORS]);
    for _ in 0..rounds {
        for sum in &mut sums {
            // SAFETY: there is no code; the compiler forgets what it knew of `a`, and computes with it again.
            unsafe { asm!("/* {0} */", inout(zmm_reg) a, options(nomem, nostack, preserves_flags)) };
            *sum = _mm512_dpbusd_epi32(*sum, a, b);
        }
    }
    let lanes = |sum: __m512i| {
        let mut lanes = [0_i32; 16];
        // SAFETY: sixteen values fit.
        unsafe { _mm512_storeu_si512(lanes.as_mut_ptr().cast(), sum) };
        lanes.into_iter().map(f64::from).sum::<f64>()
    };
    sums.into_iter().map(lanes).sum()
}

/// # Safety
/// The CPU has AVX-512; the streams can be read and are aligned.
#[target_feature(enable = "avx512f")]
unsafe fn walk<const STREAMS: usize>(streams: Streams) -> u64 {
    const VECTORS: usize = BLOCK / 64;
    let mut sums = [_mm512_setzero_si512(); 8];
    for _ in 0..streams.repeats {
        let mut at = 0;
        while at < streams.bytes {
            for vector in 0..VECTORS {
                let (stream, offset) = (vector / (VECTORS / STREAMS), vector % (VECTORS / STREAMS) * 64);
                // SAFETY: as the caller promises; streams are a whole number of blocks.
                let value =
                    unsafe { _mm512_load_si512(streams.from.add(stream * streams.stride + at + offset).cast()) };
                sums[vector % 8] = _mm512_xor_si512(sums[vector % 8], value);
            }
            at += BLOCK / STREAMS;
        }
        // SAFETY: there is no code; the compiler must assume that the memory has changed, and reads it again.
        unsafe { asm!("/* {0} */", in(reg) streams.from, options(nostack, preserves_flags)) };
    }
    let mut words = [0_u64; 64];
    for (sum, words) in sums.iter().zip(words.chunks_exact_mut(8)) {
        // SAFETY: a vector is eight words.
        unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), *sum) };
    }
    words.iter().fold(0, |all, word| all ^ word)
}
