//! Every format seen in one way: tiles of 32 weights.
//!
//! Weight i of a tile = scale\[i / 16\] · (code\[i\] − [`ZERO`](Tiled::ZERO)) + offset. All of it
//! is exact in f32: a scale is at most the product of eleven bits by eight.

use super::block::Block;

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
pub(crate) fn padded(codes: [u8; TILE]) -> [u8; MOST_CODES] {
    let mut all = [0; MOST_CODES];
    all[..TILE].copy_from_slice(&codes);
    all
}
