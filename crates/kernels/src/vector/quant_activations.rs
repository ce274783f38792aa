//! Activations as bytes.

use crate::quant::activations::{ActivationBlock, ActivationsMut, scale_of};
use crate::quant::byte_simd::ByteSimd;
use crate::quant::tile::TILE;

/// See [`Kernels::quantise_activations`](crate::Kernels::quantise_activations).
#[inline(always)]
pub(crate) fn quantise_blocks<S: ByteSimd>(simd: S, values: &[f32], out: ActivationsMut<'_>) {
    let values = values.as_chunks::<TILE>().0.chunks(RUN);
    let codes = out.codes.as_chunks_mut::<TILE>().0.chunks_mut(RUN);
    let wide = out.wide.as_chunks_mut::<TILE>().0.chunks_mut(RUN);
    for (((values, codes), wide), blocks) in values.zip(codes).zip(wide).zip(out.blocks.chunks_mut(RUN)) {
        let mut scales = [(0.0, 0.0); RUN];
        for (values, scales) in values.iter().zip(&mut scales) {
            // SAFETY: it is an array of 32.
            let largest = f32::from_bits(unsafe { simd.largest_bits(values.as_ptr()) });
            *scales = scale_of(largest);
        }
        for (i, values) in values.iter().enumerate() {
            blocks[i] = round(simd, values, scales[i], &mut codes[i], &mut wide[i]);
        }
    }
}

/// Blocks for which scales are found before the first is rounded: finding a scale is a long chain
/// of operations, and so more of them overlap (0.26 became 0.225 ns per value with AVX2).
const RUN: usize = 8;

#[inline(always)]
fn round<S: ByteSimd>(
    simd: S,
    values: &[f32; TILE],
    (scale, inverse): (f32, f32),
    codes: &mut [i8; TILE],
    wide: &mut [i16; TILE],
) -> ActivationBlock {
    if !scale.is_finite() {
        (*codes, *wide) = ([0; TILE], [0; TILE]);
        return ActivationBlock::poisoned();
    }
    // SAFETY: each is an array of 32.
    let sums = unsafe { simd.round_block(values.as_ptr(), inverse, codes.as_mut_ptr(), wide.as_mut_ptr()) };
    ActivationBlock::new(scale, sums)
}
