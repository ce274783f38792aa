//! Vectors of 256 bits.

use core::arch::asm;
use core::arch::x86_64::*;
use std::hint::black_box;

use crate::Isa;
use crate::dispatch::Avx2;
use crate::limits::{BLOCK, Chain, FOUR_STREAMS, ONE_STREAM, Streams, Walk};

/// Two units with a latency of at most five cycles keep ten busy; sixteen registers hold these and the operands.
const ACCUMULATORS: usize = 12;
/// The dot product by three instructions also needs registers in between.
const DOTS: usize = 10;

pub(in crate::limits) fn f32_chain(_: Avx2) -> Chain {
    Chain { isa: Isa::Avx2, how: "vfmadd ymm", ops_per_round: (2 * 8 * ACCUMULATORS) as u64, code: f32_code }
}

pub(in crate::limits) fn int8_chains(_: Avx2) -> Vec<Chain> {
    let ops_per_round = (2 * 32 * DOTS) as u64;
    let mut chains = vec![Chain { isa: Isa::Avx2, how: "vpmaddubsw+vpmaddwd", ops_per_round, code: int8_code }];
    if is_x86_feature_detected!("avxvnni") {
        chains.push(Chain { isa: Isa::Avx2, how: "vpdpbusd ymm", ops_per_round, code: vnni_code });
    }
    chains
}

pub(in crate::limits) fn walks(_: Avx2) -> Vec<Walk> {
    vec![
        Walk { isa: Isa::Avx2, how: ONE_STREAM, streams: 1, code: walk::<1> },
        Walk { isa: Isa::Avx2, how: FOUR_STREAMS, streams: 4, code: walk::<4> },
    ]
}

#[target_feature(enable = "avx2,fma")]
fn f32_code(rounds: u64) -> f64 {
    let (factor, term) = black_box((_mm256_set1_ps(1.0), _mm256_set1_ps(1.0)));
    let mut sums = black_box([_mm256_setzero_ps(); ACCUMULATORS]);
    for _ in 0..rounds {
        for sum in &mut sums {
            *sum = _mm256_fmadd_ps(*sum, factor, term);
        }
    }
    let lanes = |sum: __m256| {
        let mut lanes = [0.0_f32; 8];
        // SAFETY: eight values fit.
        unsafe { _mm256_storeu_ps(lanes.as_mut_ptr(), sum) };
        lanes.into_iter().map(f64::from).sum::<f64>()
    };
    sums.into_iter().map(lanes).sum()
}

/// A value of which the compiler knows nothing any more, so that it computes with it again. No
/// instruction is made of it.
#[target_feature(enable = "avx2")]
#[inline]
fn opaque(mut value: __m256i) -> __m256i {
    // SAFETY: there is no code.
    unsafe { asm!("/* {0} */", inout(ymm_reg) value, options(nomem, nostack, preserves_flags)) };
    value
}

#[target_feature(enable = "avx2")]
fn int8_code(rounds: u64) -> f64 {
    let (mut a, b, ones) = (_mm256_set1_epi8(1), _mm256_set1_epi8(1), _mm256_set1_epi16(1));
    let mut sums = black_box([_mm256_setzero_si256(); DOTS]);
    for _ in 0..rounds {
        for sum in &mut sums {
            a = opaque(a);
            *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), ones));
        }
    }
    sum_i32(&sums)
}

#[target_feature(enable = "avx2,avxvnni")]
fn vnni_code(rounds: u64) -> f64 {
    let (mut a, b) = (_mm256_set1_epi8(1), _mm256_set1_epi8(1));
    let mut sums = black_box([_mm256_setzero_si256(); DOTS]);
    for _ in 0..rounds {
        for sum in &mut sums {
            a = opaque(a);
            *sum = _mm256_dpbusd_avx_epi32(*sum, a, b);
        }
    }
    sum_i32(&sums)
}

/// The sum of all lanes.
#[target_feature(enable = "avx2")]
fn sum_i32(sums: &[__m256i]) -> f64 {
    let lanes = |sum: &__m256i| {
        let mut lanes = [0_i32; 8];
        // SAFETY: eight values fit.
        unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), *sum) };
        lanes.into_iter().map(f64::from).sum::<f64>()
    };
    sums.iter().map(lanes).sum()
}

/// # Safety
/// The CPU has AVX2; the streams can be read and are aligned.
#[target_feature(enable = "avx2")]
unsafe fn walk<const STREAMS: usize>(streams: Streams) -> u64 {
    const VECTORS: usize = BLOCK / 32;
    let mut sums = [_mm256_setzero_si256(); 8];
    for _ in 0..streams.repeats {
        let mut at = 0;
        while at < streams.bytes {
            for vector in 0..VECTORS {
                let (stream, offset) = (vector / (VECTORS / STREAMS), vector % (VECTORS / STREAMS) * 32);
                // SAFETY: as the caller promises; streams are a whole number of blocks.
                let value =
                    unsafe { _mm256_load_si256(streams.from.add(stream * streams.stride + at + offset).cast()) };
                sums[vector % 8] = _mm256_xor_si256(sums[vector % 8], value);
            }
            at += BLOCK / STREAMS;
        }
        // SAFETY: there is no code; the compiler must assume that the memory has changed, and reads it again.
        unsafe { asm!("/* {0} */", in(reg) streams.from, options(nostack, preserves_flags)) };
    }
    let mut words = [0_u64; 32];
    for (sum, words) in sums.iter().zip(words.chunks_exact_mut(4)) {
        // SAFETY: a vector is four words.
        unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), *sum) };
    }
    words.iter().fold(0, |all, word| all ^ word)
}
