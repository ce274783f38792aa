//! Sums over slices, and what is like a sum.

use crate::simd::Simd;

/// What is gathered from the values at one place of `IN` slices, in `OUT` totals.
pub(crate) trait Fold<const IN: usize, const OUT: usize>: Copy {
    /// How many vectors of totals grow side by side, so that none waits for the one before.
    const TOGETHER: usize = 4;

    /// A total of nothing.
    fn start<S: Simd>(self, simd: S) -> S::F {
        simd.splat(0.0)
    }

    /// What stands in the places beyond the end: it must add nothing.
    fn missing<S: Simd>(self, simd: S) -> S::F {
        simd.splat(0.0)
    }

    fn step<S: Simd>(self, simd: S, totals: [S::F; OUT], values: [S::F; IN]) -> [S::F; OUT];

    fn join<S: Simd>(self, simd: S, a: S::F, b: S::F) -> S::F {
        simd.add(a, b)
    }
}

/// The most that [`Fold::TOGETHER`] may be.
const MOST: usize = 4;

/// The totals of each lane. Slices are as long as the first.
#[inline(always)]
pub(crate) fn fold<S: Simd, F: Fold<IN, OUT>, const IN: usize, const OUT: usize>(
    simd: S,
    formula: F,
    slices: [&[f32]; IN],
) -> [S::F; OUT] {
    let len = slices[0].len();
    for slice in slices {
        assert!(slice.len() == len);
    }
    let mut totals = [[formula.start(simd); OUT]; MOST];
    let mut at = 0;
    while at + F::TOGETHER * S::LANES <= len {
        for (vector, totals) in totals.iter_mut().enumerate().take(F::TOGETHER) {
            // SAFETY: this vector ends before the slices do.
            let values = unsafe { load(simd, slices, at + vector * S::LANES) };
            *totals = formula.step(simd, *totals, values);
        }
        at += F::TOGETHER * S::LANES;
    }
    while at + S::LANES <= len {
        // SAFETY: this vector ends before the slices do.
        let values = unsafe { load(simd, slices, at) };
        totals[0] = formula.step(simd, totals[0], values);
        at += S::LANES;
    }
    if at < len {
        let mut values = [formula.missing(simd); IN];
        for i in 0..IN {
            values[i] = simd.load_part_or(&slices[i][at..], values[i]);
        }
        totals[1] = formula.step(simd, totals[1], values);
    }
    join(simd, formula, totals)
}

#[inline(always)]
fn join<S: Simd, F: Fold<IN, OUT>, const IN: usize, const OUT: usize>(
    simd: S,
    formula: F,
    totals: [[S::F; OUT]; MOST],
) -> [S::F; OUT] {
    let [mut first, second, third, fourth] = totals;
    for i in 0..OUT {
        first[i] = formula.join(simd, first[i], second[i]);
        if F::TOGETHER > 2 {
            first[i] = formula.join(simd, first[i], formula.join(simd, third[i], fourth[i]));
        }
    }
    first
}

/// # Safety
/// A vector can be read from each slice at the place `at`.
#[inline(always)]
unsafe fn load<S: Simd, const IN: usize>(simd: S, slices: [&[f32]; IN], at: usize) -> [S::F; IN] {
    let mut values = [simd.splat(0.0); IN];
    for i in 0..IN {
        // SAFETY: as the caller promises.
        values[i] = unsafe { simd.load_ptr(slices[i].as_ptr().add(at)) };
    }
    values
}
