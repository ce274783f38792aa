//! Activations as bytes.

use crate::quant::activations::{ActivationBlock, Activations, scale_of};
use crate::quant::byte_simd::ByteSimd;
use crate::quant::tile::TILE;

/// See [`Kernels::quantise_activations`](crate::Kernels::quantise_activations).
#[inline(always)]
pub(crate) fn quantise_activations<S: ByteSimd>(simd: S, values: &[f32], out: &mut Activations) {
    out.resize_for(values.len());
    let codes = out.codes.as_chunks_mut::<TILE>().0;
    let wide = out.wide.as_chunks_mut::<TILE>().0;
    let blocks = codes.iter_mut().zip(wide).zip(&mut out.blocks);
    for (values, ((codes, wide), block)) in values.as_chunks::<TILE>().0.iter().zip(blocks) {
        // SAFETY: each is an array of 32.
        let largest = f32::from_bits(unsafe { simd.largest_bits(values.as_ptr()) });
        if !largest.is_finite() {
            (*codes, *wide, *block) = ([0; TILE], [0; TILE], ActivationBlock::poisoned());
            continue;
        }
        let (scale, inverse) = scale_of(largest);
        // SAFETY: each is an array of 32.
        let sums = unsafe { simd.round_block(values.as_ptr(), inverse, codes.as_mut_ptr(), wide.as_mut_ptr()) };
        *block = ActivationBlock::new(scale, sums);
    }
}
