//! Rows of weights, to and from their formats.
//!
//! The definitions of the block formats are loops that the compiler turns into vectors of whatever instruction set they are
//! inlined for, so they are used as they are; half precision has instructions of its own.

use crate::quant::Format;
use crate::simd::Simd;

/// See [`Kernels::dequantise`](crate::Kernels::dequantise).
#[inline(always)]
pub(crate) fn dequantise<S: Simd>(simd: S, format: Format, from: &[u8], out: &mut [f32]) {
    let whole = if format == Format::F16 { out.len() - out.len() % S::LANES } else { 0 };
    let (halves, rest) = from.split_at(2 * whole);
    for (out, halves) in out.chunks_exact_mut(S::LANES).zip(halves.chunks_exact(2 * S::LANES)) {
        // SAFETY: the chunk is as many halves as a vector has lanes, and any alignment will do.
        simd.store(unsafe { simd.load_f16_ptr(halves.as_ptr().cast()) }, out);
    }
    format.dequantise(rest, &mut out[whole..]);
}

/// See [`Kernels::quantise`](crate::Kernels::quantise).
#[inline(always)]
pub(crate) fn quantise<S: Simd>(_: S, format: Format, from: &[f32], out: &mut [u8]) {
    format.quantise(from, out);
}

/// See [`Kernels::has_non_finite`](crate::Kernels::has_non_finite).
#[inline(always)]
pub(crate) fn has_non_finite<S: Simd>(_: S, values: &[f32]) -> bool {
    // Whole kilobytes without a way out in between, so that they become vectors.
    values.chunks(256).any(|values| values.iter().fold(false, |any, value| any | !value.is_finite()))
}
