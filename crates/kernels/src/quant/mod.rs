//! Weights as GGUF files hold them: blocks of codes with their scales, in the byte order of the file.
//!
//! A row of weights is a sequence of blocks; [`blocks`] views the bytes of a file as such, at any
//! alignment. Each format is one file here: its layout, the integer parts of a block (`codes`,
//! `scales`, …) and the arithmetic that gives the weights back. The products with quantised
//! activations build upon those parts.

pub(crate) mod format;
mod rows;

pub(crate) mod block;
pub(crate) mod half;
pub(crate) mod round;

mod affine_block;
pub(crate) mod float;
mod nested_block;
mod q6_k;
mod q8_0;
mod symmetric_block;

mod affine;
pub(crate) mod search;
mod six_bit;
mod symmetric;

pub(crate) mod tile;

pub(crate) mod activations;
pub(crate) mod byte_simd;
pub(crate) mod matmul;
pub(crate) mod packed;

pub use activations::{ActivationRow, Activations};
pub use affine_block::{AffineBlock, BlockQ4_1, BlockQ5_1};
pub use block::{Block, blocks, blocks_mut};
pub use format::{Bound, Format};
pub use half::{bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16};
pub use matmul::Outputs;
pub use nested_block::{BlockQ4_K, BlockQ5_K, NestedBlock};
pub use packed::{GROUP, GroupMut, PackedRows, PackedWeights};
pub use q6_k::BlockQ6_K;
pub use q8_0::BlockQ8_0;
pub use six_bit::ScalesAndMins;
pub use symmetric_block::{BlockQ4_0, BlockQ5_0, SymmetricBlock};
