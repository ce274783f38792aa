//! The speeds: each kernel written once, over the vectors of [`Simd`](crate::simd::Simd).

pub(crate) mod activation;
pub(crate) mod attention;
pub(crate) mod cache;
pub(crate) mod dropout;
pub(crate) mod elementwise;
pub(crate) mod exp;
mod fold;
pub(crate) mod gemm;
pub(crate) mod gemv;
pub(crate) mod loss;
mod map;
pub(crate) mod norm;
pub(crate) mod optimise;
pub(crate) mod quant;
pub(crate) mod quant_activations;
pub(crate) mod quant_blocks;
pub(crate) mod quant_packed;
mod quant_panel;
pub(crate) mod rope;
pub(crate) mod softmax;
mod tail;
