//! Q4_0 and Q5_0: 32 weights and one scale. Weight i = d · (code\[i\] − [`ZERO`](SymmetricBlock::ZERO)).
//!
//! Byte j of `low` holds the low four bits of element j in its low half and those of element j + 16
//! in its high half. Codes of five bits have the fifth of element i in bit i of the little-endian
//! number `high`.

use super::block::{Block, fifth_bits, half, half_is_finite, nibbles, pack_fifth_bits, pack_nibbles};
use super::packed::Layout;
use super::round::{at_most, each, extreme, finite, floor, inverse, low_byte, scale_bits};
use super::tile::{MOST_CODES, Scales, Tiled, padded};

/// A block as it stands in a file, with so many bytes of fifth bits: none or four.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SymmetricBlock<const HIGH: usize> {
    d: [u8; 2],
    high: [u8; HIGH],
    low: [u8; 16],
}

/// 32 weights of 4 bits in 18 bytes.
#[allow(non_camel_case_types, reason = "the format's own name")]
pub type BlockQ4_0 = SymmetricBlock<0>;
/// 32 weights of 5 bits in 22 bytes.
#[allow(non_camel_case_types, reason = "the format's own name")]
pub type BlockQ5_0 = SymmetricBlock<4>;

const _: () = assert!(size_of::<BlockQ4_0>() == 18 && align_of::<BlockQ4_0>() == 1);
const _: () = assert!(size_of::<BlockQ5_0>() == 22 && align_of::<BlockQ5_0>() == 1);

// SAFETY: bytes alone, so alignment 1, no padding, and every pattern is a value.
unsafe impl<const HIGH: usize> Block for SymmetricBlock<HIGH> {
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
        let (zero, most) = (f32::from(Self::ZERO), f32::from(2 * Self::ZERO - 1));
        let values: [f32; 32] = finite(values);
        let d = extreme(&values) / -zero;
        let inverse = inverse(d);
        let codes = each(&values, |value| low_byte(at_most(floor(value * inverse + (zero + 0.5)), most)));
        Self::from_parts(scale_bits(d), &codes)
    }

    #[inline(always)]
    fn is_finite(&self) -> bool {
        half_is_finite(self.d)
    }
}

impl<const HIGH: usize> SymmetricBlock<HIGH> {
    /// The code that stands for zero.
    pub const ZERO: u8 = if HIGH == 0 { 8 } else { 16 };

    /// The block of these parts; `d` as bits of an f16, codes below twice [`ZERO`](Self::ZERO).
    #[inline(always)]
    pub fn from_parts(d: u16, codes: &[u8; 32]) -> Self {
        Self { d: d.to_le_bytes(), high: pack_fifth_bits(codes), low: pack_nibbles(codes) }
    }

    /// The scale.
    #[inline(always)]
    pub fn d(&self) -> f32 {
        half(self.d)
    }

    /// The codes in the order of the elements.
    #[inline(always)]
    pub fn codes(&self) -> [u8; 32] {
        fifth_bits(nibbles(&self.low), self.high)
    }
}

impl<const HIGH: usize> Tiled for SymmetricBlock<HIGH> {
    const BITS: usize = if HIGH == 0 { 4 } else { 5 };
    const ZERO: i32 = Self::ZERO as i32;

    #[inline(always)]
    fn all_codes(&self) -> [u8; MOST_CODES] {
        padded(self.codes())
    }

    #[inline(always)]
    fn tile_scales(&self, _: usize) -> Scales {
        Scales { scales: [self.d(); 2], offset: 0.0 }
    }
}

impl<const HIGH: usize> Layout for SymmetricBlock<HIGH> {}
