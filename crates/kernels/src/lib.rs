//! Arithmetic on slices, near the limit of the machine.
//!
//! [`Kernels::best`] chooses the instruction set once; every kernel is a method. `scalar` defines each of them, `vector` has
//! the fast forms, and the tests compare the two at every length.
//!
//! Lengths that do not fit are the caller's bug and panic at the door; nothing here returns a `Result`.
#![allow(
    unsafe_code,
    reason = "vectors are loaded through pointers, and instructions that the CPU may lack are called"
)]

mod dispatch;
mod isa;
mod simd;

mod elementwise;

pub mod limits;

mod scalar;
mod vector;

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

pub use dispatch::Kernels;
pub use isa::{Isa, VARIABLE as ISA_VARIABLE};
