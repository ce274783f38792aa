//! Packed weights times activations.

use std::ops::Range;

use crate::quant::activations::{ActivationBlock, ActivationRow, Activations};
use crate::quant::half::f16_to_f32;
use crate::quant::matmul::Outputs;
use crate::quant::packed::{GROUP, LINE, Layout, PackedRows, low_line, six_bit_line, with_layout};
use crate::quant::tile::{Scales, TILE};

/// See [`Kernels::matvec_packed`](crate::Kernels::matvec_packed).
pub(crate) fn matvec_packed(weights: PackedRows<'_>, x: ActivationRow<'_>, out: &mut [f32]) {
    for (n, out) in out.iter_mut().enumerate() {
        *out = with_layout!(weights.format(), L => dot_packed::<L>(weights, n, x));
    }
}

/// See [`Kernels::matmul_packed`](crate::Kernels::matmul_packed).
pub(crate) fn matmul_packed(weights: PackedRows<'_>, x: &Activations, out: &mut Outputs<'_>) {
    for row in 0..x.rows() {
        matvec_packed(weights, x.row(row), out.row_mut(row));
    }
}

fn dot_packed<L: Layout>(weights: PackedRows<'_>, n: usize, x: ActivationRow<'_>) -> f32 {
    let codes = x.codes().as_chunks::<TILE>().0.iter();
    codes.zip(x.blocks).enumerate().fold(0.0, |acc, (t, (codes, block))| {
        let chunk = weights.chunk(n / GROUP, t / L::TILES);
        let (weights, scales) = read_tile::<L>(chunk, t % L::TILES, n % GROUP);
        add_tile::<L>(acc, &weights, &scales, XTile { codes, block })
    })
}

/// A tile of activations.
#[derive(Clone, Copy)]
pub(crate) struct XTile<'a> {
    pub codes: &'a [i8; TILE],
    pub block: &'a ActivationBlock,
}

/// What one tile of a row adds: the order of these operations is the kernel's definition.
pub(crate) fn add_tile<L: Layout>(mut acc: f32, codes: &[u8; TILE], tile: &Scales, x: XTile<'_>) -> f32 {
    let sum = |range: Range<usize>| -> i32 {
        let products = codes[range.clone()].iter().zip(&x.codes[range]);
        products.map(|(code, x)| (i32::from(*code) - L::ZERO) * i32::from(*x)).sum()
    };
    if L::HALVED {
        acc = (sum(0..16) as f32).mul_add(tile.scales[0] * x.block.scale, acc);
        acc = (sum(16..32) as f32).mul_add(tile.scales[1] * x.block.scale, acc);
    } else {
        acc = (sum(0..32) as f32).mul_add(tile.scales[0] * x.block.scale, acc);
    }
    if L::OFFSETS { tile.offset.mul_add(x.block.scaled_sum, acc) } else { acc }
}

/// The tile of one row of a group, out of its chunk.
fn read_tile<L: Layout>(chunk: &[u8], tile: usize, row: usize) -> ([u8; TILE], Scales) {
    let half = |at: usize| f16_to_f32(u16::from_le_bytes([chunk[at], chunk[at + 1]]));
    let (scale_at, offset_at) = (L::scales_at(tile), L::offsets_at(tile));
    let (scales, offset) = if !L::NESTED {
        ([half(scale_at + 2 * row); 2], if L::OFFSETS { half(offset_at + 2 * row) } else { 0.0 })
    } else if L::HALVED {
        ([0, GROUP].map(|half_at| half(2 * row) * f32::from(chunk[scale_at + half_at + row] as i8)), 0.0)
    } else {
        let offset = half(2 * GROUP + 2 * row) * f32::from(chunk[offset_at + row]);
        ([half(2 * row) * f32::from(chunk[scale_at + row]); 2], -offset)
    };
    let tile = &chunk[L::codes_at(tile)..][..L::TILE_CODES];
    (std::array::from_fn(|k| read_code(L::BITS, tile, row, k)), Scales { scales, offset })
}

/// The code of one row and column of a tile.
fn read_code(bits: usize, tile: &[u8], row: usize, column: usize) -> u8 {
    let (step, at) = (column / 4, 4 * row + column % 4);
    if bits == 8 {
        return tile[LINE * step + at];
    }
    if bits == 6 {
        let line = |line: usize| tile[LINE * line + at];
        let first = six_bit_line(step);
        return match step % 4 {
            3 => line(first) >> 6 << 4 | line(first + 1) >> 6 << 2 | line(first + 2) >> 6,
            _ => line(first) & 63,
        };
    }
    let low = tile[LINE * low_line(bits, step) + at] >> (step % 2 * 4) & 15;
    if bits == 5 { low | (tile[at] >> step & 1) << 4 } else { low }
}
