//! Weights as GGUF files hold them: blocks of codes with their scales, in the byte order of the file.
//!
//! A row of weights is a sequence of blocks; [`blocks`] views the bytes of a file as such, at any alignment. Each format
//! is one file here: its layout, the integer parts of a block (`codes`, `scales`, …) and the arithmetic that gives the weights
//! back. The products with quantised activations build upon those parts.

mod format;
mod rows;

mod block;
pub(crate) mod half;
pub(crate) mod round;

mod float;
mod q4_0;
mod q4_1;
mod q4_k;
mod q5_0;
mod q5_1;
mod q5_k;
mod q6_k;
mod q8_0;

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
pub use block::{Block, blocks, blocks_mut};
pub use format::{Bound, Format};
pub use half::{bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16};
pub use matmul::Outputs;
pub use packed::{GROUP, GroupMut, PackedRows, PackedWeights};
pub use q4_0::BlockQ4_0;
pub use q4_1::BlockQ4_1;
pub use q4_k::BlockQ4_K;
pub use q5_0::BlockQ5_0;
pub use q5_1::BlockQ5_1;
pub use q5_k::BlockQ5_K;
pub use q6_k::BlockQ6_K;
pub use q8_0::BlockQ8_0;
pub use six_bit::ScalesAndMins;
