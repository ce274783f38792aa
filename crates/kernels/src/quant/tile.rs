//! Every format seen in one way: tiles of 32 weights.
//!
//! Weight i of a tile = scale\[i / 16\] · (code\[i\] − [`ZERO`](Tiled::ZERO)) + offset. All of it is exact in f32: a scale is at most
//! the product of eleven bits by eight.

use super::block::Block;
use super::{BlockQ4_0, BlockQ4_1, BlockQ4_K, BlockQ5_0, BlockQ5_1, BlockQ5_K, BlockQ6_K, BlockQ8_0};

/// How many weights a tile has: the shortest block of any format, and the block of the activations.
pub(crate) const TILE: usize = 32;

/// 32 weights of a row in their integer parts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tile {
    /// In the order of the elements, counted from 0.
    pub codes: [u8; TILE],
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

    /// Tile `index` of the block.
    fn tile(&self, index: usize) -> Tile;
}

/// The codes of one tile out of many.
#[inline(always)]
fn part(codes: &[u8], index: usize) -> [u8; TILE] {
    codes.as_chunks::<TILE>().0[index]
}

impl Tiled for BlockQ8_0 {
    const BITS: usize = 8;
    const ZERO: i32 = 128;

    #[inline(always)]
    fn tile(&self, _: usize) -> Tile {
        Tile { codes: self.codes().map(|code| code as u8 ^ 0x80), scales: [self.d(); 2], offset: 0.0 }
    }
}

impl Tiled for BlockQ4_0 {
    const BITS: usize = 4;
    const ZERO: i32 = Self::ZERO as i32;

    #[inline(always)]
    fn tile(&self, _: usize) -> Tile {
        Tile { codes: self.codes(), scales: [self.d(); 2], offset: 0.0 }
    }
}

impl Tiled for BlockQ5_0 {
    const BITS: usize = 5;
    const ZERO: i32 = Self::ZERO as i32;

    #[inline(always)]
    fn tile(&self, _: usize) -> Tile {
        Tile { codes: self.codes(), scales: [self.d(); 2], offset: 0.0 }
    }
}

impl Tiled for BlockQ4_1 {
    const BITS: usize = 4;
    const ZERO: i32 = 0;
    const OFFSETS: bool = true;

    #[inline(always)]
    fn tile(&self, _: usize) -> Tile {
        Tile { codes: self.codes(), scales: [self.d(); 2], offset: self.m() }
    }
}

impl Tiled for BlockQ5_1 {
    const BITS: usize = 5;
    const ZERO: i32 = 0;
    const OFFSETS: bool = true;

    #[inline(always)]
    fn tile(&self, _: usize) -> Tile {
        Tile { codes: self.codes(), scales: [self.d(); 2], offset: self.m() }
    }
}

impl Tiled for BlockQ4_K {
    const BITS: usize = 4;
    const ZERO: i32 = 0;
    const OFFSETS: bool = true;

    #[inline(always)]
    fn tile(&self, index: usize) -> Tile {
        let (scale, min) = (f32::from(self.scales()[index]), f32::from(self.mins()[index]));
        Tile { codes: part(&self.codes(), index), scales: [self.d() * scale; 2], offset: -(self.dmin() * min) }
    }
}

impl Tiled for BlockQ5_K {
    const BITS: usize = 5;
    const ZERO: i32 = 0;
    const OFFSETS: bool = true;

    #[inline(always)]
    fn tile(&self, index: usize) -> Tile {
        let (scale, min) = (f32::from(self.scales()[index]), f32::from(self.mins()[index]));
        Tile { codes: part(&self.codes(), index), scales: [self.d() * scale; 2], offset: -(self.dmin() * min) }
    }
}

impl Tiled for BlockQ6_K {
    const BITS: usize = 6;
    const ZERO: i32 = Self::ZERO as i32;
    const HALVED: bool = true;

    #[inline(always)]
    fn tile(&self, index: usize) -> Tile {
        let scales = [0, 1].map(|half| self.d() * f32::from(self.scales()[2 * index + half]));
        Tile { codes: part(&self.codes(), index), scales, offset: 0.0 }
    }
}
