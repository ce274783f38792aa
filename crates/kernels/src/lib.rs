//! Arithmetic on slices, near the limit of the machine.
//!
//! [`Kernels::best`] chooses the instruction set once; every kernel is a method. `scalar` defines
//! each of them, `vector` has the fast forms, and the tests compare the two at every length.
//!
//! Lengths that do not fit are the caller's bug and panic on entry; nothing here returns a `Result`.
#![allow(
    unsafe_code,
    reason = "vectors are loaded through pointers, and instructions that the CPU may lack are called"
)]

mod dispatch;
mod isa;
mod memory;
mod pool;
mod simd;

mod activation;
mod attention;
mod attention_on;
mod cache;
mod dropout;
mod elementwise;
mod gemm;
mod gemv;
mod linear;
mod loss;
mod norm;
mod optimise;
pub mod quant;
mod rope;
mod rows;
mod softmax;

pub mod limits;

mod scalar;
mod vector;

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

pub use activation::SwigluGrads;
pub use attention::{
    ATTENTION_PART, Attention, AttentionGradients, AttentionOut, AttentionShape, AttentionTape, CacheCells, CacheView,
    Queries, attention_backward_scratch, attention_decode_scratch, attention_prefill_scratch,
};
pub use attention_on::{AttentionJob, attention_on_scratch};
pub use dispatch::Kernels;
pub use dropout::Dropout;
pub use gemm::{Matrix, MatrixMut, PackedMatrix, Product, WeightRows};
pub use isa::{Isa, VARIABLE as ISA_VARIABLE};
pub use linear::{Linear, LinearInput, LinearWeights, WeightsInFile};
pub use loss::IGNORED_TARGET;
pub use memory::{AlignedBuffer, HugePageArena, Plain};
pub use norm::{LayerNorm, LayerNormGrads, RmsNorm, RmsNormGrads};
pub use optimise::{AdamWStep, Moments, SgdStep};
pub use pool::{Pool, memory_left_in_groups, usable_cpus};
pub use rope::{RopePairing, RopeRows, RopeSpec, RopeStretch, RopeTable};
pub use rows::{Rows, RowsMut};
