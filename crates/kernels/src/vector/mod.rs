//! The speeds: each kernel told once, over the vectors of [`Simd`](crate::simd::Simd).

pub(crate) mod exp;
mod fold;
mod map;
mod tail;

pub(crate) mod elementwise;

pub(crate) mod activation;
pub(crate) mod attention;
pub(crate) mod cache;
pub(crate) mod loss;
pub(crate) mod norm;
pub(crate) mod quant;
pub(crate) mod rope;
pub(crate) mod softmax;
