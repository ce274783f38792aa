//! Q5_K: 256 weights in 176 bytes, eight sub-blocks of 32.
//!
//! Weight i of sub-block s = (d · scale\[s\]) · code\[i\] − (dmin · min\[s\]). Bytes 32j … 32j + 31 of `low` hold the low four
//! bits of sub-block 2j in their low halves and of sub-block 2j + 1 in their high halves; bit s of byte i of `high` is the
//! fifth bit of element i of sub-block s.

use super::affine;
use super::block::{Block, half};
use super::round::finite;
use super::search::Search;
use super::six_bit::{self, ScalesAndMins};
use crate::scalar::quant::Plain;

/// A block as it stands in a file.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(non_camel_case_types, reason = "the format's own name")]
pub struct BlockQ5_K {
    d: [u8; 2],
    dmin: [u8; 2],
    scales_and_mins: [u8; 12],
    high: [u8; 32],
    low: [u8; 128],
}

const _: () = assert!(size_of::<BlockQ5_K>() == 176 && align_of::<BlockQ5_K>() == 1);

// SAFETY: bytes alone, so alignment 1, no padding, and every pattern is a value.
unsafe impl Block for BlockQ5_K {
    const LEN: usize = 256;

    #[inline(always)]
    fn dequantise(&self, out: &mut [f32]) {
        six_bit::dequantise(&self.scales_and_mins, [self.d(), self.dmin()], &self.codes(), out);
    }

    #[inline(always)]
    fn quantise(values: &[f32]) -> Self {
        Self::quantise_by(Plain, values)
    }
}

impl BlockQ5_K {
    /// As [`Block::quantise`], with a search for this CPU.
    #[inline(always)]
    pub(crate) fn quantise_by(search: impl Search, values: &[f32]) -> Self {
        let (scales, codes) = affine::quantise(search, 31.0, &finite(values));
        Self::from_parts(&scales, &codes)
    }

    /// The block of these parts; codes 0 to 31.
    #[inline(always)]
    pub fn from_parts(scales: &ScalesAndMins, codes: &[u8; 256]) -> Self {
        let (mut low, mut high) = ([0; 128], [0; 32]);
        for (j, two) in codes.as_chunks::<64>().0.iter().enumerate() {
            for i in 0..32 {
                low[32 * j + i] = (two[i] & 15) | (two[i + 32] << 4);
                high[i] |= ((two[i] >> 4 & 1) | (two[i + 32] >> 3 & 2)) << (2 * j);
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

    /// The codes in the order of the elements, 0 to 31.
    #[inline(always)]
    pub fn codes(&self) -> [u8; 256] {
        let mut codes = [0; 256];
        for (j, two) in codes.as_chunks_mut::<64>().0.iter_mut().enumerate() {
            for i in 0..32 {
                let (low, high) = (self.low[32 * j + i], self.high[i] >> (2 * j));
                two[i] = (low & 15) | ((high & 1) << 4);
                two[i + 32] = (low >> 4) | ((high & 2) << 3);
            }
        }
        codes
    }
}
