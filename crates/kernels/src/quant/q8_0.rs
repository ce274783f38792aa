//! Q8_0: 32 weights in 34 bytes. Weight i = d · code\[i\].

use super::block::{Block, half, half_is_finite};
use super::packed::Layout;
use super::round::{each, finite, inverse, largest_magnitude, low_byte, nearest_away, scale_bits};
use super::tile::{MOST_CODES, Scales, TILE, Tiled, padded};

/// A block as it stands in a file.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(non_camel_case_types, reason = "the format's own name")]
pub struct BlockQ8_0 {
    d: [u8; 2],
    codes: [i8; 32],
}

const _: () = assert!(size_of::<BlockQ8_0>() == 34 && align_of::<BlockQ8_0>() == 1);

// SAFETY: bytes alone, so alignment 1, no padding, and every pattern is a value.
unsafe impl Block for BlockQ8_0 {
    const LEN: usize = 32;

    #[inline(always)]
    fn dequantise(&self, out: &mut [f32]) {
        let d = self.d();
        for (out, &code) in out.iter_mut().zip(&self.codes) {
            *out = d * f32::from(code);
        }
    }

    /// The value of the largest magnitude becomes ±127.
    #[inline(always)]
    fn quantise(values: &[f32]) -> Self {
        let values: [f32; 32] = finite(values);
        let d = largest_magnitude(&values) / 127.0;
        let inverse = inverse(d);
        let codes = each(&values, |value| low_byte(nearest_away(value * inverse)) as i8);
        Self::from_parts(scale_bits(d), &codes)
    }

    #[inline(always)]
    fn is_finite(&self) -> bool {
        half_is_finite(self.d)
    }
}

impl BlockQ8_0 {
    /// The block of these parts; `d` as bits of an f16.
    #[inline(always)]
    pub fn from_parts(d: u16, codes: &[i8; 32]) -> Self {
        Self { d: d.to_le_bytes(), codes: *codes }
    }

    /// The scale.
    #[inline(always)]
    pub fn d(&self) -> f32 {
        half(self.d)
    }

    /// The codes in the order of the elements, −128 to 127; quantisers write −127 to 127.
    #[inline(always)]
    pub fn codes(&self) -> [i8; 32] {
        self.codes
    }
}

impl Tiled for BlockQ8_0 {
    const BITS: usize = 8;
    const ZERO: i32 = 128;

    #[inline(always)]
    fn all_codes(&self) -> [u8; MOST_CODES] {
        let mut codes = [0; TILE];
        for (to, code) in codes.iter_mut().zip(self.codes()) {
            *to = code as u8 ^ 0x80;
        }
        padded(codes)
    }

    #[inline(always)]
    fn tile_scales(&self, _: usize) -> Scales {
        Scales { scales: [self.d(); 2], offset: 0.0 }
    }
}

impl Layout for BlockQ8_0 {}
