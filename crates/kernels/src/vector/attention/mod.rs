//! Attention: few queries by dot products (`decode`), many by products of small matrices (`prefill`), and the gradient
//! (`backward`).

mod cells;
mod layout;
mod merge;
mod product;

pub(crate) mod backward;
pub(crate) mod decode;
pub(crate) mod prefill;

pub(crate) use backward::attention_backward;
pub(crate) use decode::attention_few;
pub(crate) use merge::attention_merge;
pub(crate) use prefill::attention_prefill;

use crate::simd::Simd;
use crate::vector::exp::exp;

/// The widest vector has so many lanes; rows in scratch are padded to whole vectors.
const MAX_LANES: usize = 16;

/// Cuts `len` values off the front of the scratch.
#[inline(always)]
fn take<'a>(scratch: &mut &'a mut [f32], len: usize) -> &'a mut [f32] {
    scratch.split_off_mut(..len).expect("the scratch was checked on entry")
}

/// eˣ of one value, with the bits that any lane of a vector would have.
#[inline(always)]
fn exp_one<S: Simd>(simd: S, x: f32) -> f32 {
    let mut lanes = [0.0; MAX_LANES];
    simd.store(exp(simd, simd.splat(x)), &mut lanes);
    lanes[0]
}

/// What scores are taken relative to: the largest, but 0 where there was nothing but −∞, lest −∞ − −∞ be NaN.
#[inline(always)]
fn origin(max: f32) -> f32 {
    if max == f32::NEG_INFINITY { 0.0 } else { max }
}
