//! Weights as they lie in a file, times activations.
//!
//! Row by row. The products of a tile are added up in the lanes of a vector; the lanes of four
//! tiles are added up together, and the sums are scaled one after the other, in the order of the
//! definition.

use crate::quant::activations::{ActivationBlock, ActivationRow};
use crate::quant::byte_simd::ByteSimd;
use crate::quant::packed::{Layout, with_layout};
use crate::quant::tile::TILE;
use crate::quant::{Block, Format, blocks};

/// Tiles whose lanes are added up together.
const RUN: usize = 4;

/// See [`Kernels::matvec_blocks`](crate::Kernels::matvec_blocks).
#[inline(always)]
pub(crate) fn matvec_blocks<S: ByteSimd>(
    simd: S,
    format: Format,
    weights: &[u8],
    x: ActivationRow<'_>,
    out: &mut [f32],
) {
    with_layout!(format, L => {
        let rows = blocks::<L>(weights).chunks_exact((x.columns() / L::LEN).max(1));
        out.fill(0.0);
        for (out, blocks) in out.iter_mut().zip(rows) {
            *out = if L::LEN == TILE { short_blocks::<S, L>(simd, blocks, x) } else { long_blocks::<S, L>(simd, blocks, x) };
        }
    });
}

/// Blocks of one tile.
#[inline(always)]
fn short_blocks<S: ByteSimd, L: Layout>(simd: S, weights: &[L], x: ActivationRow<'_>) -> f32 {
    let (runs, rest) = weights.as_chunks::<RUN>();
    let (x_runs, x_rest) = x.codes().as_chunks::<TILE>().0.as_chunks::<RUN>();
    let (block_runs, block_rest) = x.blocks.as_chunks::<RUN>();
    let mut acc = 0.0;
    for ((weights, x), blocks) in runs.iter().zip(x_runs).zip(block_runs) {
        let tile = dot::<S, L>(simd, &weights[0].tile_codes(0), &x[0]);
        let mut tiles = [tile; RUN];
        for i in 1..RUN {
            tiles[i] = dot::<S, L>(simd, &weights[i].tile_codes(0), &x[i]);
        }
        let sums = sums::<S, L>(simd, &tiles);
        for i in 0..RUN {
            acc = add::<L>(acc, &weights[i], 0, sums[i], &blocks[i]);
        }
    }
    for ((weights, x), block) in rest.iter().zip(x_rest).zip(block_rest) {
        let tile = dot::<S, L>(simd, &weights.tile_codes(0), x);
        acc = add::<L>(acc, weights, 0, sums::<S, L>(simd, &[tile; RUN])[0], block);
    }
    acc
}

/// Blocks of several runs of tiles.
#[inline(always)]
fn long_blocks<S: ByteSimd, L: Layout>(simd: S, weights: &[L], x: ActivationRow<'_>) -> f32 {
    let x_runs = x.codes().as_chunks::<TILE>().0.as_chunks::<RUN>().0;
    let runs = L::LEN / TILE / RUN;
    let mut acc = 0.0;
    for (b, block) in weights.iter().enumerate() {
        let codes = block.all_codes();
        for run in 0..runs {
            let at = b * runs + run;
            let x_run = &x_runs[at];
            let codes = &codes.as_chunks::<TILE>().0[RUN * run..][..RUN];
            let mut tiles = [dot::<S, L>(simd, &codes[0], &x_run[0]); RUN];
            for i in 1..RUN {
                tiles[i] = dot::<S, L>(simd, &codes[i], &x_run[i]);
            }
            let sums = sums::<S, L>(simd, &tiles);
            for (i, x_block) in x.blocks[RUN * at..][..RUN].iter().enumerate() {
                acc = add::<L>(acc, block, RUN * run + i, sums[i], x_block);
            }
        }
    }
    acc
}

#[inline(always)]
fn dot<S: ByteSimd, L: Layout>(simd: S, codes: &[u8; TILE], x: &[i8; TILE]) -> S::TileSums {
    if L::BITS == 8 { simd.dot_wide_tile(codes, x) } else { simd.dot_tile(codes, x) }
}

/// The sums of four tiles: of both halves, or of all and nothing.
#[inline(always)]
fn sums<S: ByteSimd, L: Layout>(simd: S, tiles: &[S::TileSums; RUN]) -> [[i32; 2]; RUN] {
    if L::HALVED {
        let [low, high] = simd.halves(tiles);
        [[low[0], high[0]], [low[1], high[1]], [low[2], high[2]], [low[3], high[3]]]
    } else {
        let [a, b, c, d] = simd.wholes(tiles);
        [[a, 0], [b, 0], [c, 0], [d, 0]]
    }
}

/// What one tile of a row adds, in the order of the definition.
#[inline(always)]
fn add<L: Layout>(mut acc: f32, weights: &L, tile: usize, sums: [i32; 2], x: &ActivationBlock) -> f32 {
    let scales = weights.tile_scales(tile);
    let [first, second] = match L::ZERO {
        8 => [sums[0] + x.minus.by_8, 0],
        16 => [sums[0] + x.minus.by_16, 0],
        32 => [sums[0] + x.minus.halves_by_32[0], sums[1] + x.minus.halves_by_32[1]],
        _ => sums,
    };
    acc = (first as f32).mul_add(scales.scales[0] * x.scale, acc);
    if L::HALVED {
        acc = (second as f32).mul_add(scales.scales[1] * x.scale, acc);
    }
    if L::OFFSETS { scales.offset.mul_add(x.scaled_sum, acc) } else { acc }
}
