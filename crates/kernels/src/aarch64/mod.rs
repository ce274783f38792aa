//! The instruction sets of aarch64.

mod neon;
mod neon_bytes;

pub(crate) use neon::Neon;
