//! F32, F16 and BF16: weights that stand for themselves, as blocks of one.

use super::block::{Block, half, half_is_finite};
use super::half::{bf16_to_f32, f32_to_bf16, f32_to_f16};

/// A single weight of F32.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockF32([u8; 4]);

/// A single weight of F16.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockF16([u8; 2]);

/// A single weight of BF16.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockBF16([u8; 2]);

// SAFETY: bytes alone, so alignment 1, no padding, and every pattern is a value.
unsafe impl Block for BlockF32 {
    const LEN: usize = 1;

    #[inline(always)]
    fn dequantise(&self, out: &mut [f32]) {
        out[0] = f32::from_le_bytes(self.0);
    }

    #[inline(always)]
    fn quantise(values: &[f32]) -> Self {
        Self(values[0].to_le_bytes())
    }

    #[inline(always)]
    fn is_finite(&self) -> bool {
        u32::from_le_bytes(self.0) & 0x7f80_0000 != 0x7f80_0000
    }

    const LARGEST: f32 = f32::MAX;
}

// SAFETY: bytes alone, so alignment 1, no padding, and every pattern is a value.
unsafe impl Block for BlockF16 {
    const LEN: usize = 1;

    #[inline(always)]
    fn dequantise(&self, out: &mut [f32]) {
        out[0] = half(self.0);
    }

    #[inline(always)]
    fn quantise(values: &[f32]) -> Self {
        Self(f32_to_f16(values[0]).to_le_bytes())
    }

    #[inline(always)]
    fn is_finite(&self) -> bool {
        half_is_finite(self.0)
    }
}

// SAFETY: bytes alone, so alignment 1, no padding, and every pattern is a value.
unsafe impl Block for BlockBF16 {
    const LEN: usize = 1;

    #[inline(always)]
    fn dequantise(&self, out: &mut [f32]) {
        out[0] = bf16_to_f32(u16::from_le_bytes(self.0));
    }

    #[inline(always)]
    fn quantise(values: &[f32]) -> Self {
        Self(f32_to_bf16(values[0]).to_le_bytes())
    }

    #[inline(always)]
    fn is_finite(&self) -> bool {
        u16::from_le_bytes(self.0) & 0x7f80 != 0x7f80
    }

    /// What is above would be rounded to infinity.
    const LARGEST: f32 = f32::from_bits(0x7f7f_7fff);
}
