//! Sums and products, element by element.

use crate::simd::Simd;

/// See [`Kernels::add`](crate::Kernels::add).
#[inline(always)]
pub(crate) fn add<S: Simd>(simd: S, a: &[f32], b: &[f32], out: &mut [f32]) {
    let (mut a, mut b, mut out) = (a.chunks_exact(S::LANES), b.chunks_exact(S::LANES), out.chunks_exact_mut(S::LANES));
    for ((a, b), out) in (&mut a).zip(&mut b).zip(&mut out) {
        simd.store(simd.add(simd.load(a), simd.load(b)), out);
    }
    let sum = simd.add(simd.load_part(a.remainder()), simd.load_part(b.remainder()));
    simd.store_part(sum, out.into_remainder());
}
