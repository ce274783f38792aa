//! The speeds: each kernel told once, over the vectors of [`Simd`](crate::simd::Simd).

pub(crate) mod activations;
pub(crate) mod blocks;
pub(crate) mod elementwise;
pub(crate) mod packed;
mod panel;
pub(crate) mod quant;
