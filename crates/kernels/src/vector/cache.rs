//! Keys and values on their way into a cache.

use crate::quant::BlockQ8_0;
use crate::scalar;
use crate::simd::Simd;

/// See [`Kernels::store_f16`](crate::Kernels::store_f16).
#[inline(always)]
pub(crate) fn store_f16<S: Simd>(simd: S, x: &[f32], out: &mut [u16]) {
    let (mut x, mut out) = (x.chunks_exact(S::LANES), out.chunks_exact_mut(S::LANES));
    for (x, out) in (&mut x).zip(&mut out) {
        // SAFETY: the chunk has as many values as a vector.
        unsafe { simd.store_f16_ptr(simd.load(x), out.as_mut_ptr()) }
    }
    scalar::cache::store_f16(x.remainder(), out.into_remainder());
}

/// See [`Kernels::store_q8_0`](crate::Kernels::store_q8_0). The definition becomes vectors where it is inlined.
#[inline(always)]
pub(crate) fn store_q8_0<S: Simd>(_: S, x: &[f32], out: &mut [BlockQ8_0]) {
    scalar::cache::store_q8_0(x, out);
}
