//! Q4_K: 256 weights in 144 bytes, eight sub-blocks of 32.
//!
//! Weight i of sub-block s = (d · scale\[s\]) · code\[i\] − (dmin · min\[s\]). Bytes 32j … 32j + 31 of the codes hold
//! sub-block 2j in their low halves and sub-block 2j + 1 in their high halves.

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
pub struct BlockQ4_K {
    d: [u8; 2],
    dmin: [u8; 2],
    scales_and_mins: [u8; 12],
    codes: [u8; 128],
}

const _: () = assert!(size_of::<BlockQ4_K>() == 144 && align_of::<BlockQ4_K>() == 1);

// SAFETY: bytes alone, so alignment 1, no padding, and every pattern is a value.
unsafe impl Block for BlockQ4_K {
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

impl BlockQ4_K {
    /// As [`Block::quantise`], with a search for this CPU.
    #[inline(always)]
    pub(crate) fn quantise_by(search: impl Search, values: &[f32]) -> Self {
        let (scales, codes) = affine::quantise(search, 15.0, &finite(values));
        Self::from_parts(&scales, &codes)
    }

    /// The block of these parts; codes 0 to 15.
    #[inline(always)]
    pub fn from_parts(scales: &ScalesAndMins, codes: &[u8; 256]) -> Self {
        let mut packed = [0; 128];
        for (bytes, two) in packed.as_chunks_mut::<32>().0.iter_mut().zip(codes.as_chunks::<64>().0) {
            for (i, byte) in bytes.iter_mut().enumerate() {
                *byte = (two[i] & 15) | (two[i + 32] << 4);
            }
        }
        let (d, dmin) = (scales.d.to_le_bytes(), scales.dmin.to_le_bytes());
        Self { d, dmin, scales_and_mins: six_bit::pack(scales), codes: packed }
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

    /// The codes in the order of the elements, 0 to 15.
    #[inline(always)]
    pub fn codes(&self) -> [u8; 256] {
        let mut codes = [0; 256];
        for (two, bytes) in codes.as_chunks_mut::<64>().0.iter_mut().zip(self.codes.as_chunks::<32>().0) {
            for (i, byte) in bytes.iter().enumerate() {
                two[i] = byte & 15;
                two[i + 32] = byte >> 4;
            }
        }
        codes
    }
}
