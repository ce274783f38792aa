//! Q5_0: 32 weights in 22 bytes. Weight i = d · (code\[i\] − 16).
//!
//! Byte j of `low` holds the low four bits of element j in its low half and those of element j + 16 in its high half; bit i
//! of the little-endian number `high` is the fifth bit of element i.

use super::block::{Block, half, nibbles_and_fifth, pack_fifth, pack_nibbles};
use super::round::{at_most, each, extreme, finite, floor, inverse, low_byte, scale_bits};

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

    #[inline(always)]
    fn dequantise(&self, out: &mut [f32]) {
        let d = self.d();
        for (out, &code) in out.iter_mut().zip(&self.codes()) {
            *out = d * (i32::from(code) - i32::from(Self::ZERO)) as f32;
        }
    }

    /// The value of the largest magnitude becomes code 0, so that the side with one code more is the one that needs it.
    #[inline(always)]
    fn quantise(values: &[f32]) -> Self {
        let values: [f32; 32] = finite(values);
        let d = extreme(&values) / -f32::from(Self::ZERO);
        let inverse = inverse(d);
        let codes = each(&values, |value| low_byte(at_most(floor(value * inverse + 16.5), 31.0)));
        Self::from_parts(scale_bits(d), &codes)
    }
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
