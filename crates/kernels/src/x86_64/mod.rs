//! The instruction sets of x86-64.

mod avx2;
mod avx2_bytes;
mod avx512;
mod avx512_bytes;

pub(crate) use avx2::Avx2;
pub(crate) use avx512::Avx512;
