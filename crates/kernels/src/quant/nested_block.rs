//! Q4_K and Q5_K: 256 weights in eight sub-blocks of 32, each with a scale and a minimum of six bits.
//!
//! Weight i of sub-block s = (d · scale\[s\]) · code\[i\] − (dmin · min\[s\]). Bytes 32j … 32j + 31
//! of `low` hold the low four bits of sub-block 2j in their low halves and of sub-block 2j + 1 in
//! their high halves. Codes of five bits have the fifth of element i of sub-block s in bit s of
//! byte i of `high`.

use super::affine;
use super::block::{Block, half, half_is_finite};
use super::packed::{GROUP, Layout, put_half};
use super::round::finite;
use super::search::Search;
use super::six_bit::{self, ScalesAndMins};
use super::tile::{MOST_CODES, Scales, Tiled};
use crate::scalar::quant::Plain;

/// A block as it stands in a file, with so many bytes of fifth bits: none or 32.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NestedBlock<const HIGH: usize> {
    d: [u8; 2],
    dmin: [u8; 2],
    scales_and_mins: [u8; 12],
    high: [u8; HIGH],
    low: [u8; 128],
}

/// 256 weights of 4 bits in 144 bytes.
#[allow(non_camel_case_types, reason = "the format's own name")]
pub type BlockQ4_K = NestedBlock<0>;
/// 256 weights of 5 bits in 176 bytes.
#[allow(non_camel_case_types, reason = "the format's own name")]
pub type BlockQ5_K = NestedBlock<32>;

const _: () = assert!(size_of::<BlockQ4_K>() == 144 && align_of::<BlockQ4_K>() == 1);
const _: () = assert!(size_of::<BlockQ5_K>() == 176 && align_of::<BlockQ5_K>() == 1);

// SAFETY: bytes alone, so alignment 1, no padding, and every pattern is a value.
unsafe impl<const HIGH: usize> Block for NestedBlock<HIGH> {
    const LEN: usize = 256;

    #[inline(always)]
    fn dequantise(&self, out: &mut [f32]) {
        six_bit::dequantise(&self.scales_and_mins, [self.d(), self.dmin()], &self.codes(), out);
    }

    #[inline(always)]
    fn quantise(values: &[f32]) -> Self {
        Self::quantise_by(Plain, values)
    }

    #[inline(always)]
    fn is_finite(&self) -> bool {
        half_is_finite(self.d) & half_is_finite(self.dmin)
    }
}

impl<const HIGH: usize> NestedBlock<HIGH> {
    /// As [`Block::quantise`], with a search for this CPU.
    #[inline(always)]
    pub(crate) fn quantise_by(search: impl Search, values: &[f32]) -> Self {
        let (scales, codes) = affine::quantise(search, if HIGH == 0 { 15.0 } else { 31.0 }, &finite(values));
        Self::from_parts(&scales, &codes)
    }

    /// The block of these parts; codes of four or five bits.
    #[inline(always)]
    pub fn from_parts(scales: &ScalesAndMins, codes: &[u8; 256]) -> Self {
        let (mut low, mut high) = ([0; 128], [0; HIGH]);
        for (j, two) in codes.as_chunks::<64>().0.iter().enumerate() {
            for i in 0..32 {
                low[32 * j + i] = (two[i] & 15) | (two[i + 32] << 4);
                if HIGH != 0 {
                    high[i] |= ((two[i] >> 4 & 1) | (two[i + 32] >> 3 & 2)) << (2 * j);
                }
            }
        }
        let (d, dmin) = (scales.d.to_le_bytes(), scales.dmin.to_le_bytes());
        Self { d, dmin, scales_and_mins: six_bit::pack(scales), high, low }
    }

    /// The scale of the scales.
    #[inline(always)]
    pub fn d(&self) -> f32 {
        half(self.d)
    }

    /// The scale of the mins.
    #[inline(always)]
    pub fn dmin(&self) -> f32 {
        half(self.dmin)
    }

    /// The scale of each sub-block, 0 to 63.
    #[inline(always)]
    pub fn scales(&self) -> [u8; 8] {
        six_bit::unpack(&self.scales_and_mins).0
    }

    /// What is subtracted in each sub-block, 0 to 63.
    #[inline(always)]
    pub fn mins(&self) -> [u8; 8] {
        six_bit::unpack(&self.scales_and_mins).1
    }

    /// The codes in the order of the elements.
    #[inline(always)]
    pub fn codes(&self) -> [u8; 256] {
        let mut codes = [0; 256];
        let low = self.low.as_chunks::<32>().0;
        for (j, (two, low)) in codes.as_chunks_mut::<64>().0.iter_mut().zip(low).enumerate() {
            for (i, byte) in low.iter().enumerate() {
                let high = if HIGH == 0 { 0 } else { self.high[i] >> (2 * j) };
                two[i] = (byte & 15) | ((high & 1) << 4);
                two[i + 32] = (byte >> 4) | ((high & 2) << 3);
            }
        }
        codes
    }
}

impl<const HIGH: usize> Tiled for NestedBlock<HIGH> {
    const BITS: usize = if HIGH == 0 { 4 } else { 5 };
    const ZERO: i32 = 0;
    const OFFSETS: bool = true;

    #[inline(always)]
    fn all_codes(&self) -> [u8; MOST_CODES] {
        self.codes()
    }

    #[inline(always)]
    fn tile_scales(&self, index: usize) -> Scales {
        let (scale, min) = (f32::from(self.scales()[index]), f32::from(self.mins()[index]));
        Scales { scales: [self.d() * scale; 2], offset: -(self.dmin() * min) }
    }
}

impl<const HIGH: usize> Layout for NestedBlock<HIGH> {
    const NESTED: bool = true;

    fn write_scales(&self, chunk: &mut [u8], _: usize, row: usize) {
        put_half(chunk, 2 * row, self.d());
        put_half(chunk, 2 * GROUP + 2 * row, self.dmin());
        for (tile, (scale, min)) in self.scales().into_iter().zip(self.mins()).enumerate() {
            chunk[Self::scales_at(tile) + row] = scale;
            chunk[Self::offsets_at(tile) + row] = min;
        }
    }
}
