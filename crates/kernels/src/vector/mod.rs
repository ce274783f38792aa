//! The speeds: each kernel told once, over the vectors of [`Simd`](crate::simd::Simd).

pub(crate) mod exp;
mod map;
mod tail;

pub(crate) mod activation;
pub(crate) mod elementwise;
