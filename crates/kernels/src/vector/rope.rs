//! Rotary position embedding.
//!
//! Halves are two plain streams. Adjacent pairs stay interleaved: each cosine and sine is doubled, the sines with
//! alternating signs, and (a, b) · cos + (b, a) · (−sin, sin) is the rotation.

use crate::rope::{RopePairing, RopeRows, RopeTable};
use crate::simd::Simd;

/// See [`Kernels::rope`](crate::Kernels::rope).
#[inline(always)]
pub(crate) fn rope<S: Simd>(simd: S, x: &mut [f32], rows: RopeRows, table: &RopeTable) {
    rotate(simd, x, rows, (table, 1.0));
}

/// See [`Kernels::rope_backward`](crate::Kernels::rope_backward).
#[inline(always)]
pub(crate) fn rope_backward<S: Simd>(simd: S, x: &mut [f32], rows: RopeRows, table: &RopeTable) {
    rotate(simd, x, rows, (table, -1.0));
}

#[inline(always)]
fn rotate<S: Simd>(simd: S, x: &mut [f32], rows: RopeRows, (table, direction): (&RopeTable, f32)) {
    for row in 0..rows.rows {
        let (cos, sin) = table.at(rows.first_position + row);
        for head in 0..rows.heads {
            let values = &mut x[row * rows.stride + head * rows.head_dim..][..table.dims()];
            match table.pairing() {
                RopePairing::Adjacent => adjacent(simd, values, (cos, sin), direction),
                RopePairing::Halves => halves(simd, values, (cos, sin), direction),
            }
        }
    }
}

#[inline(always)]
fn halves<S: Simd>(simd: S, values: &mut [f32], (cos, sin): (&[f32], &[f32]), direction: f32) {
    let (first, second) = values.split_at_mut(cos.len());
    let (mut a, mut b) = (first.chunks_exact_mut(S::LANES), second.chunks_exact_mut(S::LANES));
    let (mut cos, mut sin) = (cos.chunks_exact(S::LANES), sin.chunks_exact(S::LANES));
    let direction = simd.splat(direction);
    for (((a, b), cos), sin) in (&mut a).zip(&mut b).zip(&mut cos).zip(&mut sin) {
        let turned = turn(simd, (simd.load(a), simd.load(b)), simd.load(cos), simd.mul(simd.load(sin), direction));
        simd.store(turned.0, a);
        simd.store(turned.1, b);
    }
    let (a, b) = (a.into_remainder(), b.into_remainder());
    if a.is_empty() {
        return;
    }
    let sin = simd.mul(simd.load_part(sin.remainder()), direction);
    let turned = turn(simd, (simd.load_part(a), simd.load_part(b)), simd.load_part(cos.remainder()), sin);
    simd.store_part(turned.0, a);
    simd.store_part(turned.1, b);
}

#[inline(always)]
fn turn<S: Simd>(simd: S, (a, b): (S::F, S::F), cos: S::F, sin: S::F) -> (S::F, S::F) {
    (simd.fnma(b, sin, simd.mul(a, cos)), simd.fma(a, sin, simd.mul(b, cos)))
}

#[inline(always)]
fn adjacent<S: Simd>(simd: S, values: &mut [f32], (cos, sin): (&[f32], &[f32]), direction: f32) {
    let signs = signs(simd, direction);
    let mut pairs = values.chunks_exact_mut(2 * S::LANES);
    let (mut cos, mut sin) = (cos.chunks_exact(S::LANES), sin.chunks_exact(S::LANES));
    for ((values, cos), sin) in (&mut pairs).zip(&mut cos).zip(&mut sin) {
        let (cos, sin) = (simd.double(simd.load(cos)), simd.double(simd.load(sin)));
        let (lower, upper) = values.split_at_mut(S::LANES);
        simd.store(turn_pairs(simd, simd.load(lower), cos[0], simd.mul(sin[0], signs)), lower);
        simd.store(turn_pairs(simd, simd.load(upper), cos[1], simd.mul(sin[1], signs)), upper);
    }
    if cos.remainder().is_empty() {
        return;
    }
    let cos = simd.double(simd.load_part(cos.remainder()));
    let sin = simd.double(simd.load_part(sin.remainder()));
    let mut rest = pairs.into_remainder();
    for half in 0..2 {
        let (now, later) = rest.split_at_mut(rest.len().min(S::LANES));
        let sin = simd.mul(sin[half], signs);
        if now.len() == S::LANES {
            simd.store(turn_pairs(simd, simd.load(now), cos[half], sin), now);
        } else {
            simd.store_part(turn_pairs(simd, simd.load_part(now), cos[half], sin), now);
        }
        rest = later;
    }
}

/// −1 for the first of each pair and 1 for the second, or the reverse to turn back.
#[inline(always)]
fn signs<S: Simd>(simd: S, direction: f32) -> S::F {
    const ALTERNATING: [f32; 16] = [-1., 1., -1., 1., -1., 1., -1., 1., -1., 1., -1., 1., -1., 1., -1., 1.];
    simd.mul(simd.load(&ALTERNATING), simd.splat(direction))
}

#[inline(always)]
fn turn_pairs<S: Simd>(simd: S, values: S::F, cos: S::F, sin: S::F) -> S::F {
    simd.fma(simd.swap_pairs(values), sin, simd.mul(values, cos))
}
