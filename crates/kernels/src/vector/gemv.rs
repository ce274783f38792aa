//! A matrix times a vector.
//!
//! How many rows are computed together, and which, decides how memory is read, and no bit: a row is
//! summed in the same order in any company. Rows that are computed together are a quarter of the
//! matrix apart (a half, where registers are few): so few streams are read, each of them in order
//! to its end. Rows side by side are streams that break off at the end of each row: in a sketch
//! that only reads, eight of 8 KiB came from DRAM at 19 GB/s, four far ones at 25; from L3 at 55
//! and 73 (medians of one run).

use crate::simd::Simd;

/// Rows up to this length, with x, are half of an L1 of 32 KiB.
const SHORT: usize = 2048;
/// Weights up to so many bytes come from L2, where rows side by side will do.
const NEAR: usize = 512 << 10;
/// Weights of more bytes come from DRAM; in small pages, as those of files are, four streams are read faster than two.
const FAR: usize = 24 << 20;

/// See [`Kernels::gemv`](crate::Kernels::gemv).
#[inline(always)]
pub(crate) fn gemv<S: Simd>(simd: S, weights: &[f32], x: &[f32], out: &mut [f32]) {
    let (rows, bytes) = (out.len(), size_of_val(weights));
    let (near, far) = (bytes <= NEAR, bytes > FAR);
    // AVX2 has sixteen registers, the others twice as many.
    let many = S::LANES != 8;
    let mut job = Job { weights, x, out };
    let done = match (x.len() <= SHORT, many) {
        (true, true) if near => side_by_side::<S, 4, 4, 1>(simd, &mut job),
        (true, false) if near => side_by_side::<S, 2, 4, 1>(simd, &mut job),
        (true, true) if far => far_apart::<S, 4, 4, 1>(simd, &mut job),
        (true, _) => far_apart::<S, 2, 4, 1>(simd, &mut job),
        (false, true) => far_apart::<S, 4, 2, 1>(simd, &mut job),
        (false, false) => far_apart::<S, 4, 2, 2>(simd, &mut job),
    };
    for row in done..rows {
        if x.len() <= SHORT {
            together::<S, 1, 4, 4>(simd, &mut job, row, 0);
        } else {
            together::<S, 1, 2, 4>(simd, &mut job, row, 0);
        }
    }
}

/// A row of weights for each place of the result, as long as x.
struct Job<'a> {
    weights: &'a [f32],
    x: &'a [f32],
    out: &'a mut [f32],
}

/// As many rows as there are in whole `R`s; says how many.
#[inline(always)]
fn side_by_side<S: Simd, const R: usize, const SUMS: usize, const TURNS: usize>(simd: S, job: &mut Job<'_>) -> usize {
    let whole = job.out.len() - job.out.len() % R;
    for first in (0..whole).step_by(R) {
        together::<S, R, SUMS, TURNS>(simd, job, first, 1);
    }
    whole
}

/// As many rows as `R` streams of the same length have; says how many.
#[inline(always)]
fn far_apart<S: Simd, const R: usize, const SUMS: usize, const TURNS: usize>(simd: S, job: &mut Job<'_>) -> usize {
    let each = job.out.len() / R;
    for first in 0..each {
        together::<S, R, SUMS, TURNS>(simd, job, first, each);
    }
    each * R
}

/// `R` rows, each `apart` rows behind the one before, in `SUMS` sums that take the vectors of a row
/// in turn, so that none waits for the one before.
#[inline(always)]
fn together<S: Simd, const R: usize, const SUMS: usize, const TURNS: usize>(
    simd: S,
    job: &mut Job<'_>,
    first: usize,
    apart: usize,
) {
    let (x, len) = (job.x, job.x.len());
    let rows = &job.weights[first * len..];
    assert!(rows.len() >= ((R - 1) * apart + 1) * len);
    let mut sums = [[simd.splat(0.0); SUMS]; R];
    let (turn, step, mut at) = (SUMS * S::LANES, apart * len, 0);
    while at + TURNS * turn <= len {
        for place in 0..TURNS {
            // SAFETY: within x and within each of the rows, which are as long.
            unsafe { add_turn(simd, (rows.as_ptr(), step), x, at + place * turn, &mut sums) };
        }
        at += TURNS * turn;
    }
    while TURNS > 1 && at + turn <= len {
        // SAFETY: as above.
        unsafe { add_turn(simd, (rows.as_ptr(), step), x, at, &mut sums) };
        at += turn;
    }
    if at < len {
        for sum in 0..SUMS {
            let (first, end) = (len.min(at + sum * S::LANES), len.min(at + (sum + 1) * S::LANES));
            if first < end {
                let x = load(simd, &x[first..end]);
                for (row, sums) in sums.iter_mut().enumerate() {
                    sums[sum] = simd.fma(load(simd, &rows[row * step + first..row * step + end]), x, sums[sum]);
                }
            }
        }
    }
    for (row, sums) in sums.iter().enumerate() {
        let mut all = sums[0];
        for sum in &sums[1..] {
            all = simd.add(all, *sum);
        }
        job.out[first + row * apart] = simd.reduce_add(all);
    }
}

/// A vector of each row for each sum.
///
/// # Safety
/// So many elements lie in x and in each of `R` rows behind `at`; rows are `step` apart.
#[inline(always)]
unsafe fn add_turn<S: Simd, const R: usize, const SUMS: usize>(
    simd: S,
    (rows, step): (*const f32, usize),
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
                sums[sum] = simd.fma(simd.load_ptr(rows.add(row * step + place)), part, sums[sum]);
            }
        }
    }
}

/// A vector, or what is left of one.
#[inline(always)]
fn load<S: Simd>(simd: S, from: &[f32]) -> S::F {
    if from.len() == S::LANES { simd.load(from) } else { simd.load_part(from) }
}
