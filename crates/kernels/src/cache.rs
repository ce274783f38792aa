//! Keys and values on their way into a cache.

use crate::dispatch::kernels;
use crate::quant::{Block, BlockQ8_0};

kernels! { cache:
    /// As half precision: to nearest, ties to even; too large becomes infinite, a NaN stays a NaN.
    pub fn store_f16(x: &[f32], out: &mut [u16]) where { x.len() == out.len() };
    /// One head as blocks of [`BlockQ8_0::quantise`], the last filled up with zeros; every instruction set gives the
    /// same bytes. Several heads at once only where their length is a multiple of 32.
    pub fn store_q8_0(x: &[f32], out: &mut [BlockQ8_0]) where { x.len().div_ceil(BlockQ8_0::LEN) == out.len() };
}
