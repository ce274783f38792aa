//! The definitions: each kernel as plainly as it can be said. What is faster is tested against these.

pub(crate) mod activations;
pub(crate) mod blocks;
pub(crate) mod elementwise;
pub(crate) mod packed;
pub(crate) mod quant;
