//! Q4_1 and Q5_1: 32 weights, one scale and one offset. Weight i = d · code\[i\] + m.
//!
//! The codes lie as those of Q4_0 and Q5_0.

use super::block::{Block, fifth_bits, half, half_is_finite, nibbles, pack_fifth_bits, pack_nibbles};
use super::packed::Layout;
use super::round::{at_most, each, finite, floor, inverse, low_byte, range, scale_bits};
use super::tile::{MOST_CODES, Scales, Tiled, padded};

/// A block as it stands in a file, with so many bytes of fifth bits: none or four.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AffineBlock<const HIGH: usize> {
    d: [u8; 2],
    m: [u8; 2],
    high: [u8; HIGH],
    low: [u8; 16],
}

/// 32 weights of 4 bits in 20 bytes.
#[allow(non_camel_case_types, reason = "the format's own name")]
pub type BlockQ4_1 = AffineBlock<0>;
/// 32 weights of 5 bits in 24 bytes.
#[allow(non_camel_case_types, reason = "the format's own name")]
pub type BlockQ5_1 = AffineBlock<4>;

const _: () = assert!(size_of::<BlockQ4_1>() == 20 && align_of::<BlockQ4_1>() == 1);
const _: () = assert!(size_of::<BlockQ5_1>() == 24 && align_of::<BlockQ5_1>() == 1);

// SAFETY: bytes alone, so alignment 1, no padding, and every pattern is a value.
unsafe impl<const HIGH: usize> Block for AffineBlock<HIGH> {
    const LEN: usize = 32;

    #[inline(always)]
    fn dequantise(&self, out: &mut [f32]) {
        let (d, m) = (self.d(), self.m());
        for (out, &code) in out.iter_mut().zip(&self.codes()) {
            *out = d * f32::from(code) + m;
        }
    }

    /// The smallest value becomes code 0, the largest the largest code.
    #[inline(always)]
    fn quantise(values: &[f32]) -> Self {
        let most = if HIGH == 0 { 15.0 } else { 31.0 };
        let values: [f32; 32] = finite(values);
        let (low, high) = range(&values);
        let d = (high - low) / most;
        let inverse = inverse(d);
        let codes = each(&values, |value| low_byte(at_most(floor((value - low) * inverse + 0.5), most)));
        Self::from_parts(scale_bits(d), scale_bits(low), &codes)
    }

    #[inline(always)]
    fn is_finite(&self) -> bool {
        half_is_finite(self.d) & half_is_finite(self.m)
    }
}

impl<const HIGH: usize> AffineBlock<HIGH> {
    /// The block of these parts; `d` and `m` as bits of f16, codes of four or five bits.
    #[inline(always)]
    pub fn from_parts(d: u16, m: u16, codes: &[u8; 32]) -> Self {
        Self { d: d.to_le_bytes(), m: m.to_le_bytes(), high: pack_fifth_bits(codes), low: pack_nibbles(codes) }
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

    /// The codes in the order of the elements.
    #[inline(always)]
    pub fn codes(&self) -> [u8; 32] {
        fifth_bits(nibbles(&self.low), self.high)
    }
}

impl<const HIGH: usize> Tiled for AffineBlock<HIGH> {
    const BITS: usize = if HIGH == 0 { 4 } else { 5 };
    const ZERO: i32 = 0;
    const OFFSETS: bool = true;

    #[inline(always)]
    fn all_codes(&self) -> [u8; MOST_CODES] {
        padded(self.codes())
    }

    #[inline(always)]
    fn tile_scales(&self, _: usize) -> Scales {
        Scales { scales: [self.d(); 2], offset: self.m() }
    }
}

impl<const HIGH: usize> Layout for AffineBlock<HIGH> {}
