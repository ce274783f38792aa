//! Every format seen in one way: tiles of 32 weights.
//!
//! Weight i of a tile = scale\[i / 16\] · (code\[i\] − [`ZERO`](Tiled::ZERO)) + offset. All of it is exact in f32: a scale is at most
//! the product of eleven bits by eight.

use super::block::Block;
use super::{BlockQ4_0, BlockQ4_1, BlockQ4_K, BlockQ5_0, BlockQ5_1, BlockQ5_K, BlockQ6_K, BlockQ8_0};

/// How many weights a tile has: the shortest block of any format, and the block of the activations.
pub(crate) const TILE: usize = 32;

/// As many codes as the longest block has.
pub(crate) const MOST_CODES: usize = 256;

/// What turns the codes of a tile into weights.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scales {
    /// The scale of each half.
    pub scales: [f32; 2],
    /// What is added to every weight.
    pub offset: f32,
}

/// A block whose weights come in tiles.
pub(crate) trait Tiled: Block {
    /// How many bits a code has.
    const BITS: usize;
    /// The code that stands for zero; zero where the format has offsets instead.
    const ZERO: i32;
    /// Whether the two halves of a tile have scales of their own.
    const HALVED: bool = false;
    /// Whether weights have an offset.
    const OFFSETS: bool = false;

    /// The codes in the order of the elements, counted from 0; as many as the block has.
    fn all_codes(&self) -> [u8; MOST_CODES];
    /// Those of tile `index`.
    #[inline(always)]
    fn tile_codes(&self, index: usize) -> [u8; TILE] {
        let all = self.all_codes();
        let mut codes = [0; TILE];
        codes.copy_from_slice(&all[TILE * index..][..TILE]);
        codes
    }
    /// The scales of tile `index`.
    fn tile_scales(&self, index: usize) -> Scales;
}

/// 32 codes, where there could be more.
#[inline(always)]
fn padded(codes: [u8; TILE]) -> [u8; MOST_CODES] {
    let mut all = [0; MOST_CODES];
    all[..TILE].copy_from_slice(&codes);
    all
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

/// The formats with one scale per block.
macro_rules! symmetric {
    ($($block:ty, $bits:literal;)+) => {$(
        impl Tiled for $block {
            const BITS: usize = $bits;
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
    )+};
}
symmetric! { BlockQ4_0, 4; BlockQ5_0, 5; }

/// The formats with one scale and one offset per block.
macro_rules! affine {
    ($($block:ty, $bits:literal;)+) => {$(
        impl Tiled for $block {
            const BITS: usize = $bits;
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
    )+};
}
affine! { BlockQ4_1, 4; BlockQ5_1, 5; }

/// The formats with scales and mins of six bits.
macro_rules! nested {
    ($($block:ty, $bits:literal;)+) => {$(
        impl Tiled for $block {
            const BITS: usize = $bits;
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
    )+};
}
nested! { BlockQ4_K, 4; BlockQ5_K, 5; }

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
