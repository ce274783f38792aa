//! Activations as bytes.

use crate::quant::activations::{ActivationBlock, ActivationsMut, scale_of};
use crate::quant::tile::TILE;

/// See [`Kernels::quantise_activations`](crate::Kernels::quantise_activations).
pub(crate) fn quantise_blocks(values: &[f32], out: ActivationsMut<'_>) {
    let codes = out.codes.as_chunks_mut::<TILE>().0;
    let wide = out.wide.as_chunks_mut::<TILE>().0;
    let blocks = codes.iter_mut().zip(wide).zip(out.blocks);
    for (values, ((codes, wide), block)) in values.as_chunks::<TILE>().0.iter().zip(blocks) {
        *block = quantise(values, codes);
        for (wide, codes) in wide.as_chunks_mut::<4>().0.iter_mut().zip(codes.as_chunks::<4>().0) {
            *wide = [0, 2, 1, 3].map(|i| i16::from(codes[i]));
        }
    }
}

fn quantise(values: &[f32; TILE], codes: &mut [i8; TILE]) -> ActivationBlock {
    if values.iter().any(|value| !value.is_finite()) {
        *codes = [0; TILE];
        return ActivationBlock::poisoned();
    }
    let largest = values.iter().fold(0.0, |largest: f32, value| largest.max(value.abs()));
    let (scale, inverse) = scale_of(largest);
    *codes = values.map(|value| (value * inverse).round_ties_even() as i8);
    let sum = |half: &[i8]| half.iter().map(|code| i32::from(*code)).sum();
    ActivationBlock::new(scale, [sum(&codes[..16]), sum(&codes[16..])])
}
