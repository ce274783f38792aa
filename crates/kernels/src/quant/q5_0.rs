//! Q5_0: 32 weights in 22 bytes. Weight i = d · (code\[i\] − 16).
//!
//! Byte j of `low` holds the low four bits of element j in its low half and those of element j + 16 in its high half; bit i
//! of the little-endian number `high` is the fifth bit of element i.

use super::block::{Block, half, nibbles_and_fifth, pack_fifth, pack_nibbles};

/// A block as it stands in a file.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(non_camel_case_types, reason = "the format's own name")]
pub struct BlockQ5_0 {
    d: [u8; 2],
    high: [u8; 4],
    low: [u8; 16],
}

const _: () = assert!(size_of::<BlockQ5_0>() == 22 && align_of::<BlockQ5_0>() == 1);

// SAFETY: bytes alone, so alignment 1, no padding, and every pattern is a value.
unsafe impl Block for BlockQ5_0 {
    const LEN: usize = 32;
}

impl BlockQ5_0 {
    /// The code that stands for zero.
    pub const ZERO: u8 = 16;

    /// The block of these parts; `d` as bits of an f16, codes 0 to 31.
    #[inline(always)]
    pub fn from_parts(d: u16, codes: &[u8; 32]) -> Self {
        Self { d: d.to_le_bytes(), high: pack_fifth(codes), low: pack_nibbles(codes) }
    }

    /// The scale.
    #[inline(always)]
    pub fn d(&self) -> f32 {
        half(self.d)
    }

    /// The codes in the order of the elements, 0 to 31.
    #[inline(always)]
    pub fn codes(&self) -> [u8; 32] {
        nibbles_and_fifth(&self.low, self.high)
    }
}
