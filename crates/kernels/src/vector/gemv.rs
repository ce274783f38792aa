//! A matrix times a vector.
//!
//! How many rows are computed together decides how memory is read, and no bit: a row is summed in the same order in any
//! company. One row at a time is one stream, which the CPU reads ahead best, as long as x and the row stay in L1 together; from
//! DRAM rows of 512 came at 28 GB/s so, and four of them together at 12. Longer rows are read several at a time, so that x is loaded
//! once for all of them.

use crate::simd::Simd;

/// Rows up to this length, with x, are half of an L1 of 32 KiB.
const SHORT: usize = 2048;
/// Weights up to so many bytes come from L2, where loading x once for some rows gives 8 % more.
const NEAR: usize = 512 << 10;
/// Weights of more bytes come from DRAM.
const FAR: usize = 24 << 20;
/// How far ahead long rows are asked for from DRAM, in bytes: some lines, from which the CPU takes over. It gave 5 to 15 %.
const AHEAD: usize = 2048;

/// See [`Kernels::gemv`](crate::Kernels::gemv).
#[inline(always)]
pub(crate) fn gemv<S: Simd>(simd: S, weights: &[f32], x: &[f32], out: &mut [f32]) {
    let bytes = size_of_val(weights);
    // AVX2 has sixteen registers, the others twice as many.
    let many = S::LANES != 8;
    let done = match (x.len() <= SHORT, many) {
        (true, true) if bytes <= NEAR => together::<S, 4, 4, 1, false>(simd, weights, x, out),
        (true, false) if bytes <= NEAR => together::<S, 2, 4, 1, false>(simd, weights, x, out),
        (true, _) => 0,
        (false, true) if bytes > FAR => together::<S, 8, 2, 1, true>(simd, weights, x, out),
        (false, true) => together::<S, 8, 2, 1, false>(simd, weights, x, out),
        (false, false) if bytes > FAR => together::<S, 4, 2, 2, true>(simd, weights, x, out),
        (false, false) => together::<S, 4, 2, 2, false>(simd, weights, x, out),
    };
    let (weights, out) = (&weights[done * x.len()..], &mut out[done..]);
    if x.len() <= SHORT {
        together::<S, 1, 4, 4, false>(simd, weights, x, out);
    } else {
        together::<S, 1, 2, 4, false>(simd, weights, x, out);
    }
}

/// As many rows as there are in whole `R`s; says how many.
#[inline(always)]
fn together<S: Simd, const R: usize, const SUMS: usize, const TURNS: usize, const FAR: bool>(
    simd: S,
    weights: &[f32],
    x: &[f32],
    out: &mut [f32],
) -> usize {
    let mut done = 0;
    while done + R <= out.len() {
        rows::<S, R, SUMS, TURNS, FAR>(simd, &weights[done * x.len()..], x, &mut out[done..done + R]);
        done += R;
    }
    done
}

/// `R` rows, each in `SUMS` sums that take the vectors of a row in turn, so that none waits for the one before.
#[inline(always)]
fn rows<S: Simd, const R: usize, const SUMS: usize, const TURNS: usize, const FAR: bool>(
    simd: S,
    weights: &[f32],
    x: &[f32],
    out: &mut [f32],
) {
    let len = x.len();
    assert!(weights.len() >= R * len && out.len() == R);
    let mut sums = [[simd.splat(0.0); SUMS]; R];
    let (turn, mut at) = (SUMS * S::LANES, 0);
    while at + TURNS * turn <= len {
        if FAR {
            for row in 0..R {
                simd.prefetch(weights.as_ptr().wrapping_add(row * len + at + AHEAD / size_of::<f32>()));
            }
        }
        for place in 0..TURNS {
            // SAFETY: within x and within each of the rows, which are as long.
            unsafe { add_turn(simd, weights.as_ptr(), x, at + place * turn, &mut sums) };
        }
        at += TURNS * turn;
    }
    while at + turn <= len {
        // SAFETY: as above.
        unsafe { add_turn(simd, weights.as_ptr(), x, at, &mut sums) };
        at += turn;
    }
    for sum in 0..SUMS {
        let (first, end) = (len.min(at + sum * S::LANES), len.min(at + (sum + 1) * S::LANES));
        if first < end {
            let x = load(simd, &x[first..end]);
            for (row, sums) in sums.iter_mut().enumerate() {
                sums[sum] = simd.fma(load(simd, &weights[row * len + first..row * len + end]), x, sums[sum]);
            }
        }
    }
    for (out, sums) in out.iter_mut().zip(sums) {
        let mut all = sums[0];
        for sum in &sums[1..] {
            all = simd.add(all, *sum);
        }
        *out = simd.reduce_add(all);
    }
}

/// A vector of each row for each sum.
///
/// # Safety
/// So many elements lie in x and in each of `R` rows behind `at`.
#[inline(always)]
unsafe fn add_turn<S: Simd, const R: usize, const SUMS: usize>(
    simd: S,
    weights: *const f32,
    x: &[f32],
    at: usize,
    sums: &mut [[S::F; SUMS]; R],
) {
    for sum in 0..SUMS {
        let place = at + sum * S::LANES;
        // SAFETY: as the caller promises.
        unsafe {
            let part = simd.load_ptr(x.as_ptr().add(place));
            for (row, sums) in sums.iter_mut().enumerate() {
                sums[sum] = simd.fma(simd.load_ptr(weights.add(row * x.len() + place)), part, sums[sum]);
            }
        }
    }
}

/// A vector, or what is left of one.
#[inline(always)]
fn load<S: Simd>(simd: S, from: &[f32]) -> S::F {
    if from.len() == S::LANES { simd.load(from) } else { simd.load_part(from) }
}
