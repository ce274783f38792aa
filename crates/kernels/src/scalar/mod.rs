//! The definitions: each kernel as plainly as it can be said. What is faster is tested against these.

pub(crate) mod activation;
pub(crate) mod attention;
pub(crate) mod cache;
pub(crate) mod dropout;
pub(crate) mod elementwise;
pub(crate) mod gemm;
pub(crate) mod gemv;
pub(crate) mod loss;
pub(crate) mod norm;
pub(crate) mod optimise;
pub(crate) mod quant;
pub(crate) mod quant_activations;
pub(crate) mod quant_blocks;
pub(crate) mod quant_packed;
pub(crate) mod rope;
pub(crate) mod softmax;
