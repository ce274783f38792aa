//! The speeds: each kernel told once, over the vectors of [`Simd`](crate::simd::Simd).

pub(crate) mod elementwise;
pub(crate) mod quant;
