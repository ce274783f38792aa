//! The definitions: each kernel as plainly as it can be said. What is faster is tested against these.

pub(crate) mod elementwise;
pub(crate) mod quant;
pub(crate) mod quant_activations;
pub(crate) mod quant_blocks;
pub(crate) mod quant_packed;
