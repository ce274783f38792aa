//! The speeds: each kernel told once, over the vectors of [`Simd`](crate::simd::Simd).

pub(crate) mod exp;
mod map;

pub(crate) mod activation;
pub(crate) mod attention;
pub(crate) mod cache;
pub(crate) mod elementwise;
pub(crate) mod quant;
pub(crate) mod rope;
