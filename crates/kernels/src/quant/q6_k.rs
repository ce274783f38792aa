//! Q6_K: 256 weights in 210 bytes, sixteen sub-blocks of 16.
//!
//! Weight i of sub-block s = (d · scale\[s\]) · (code\[i\] − 32). Each half of 128 elements takes
//! 64 bytes of `low` and 32 of `high`: byte j of `low` holds the low four bits of element j in its
//! low half and of element j + 64 in its high half; byte j of `high` the upper two bits of the
//! elements j, j + 32, j + 64 and j + 96, from its low end.

use super::block::{Block, half, half_is_finite};
use super::packed::{GROUP, Layout, put_half};
use super::round::finite;
use super::search::Search;
use super::symmetric;
use super::tile::{MOST_CODES, Scales, Tiled};
use crate::scalar::quant::Plain;

/// A block as it stands in a file.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(non_camel_case_types, reason = "the format's own name")]
pub struct BlockQ6_K {
    low: [u8; 128],
    high: [u8; 64],
    scales: [i8; 16],
    d: [u8; 2],
}

const _: () = assert!(size_of::<BlockQ6_K>() == 210 && align_of::<BlockQ6_K>() == 1);

// SAFETY: bytes alone, so alignment 1, no padding, and every pattern is a value.
unsafe impl Block for BlockQ6_K {
    const LEN: usize = 256;

    #[inline(always)]
    fn dequantise(&self, out: &mut [f32]) {
        let (d, codes) = (self.d(), self.codes());
        for (s, (out, codes)) in out.chunks_exact_mut(16).zip(codes.as_chunks::<16>().0).enumerate() {
            let scale = d * f32::from(self.scales[s]);
            for (out, &code) in out.iter_mut().zip(codes) {
                *out = scale * (i32::from(code) - i32::from(Self::ZERO)) as f32;
            }
        }
    }

    #[inline(always)]
    fn quantise(values: &[f32]) -> Self {
        Self::quantise_by(Plain, values)
    }

    #[inline(always)]
    fn is_finite(&self) -> bool {
        half_is_finite(self.d)
    }
}

impl BlockQ6_K {
    /// The code that stands for zero.
    pub const ZERO: u8 = 32;

    /// As [`Block::quantise`], with a search for this CPU.
    #[inline(always)]
    pub(crate) fn quantise_by(search: impl Search, values: &[f32]) -> Self {
        let (d, scales, codes) = symmetric::quantise(search, &finite(values));
        Self::from_parts(d, &scales, &codes)
    }

    /// The block of these parts; `d` as bits of an f16, codes 0 to 63.
    #[inline(always)]
    pub fn from_parts(d: u16, scales: &[i8; 16], codes: &[u8; 256]) -> Self {
        let mut block = Self { low: [0; 128], high: [0; 64], scales: *scales, d: d.to_le_bytes() };
        for (h, half) in codes.as_chunks::<128>().0.iter().enumerate() {
            for j in 0..32 {
                let [a, b, c, d] = [half[j], half[j + 32], half[j + 64], half[j + 96]];
                block.low[64 * h + j] = (a & 15) | (c << 4);
                block.low[64 * h + j + 32] = (b & 15) | (d << 4);
                block.high[32 * h + j] = (a >> 4 & 3) | (b >> 4 & 3) << 2 | (c >> 4 & 3) << 4 | (d >> 4) << 6;
            }
        }
        block
    }

    /// The scale of the scales.
    #[inline(always)]
    pub fn d(&self) -> f32 {
        half(self.d)
    }

    /// The scale of each sub-block of 16, −128 to 127.
    #[inline(always)]
    pub fn scales(&self) -> [i8; 16] {
        self.scales
    }

    /// The codes in the order of the elements, 0 to 63.
    #[inline(always)]
    pub fn codes(&self) -> [u8; 256] {
        let mut codes = [0; 256];
        for (h, half) in codes.as_chunks_mut::<128>().0.iter_mut().enumerate() {
            let (low, high) = (&self.low[64 * h..64 * h + 64], &self.high[32 * h..32 * h + 32]);
            for j in 0..32 {
                half[j] = (low[j] & 15) | ((high[j] & 3) << 4);
                half[j + 32] = (low[j + 32] & 15) | ((high[j] >> 2 & 3) << 4);
                half[j + 64] = (low[j] >> 4) | ((high[j] >> 4 & 3) << 4);
                half[j + 96] = (low[j + 32] >> 4) | ((high[j] >> 6) << 4);
            }
        }
        codes
    }
}

impl Tiled for BlockQ6_K {
    const BITS: usize = 6;
    const ZERO: i32 = Self::ZERO as i32;
    const HALVED: bool = true;

    #[inline(always)]
    fn all_codes(&self) -> [u8; MOST_CODES] {
        self.codes()
    }

    #[inline(always)]
    fn tile_scales(&self, index: usize) -> Scales {
        let scales = [0, 1].map(|half| self.d() * f32::from(self.scales()[2 * index + half]));
        Scales { scales, offset: 0.0 }
    }
}

impl Layout for BlockQ6_K {
    const NESTED: bool = true;

    fn write_scales(&self, chunk: &mut [u8], _: usize, row: usize) {
        put_half(chunk, 2 * row, self.d());
        for (half, scale) in self.scales().into_iter().enumerate() {
            chunk[Self::scales_at(half / 2) + half % 2 * GROUP + row] = scale as u8;
        }
    }
}
