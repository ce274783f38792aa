//! Packed weights times activations: one row of them here, many in `quant_panel`.

use super::quant_panel;
use crate::quant::Format;
use crate::quant::activations::{ActivationBlock, ActivationRow, Activations};
use crate::quant::byte_simd::{ByteSimd, steps, unrolled};
use crate::quant::matmul::Outputs;
use crate::quant::packed::{GROUP, LINE, Layout, PackedRows, high_line, low_line, with_layout};
use crate::quant::tile::TILE;

/// As many vectors as a group can have.
pub(super) const MOST_VECTORS: usize = 4;

/// Weights of more bytes come from DRAM. They are asked for ahead, because decoding fills the window in which the CPU looks
/// for loads: from DRAM q4_k went from 18 to 24 GB/s, q6_k from 18–20 to 22–26, but from L3 q4_0 from 70 down to 60.
const FROM_DRAM: usize = 16 << 20;
/// How far ahead. With half of it the gain was a third; further on, lines were lost again before their turn.
const AHEAD: usize = 8192;

/// See [`Kernels::matvec_packed`](crate::Kernels::matvec_packed).
#[inline(always)]
pub(crate) fn matvec_packed<S: ByteSimd>(simd: S, weights: PackedRows<'_>, x: ActivationRow<'_>, out: &mut [f32]) {
    let x = Row::new(x);
    let groups = out.len().div_ceil(GROUP);
    with_layout!(weights.format(), L => {
        // Codes of eight bits need no decoding.
        let far = weights.format() != Format::Q8_0 && groups * L::group_bytes(weights.tiles()) > FROM_DRAM;
        for (group, out) in out.chunks_mut(GROUP).enumerate() {
            let mut sums = [0.0; GROUP];
            let start = weights.group(group).as_ptr();
            // SAFETY: the group has as many tiles as the row of activations.
            unsafe {
                if far {
                    group_by_row::<S, L, true>(simd, start, weights.tiles(), x, &mut sums);
                } else {
                    group_by_row::<S, L, false>(simd, start, weights.tiles(), x, &mut sums);
                }
            }
            out.copy_from_slice(&sums[..out.len()]);
        }
    });
}

/// See [`Kernels::matmul_packed`](crate::Kernels::matmul_packed).
#[inline(always)]
pub(crate) fn matmul_packed<S: ByteSimd>(simd: S, weights: PackedRows<'_>, x: &Activations, out: &mut Outputs<'_>) {
    with_layout!(weights.format(), L => quant_panel::matmul::<S, L>(simd, weights, x, out));
}

/// One row of activations.
#[derive(Clone, Copy)]
pub(super) struct Row {
    pub codes: *const i8,
    pub wide: *const i16,
    pub blocks: *const ActivationBlock,
}

impl Row {
    #[inline(always)]
    pub(super) fn new(x: ActivationRow<'_>) -> Self {
        Self { codes: x.codes().as_ptr(), wide: x.wide.as_ptr(), blocks: x.blocks.as_ptr() }
    }

    /// Row `row` and those behind it: reaching them from a slice of this row alone would leave what it borrows.
    ///
    /// # Safety
    /// There is such a row.
    #[inline(always)]
    pub(super) unsafe fn first_of(x: &Activations, row: usize) -> Self {
        let whole = Self { codes: x.codes.as_ptr(), wide: x.wide.as_ptr(), blocks: x.blocks.as_ptr() };
        // SAFETY: as the caller promises.
        unsafe { whole.skip(row * (x.columns() / TILE)) }
    }

    /// So many tiles further.
    ///
    /// # Safety
    /// There are so many, in this row or in those behind it.
    #[inline(always)]
    pub(super) unsafe fn skip(self, tiles: usize) -> Self {
        // SAFETY: as the caller promises.
        unsafe {
            let (codes, wide) = (self.codes.add(TILE * tiles), self.wide.add(TILE * tiles));
            Self { codes, wide, blocks: self.blocks.add(tiles) }
        }
    }
}

/// # Safety
/// A group of `tiles` tiles lies at `group`, and as many behind `x`.
#[inline(always)]
unsafe fn group_by_row<S: ByteSimd, L: Layout, const FAR: bool>(
    simd: S,
    group: *const u8,
    tiles: usize,
    x: Row,
    out: &mut [f32; GROUP],
) {
    let mut acc = [simd.splat(0.0); MOST_VECTORS];
    let (mut chunk, mut first) = (group, 0);
    while first < tiles {
        for tile in 0..L::TILES.min(tiles - first) {
            if FAR {
                // A tile's part of the chunk, headers included.
                let part = L::CHUNK / L::TILES;
                for line in 0..part.div_ceil(LINE) {
                    simd.prefetch_near(chunk.wrapping_add(AHEAD + tile * part + line * LINE));
                }
            }
            // SAFETY: the tile is within the chunk, the row has as many.
            unsafe { add_tile::<S, L>(simd, chunk, tile, x.skip(first + tile), &mut acc) };
        }
        // SAFETY: the group has a chunk for each so many tiles.
        chunk = unsafe { chunk.add(L::CHUNK) };
        first += L::TILES;
    }
    for (acc, out) in acc.iter().zip(out.chunks_exact_mut(S::LANES)) {
        simd.store(*acc, out);
    }
}

/// # Safety
/// A chunk lies at `chunk`, and 32 activations behind `x`.
#[inline(always)]
unsafe fn add_tile<S: ByteSimd, L: Layout>(
    simd: S,
    chunk: *const u8,
    tile: usize,
    x: Row,
    acc: &mut [S::F; MOST_VECTORS],
) {
    // SAFETY: all that is read lies within the chunk and the 32 activations.
    unsafe {
        let codes = chunk.add(L::CODES + tile * L::TILE_CODES);
        let block = &*x.blocks;
        let mut sums = begin::<S, L>(simd, block, 0);
        steps!(STEP in [0 1 2 3] { add_step::<S, L, STEP>(simd, codes, x, &mut sums) });
        if L::HALVED {
            let part = Part { chunk, tile, half: 0 };
            add_scaled::<S, L>(simd, part, &sums, block, acc);
            sums = begin::<S, L>(simd, block, 1);
        }
        steps!(STEP in [4 5 6 7] { add_step::<S, L, STEP>(simd, codes, x, &mut sums) });
        add_scaled::<S, L>(simd, Part { chunk, tile, half: 1 }, &sums, block, acc);
        if L::OFFSETS {
            let sum = simd.splat(block.scaled_sum);
            unrolled!(v < vectors GROUP / S::LANES => {
                acc[v] = simd.fma(offset::<S, L>(simd, chunk, tile, v), sum, acc[v]);
            });
        }
    }
}

/// Which scales of a chunk.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub chunk: *const u8,
    pub tile: usize,
    pub half: usize,
}

/// The sums of one half of a tile, or of all of it; those of codes counted from 0 begin with what makes up for that.
#[inline(always)]
pub(super) fn begin<S: ByteSimd, L: Layout>(simd: S, block: &ActivationBlock, half: usize) -> [S::Sum; MOST_VECTORS] {
    let minus = match if L::BITS == 8 { S::WIDE_ZERO } else { L::ZERO } {
        0 => return [simd.zero(); MOST_VECTORS],
        8 => &block.minus.by_8,
        16 => &block.minus.by_16,
        32 => &block.minus.halves_by_32[half],
        _ => &block.minus.by_128,
    };
    // SAFETY: a reference can be read.
    [unsafe { simd.begin(minus) }; MOST_VECTORS]
}

/// Whether the sums must be settled after a step.
const fn settles(bits: usize, step: usize) -> bool {
    match bits {
        4 => step == 7,
        5 => step % 4 == 3,
        6 => step % 2 == 1,
        _ => false,
    }
}

/// # Safety
/// A tile lies at `codes`, and 32 activations behind `x`.
#[inline(always)]
unsafe fn add_step<S: ByteSimd, L: Layout, const STEP: usize>(
    simd: S,
    codes: *const u8,
    x: Row,
    sums: &mut [S::Sum; MOST_VECTORS],
) {
    // SAFETY: the step lies within the tile and the 32 activations.
    unsafe {
        if L::BITS == 8 {
            let word = simd.wide_word(x.codes.add(4 * STEP), x.wide.add(4 * STEP));
            unrolled!(v < vectors GROUP / S::LANES => {
                let codes = simd.wide(load_codes::<S, L, STEP>(simd, codes.add(4 * S::LANES * v)));
                sums[v] = simd.dot_wide(sums[v], codes, word);
            });
        } else {
            let word = simd.word(x.codes.add(4 * STEP));
            unrolled!(v < vectors GROUP / S::LANES => {
                let codes = load_codes::<S, L, STEP>(simd, codes.add(4 * S::LANES * v));
                sums[v] = simd.dot(sums[v], codes, word);
                if settles(L::BITS, STEP) {
                    sums[v] = simd.settle(sums[v]);
                }
            });
        }
    }
}

/// The codes of some rows in one step.
///
/// # Safety
/// A tile lies at `tile`, up to the rows in question.
#[inline(always)]
pub(super) unsafe fn load_codes<S: ByteSimd, L: Layout, const STEP: usize>(simd: S, tile: *const u8) -> S::Bytes {
    // SAFETY: as the caller promises.
    unsafe {
        if L::BITS == 8 {
            return simd.load_bytes(tile.add(LINE * STEP));
        }
        let two = simd.load_bytes(tile.add(LINE * low_line(L::BITS, STEP)));
        let low = if STEP.is_multiple_of(2) { simd.low(two) } else { simd.high(two) };
        let high = tile.add(LINE * high_line(L::BITS, STEP));
        match L::BITS {
            5 => simd.fifth::<STEP>(low, simd.load_bytes(high)),
            6 => simd.sixth::<STEP>(low, simd.load_bytes(high)),
            _ => low,
        }
    }
}

/// # Safety
/// A chunk lies at `part.chunk`.
#[inline(always)]
unsafe fn add_scaled<S: ByteSimd, L: Layout>(
    simd: S,
    part: Part,
    sums: &[S::Sum; MOST_VECTORS],
    block: &ActivationBlock,
    acc: &mut [S::F; MOST_VECTORS],
) {
    let x_scale = simd.splat(block.scale);
    unrolled!(v < vectors GROUP / S::LANES => {
        // SAFETY: as the caller promises.
        let scale = simd.mul(unsafe { scale::<S, L>(simd, part, v) }, x_scale);
        acc[v] = simd.fma(simd.sum_to_f32(sums[v]), scale, acc[v]);
    });
}

/// The scales of vector `v` of a group.
///
/// # Safety
/// A chunk lies at `part.chunk`.
#[inline(always)]
pub(super) unsafe fn scale<S: ByteSimd, L: Layout>(simd: S, part: Part, v: usize) -> S::F {
    let (row, of_tile) = (S::LANES * v, L::SCALES + part.tile * L::TILE_SCALES);
    // SAFETY: all of it is in the header of the chunk.
    unsafe {
        if !L::NESTED {
            return simd.load_f16_ptr(part.chunk.add(of_tile + 2 * row).cast());
        }
        let d = simd.load_f16_ptr(part.chunk.add(2 * row).cast());
        if L::HALVED {
            simd.mul(d, simd.load_i8(part.chunk.add(of_tile + GROUP * part.half + row)))
        } else {
            simd.mul(d, simd.load_u8(part.chunk.add(of_tile + row)))
        }
    }
}

/// The offsets of vector `v` of a group.
///
/// # Safety
/// A chunk lies at `chunk`.
#[inline(always)]
pub(super) unsafe fn offset<S: ByteSimd, L: Layout>(simd: S, chunk: *const u8, tile: usize, v: usize) -> S::F {
    let (row, of_tile) = (S::LANES * v, L::OFFSETS_AT + tile * L::TILE_SCALES);
    // SAFETY: all of it is in the header of the chunk.
    unsafe {
        if !L::NESTED {
            return simd.load_f16_ptr(chunk.add(of_tile + 2 * row).cast());
        }
        let dmin = simd.load_f16_ptr(chunk.add(2 * GROUP + 2 * row).cast());
        simd.neg(simd.mul(dmin, simd.load_u8(chunk.add(of_tile + row))))
    }
}
