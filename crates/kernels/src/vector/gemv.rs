//! A matrix times a vector: four rows at a time, so that x is loaded once for all of them and memory is read in four
//! streams.

use crate::simd::Simd;

/// See [`Kernels::gemv`](crate::Kernels::gemv).
#[inline(always)]
pub(crate) fn gemv<S: Simd>(simd: S, weights: &[f32], x: &[f32], out: &mut [f32]) {
    let mut fours = out.chunks_exact_mut(4);
    let mut row = 0;
    for out in &mut fours {
        rows::<S, 4>(simd, &weights[row * x.len()..], x, out);
        row += 4;
    }
    for out in fours.into_remainder().chunks_exact_mut(1) {
        rows::<S, 1>(simd, &weights[row * x.len()..], x, out);
        row += 1;
    }
}

/// `R` rows, each in two sums, so that none waits for the one before.
#[inline(always)]
fn rows<S: Simd, const R: usize>(simd: S, weights: &[f32], x: &[f32], out: &mut [f32]) {
    let len = x.len();
    assert!(weights.len() >= R * len && out.len() == R);
    let mut sums = [[simd.splat(0.0); 2]; R];
    let mut at = 0;
    while at + 2 * S::LANES <= len {
        for half in 0..2 {
            let place = at + half * S::LANES;
            // SAFETY: within x and within each of the rows, which are as long.
            unsafe {
                let x = simd.load_ptr(x.as_ptr().add(place));
                for (row, sums) in sums.iter_mut().enumerate() {
                    let weights = simd.load_ptr(weights.as_ptr().add(row * len + place));
                    sums[half] = simd.fma(weights, x, sums[half]);
                }
            }
        }
        at += 2 * S::LANES;
    }
    while at < len {
        let end = len.min(at + S::LANES);
        let x = load(simd, &x[at..end]);
        for (row, sums) in sums.iter_mut().enumerate() {
            sums[0] = simd.fma(load(simd, &weights[row * len + at..row * len + end]), x, sums[0]);
        }
        at = end;
    }
    for (out, [first, second]) in out.iter_mut().zip(sums) {
        *out = simd.reduce_add(simd.add(first, second));
    }
}

/// A vector, or what is left of one.
#[inline(always)]
fn load<S: Simd>(simd: S, from: &[f32]) -> S::F {
    if from.len() == S::LANES { simd.load(from) } else { simd.load_part(from) }
}
