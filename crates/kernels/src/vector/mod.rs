//! The speeds: each kernel told once, over the vectors of [`Simd`](crate::simd::Simd).

pub(crate) mod elementwise;
pub(crate) mod quant;
pub(crate) mod quant_activations;
pub(crate) mod quant_blocks;
pub(crate) mod quant_packed;
mod quant_panel;
