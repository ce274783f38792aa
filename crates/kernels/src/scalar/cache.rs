//! Keys and values on their way into a cache.

use crate::quant::{Block, BlockQ8_0, f32_to_f16};

/// See [`Kernels::store_f16`](crate::Kernels::store_f16).
#[inline(always)]
pub(crate) fn store_f16(x: &[f32], out: &mut [u16]) {
    for (x, out) in x.iter().zip(out) {
        *out = f32_to_f16(*x);
    }
}

/// See [`Kernels::store_q8_0`](crate::Kernels::store_q8_0).
#[inline(always)]
pub(crate) fn store_q8_0(x: &[f32], out: &mut [BlockQ8_0]) {
    for (x, out) in x.chunks(BlockQ8_0::LEN).zip(out) {
        let mut values = [0.0; BlockQ8_0::LEN];
        values[..x.len()].copy_from_slice(x);
        *out = BlockQ8_0::quantise(&values);
    }
}
