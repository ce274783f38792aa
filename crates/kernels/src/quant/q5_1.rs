//! Q5_1: 32 weights in 24 bytes. Weight i = d · code\[i\] + m.
//!
//! Byte j of `low` holds the low four bits of element j in its low half and those of element j + 16 in its high half; bit i
//! of the little-endian number `high` is the fifth bit of element i.

use super::block::{Block, half, nibbles_and_fifth, pack_fifth, pack_nibbles};
use super::round::{at_most, each, finite, floor, inverse, low_byte, range, scale_bits};

/// A block as it stands in a file.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(non_camel_case_types, reason = "the format's own name")]
pub struct BlockQ5_1 {
    d: [u8; 2],
    m: [u8; 2],
    high: [u8; 4],
    low: [u8; 16],
}

const _: () = assert!(size_of::<BlockQ5_1>() == 24 && align_of::<BlockQ5_1>() == 1);

// SAFETY: bytes alone, so alignment 1, no padding, and every pattern is a value.
unsafe impl Block for BlockQ5_1 {
    const LEN: usize = 32;

    #[inline(always)]
    fn dequantise(&self, out: &mut [f32]) {
        let (d, m) = (self.d(), self.m());
        for (out, &code) in out.iter_mut().zip(&self.codes()) {
            *out = d * f32::from(code) + m;
        }
    }

    /// The smallest value becomes code 0, the largest code 31.
    #[inline(always)]
    fn quantise(values: &[f32]) -> Self {
        let values: [f32; 32] = finite(values);
        let (low, high) = range(&values);
        let d = (high - low) / 31.0;
        let inverse = inverse(d);
        let codes = each(&values, |value| low_byte(at_most(floor((value - low) * inverse + 0.5), 31.0)));
        Self::from_parts(scale_bits(d), scale_bits(low), &codes)
    }
}

impl BlockQ5_1 {
    /// The block of these parts; `d` and `m` as bits of f16, codes 0 to 31.
    #[inline(always)]
    pub fn from_parts(d: u16, m: u16, codes: &[u8; 32]) -> Self {
        Self { d: d.to_le_bytes(), m: m.to_le_bytes(), high: pack_fifth(codes), low: pack_nibbles(codes) }
    }

    /// The scale.
    #[inline(always)]
    pub fn d(&self) -> f32 {
        half(self.d)
    }

    /// The value of code 0, which is added to every weight.
    #[inline(always)]
    pub fn m(&self) -> f32 {
        half(self.m)
    }

    /// The codes in the order of the elements, 0 to 31.
    #[inline(always)]
    pub fn codes(&self) -> [u8; 32] {
        nibbles_and_fifth(&self.low, self.high)
    }
}
