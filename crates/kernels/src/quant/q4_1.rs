//! Q4_1: 32 weights in 20 bytes. Weight i = d · code\[i\] + m.
//!
//! Byte j of the codes holds element j in its low half and element j + 16 in its high half.

use super::block::{Block, half, nibbles, pack_nibbles};
use super::round::{at_most, each, finite, floor, inverse, low_byte, range, scale_bits};

/// A block as it stands in a file.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(non_camel_case_types, reason = "the format's own name")]
pub struct BlockQ4_1 {
    d: [u8; 2],
    m: [u8; 2],
    codes: [u8; 16],
}

const _: () = assert!(size_of::<BlockQ4_1>() == 20 && align_of::<BlockQ4_1>() == 1);

// SAFETY: bytes alone, so alignment 1, no padding, and every pattern is a value.
unsafe impl Block for BlockQ4_1 {
    const LEN: usize = 32;

    #[inline(always)]
    fn dequantise(&self, out: &mut [f32]) {
        let (d, m) = (self.d(), self.m());
        for (out, &code) in out.iter_mut().zip(&self.codes()) {
            *out = d * f32::from(code) + m;
        }
    }

    /// The smallest value becomes code 0, the largest code 15.
    #[inline(always)]
    fn quantise(values: &[f32]) -> Self {
        let values: [f32; 32] = finite(values);
        let (low, high) = range(&values);
        let d = (high - low) / 15.0;
        let inverse = inverse(d);
        let codes = each(&values, |value| low_byte(at_most(floor((value - low) * inverse + 0.5), 15.0)));
        Self::from_parts(scale_bits(d), scale_bits(low), &codes)
    }
}

impl BlockQ4_1 {
    /// The block of these parts; `d` and `m` as bits of f16, codes 0 to 15.
    #[inline(always)]
    pub fn from_parts(d: u16, m: u16, codes: &[u8; 32]) -> Self {
        Self { d: d.to_le_bytes(), m: m.to_le_bytes(), codes: pack_nibbles(codes) }
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

    /// The codes in the order of the elements, 0 to 15.
    #[inline(always)]
    pub fn codes(&self) -> [u8; 32] {
        nibbles(&self.codes)
    }
}
