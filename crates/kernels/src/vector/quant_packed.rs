//! Packed weights times activations: one row of them here, many in `quant_panel`.

use std::sync::atomic::{Ordering, compiler_fence};

use super::quant_panel;
use crate::quant::activations::{ActivationBlock, ActivationRow, Activations};
use crate::quant::byte_simd::{ByteSimd, steps, unrolled};
use crate::quant::matmul::Outputs;
use crate::quant::packed::{BAND, Band, GROUP, LINE, Layout, PackedRows, low_line, six_bit_line, with_layout};
use crate::quant::tile::TILE;

/// As many vectors as a group can have.
pub(super) const MOST_VECTORS: usize = 4;

/// See [`Kernels::matvec_packed`](crate::Kernels::matvec_packed).
#[inline(always)]
pub(crate) fn matvec_packed<S: ByteSimd>(simd: S, weights: PackedRows<'_>, x: ActivationRow<'_>, out: &mut [f32]) {
    let x = Row::new(x);
    with_layout!(weights.format(), L => {
        let mut group = 0;
        while group < weights.groups() {
            let band = weights.band(group);
            let mut sums = [[0.0; GROUP]; BAND];
            // SAFETY: the groups have as many tiles as the row of activations.
            unsafe { band_by_row::<S, L>(simd, band, weights.tiles(), x, &mut sums) };
            let out = &mut out[group * GROUP..];
            let rows = out.len().min(band.groups * GROUP);
            out[..rows].copy_from_slice(&sums.as_flattened()[..rows]);
            group += band.groups;
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
/// The groups of the band have `tiles` tiles, and as many lie behind `x`.
#[inline(always)]
unsafe fn band_by_row<S: ByteSimd, L: Layout>(
    simd: S,
    band: Band,
    tiles: usize,
    x: Row,
    out: &mut [[f32; GROUP]; BAND],
) {
    let mut acc = [[simd.splat(0.0); MOST_VECTORS]; BAND];
    let (mut start, mut first) = (band.start, 0);
    while first + L::TILES <= tiles {
        for (group, acc) in acc[..band.groups].iter_mut().enumerate() {
            // SAFETY: the chunk of this group, and as many tiles of the row.
            unsafe { add_chunk::<S, L>(simd, start.add(group * L::CHUNK), x.skip(first), acc) };
        }
        start = start.wrapping_add(band.step);
        first += L::TILES;
    }
    for tile in 0..tiles - first {
        for (group, acc) in acc[..band.groups].iter_mut().enumerate() {
            // SAFETY: the tile is within the chunk of odd tiles, the row has as many.
            unsafe { add_tile::<S, L>(simd, band.odd.add(group * band.odd_bytes), tile, x.skip(first + tile), acc) };
            in_order();
        }
    }
    for (acc, out) in acc.iter().zip(out) {
        for (acc, out) in acc.iter().zip(out.chunks_exact_mut(S::LANES)) {
            simd.store(*acc, out);
        }
    }
}

/// All tiles of a chunk, two by two: where an instruction's loads are always as far apart, the CPU reads ahead better.
///
/// # Safety
/// A chunk lies at `chunk`, and as many activations behind `x`.
#[inline(always)]
unsafe fn add_chunk<S: ByteSimd, L: Layout>(simd: S, chunk: *const u8, x: Row, acc: &mut [S::F; MOST_VECTORS]) {
    if L::NESTED {
        // SAFETY: the first line of the chunk.
        unsafe { chunk.read_volatile() };
    }
    for tile in (0..L::TILES).step_by(2) {
        // The scales before the tiles, because what is read in order is read ahead: left to the
        // compiler, which loads scales when they are needed, q4_k came from DRAM at 14 GB/s instead
        // of 18, and prefetching all of it was no better.
        for line in 0..L::PAIR_SCALES.div_ceil(LINE) {
            // SAFETY: a line of the scales.
            unsafe { chunk.add(L::scales_at(tile) + line * LINE).read_volatile() };
        }
        // SAFETY: the tiles are within the chunk, the row has as many.
        unsafe {
            add_tile::<S, L>(simd, chunk, tile, x.skip(tile), acc);
            if L::BITS == 8 {
                in_order();
            }
            add_tile::<S, L>(simd, chunk, tile + 1, x.skip(tile + 1), acc);
        }
    }
    in_order();
}

/// Keeps loads of what comes next behind those of what came before. Left to the compiler, which
/// mixes them, what is read does not ascend, and the CPU reads ahead worse: of q8_0, from DRAM,
/// rows of 288 columns came at 15 GB/s instead of 26 where the odd tiles of groups were mixed, and
/// the two tiles of a chunk made 22 of 26. Fewer bits have more to compute, for which mixing two
/// tiles is better.
#[inline(always)]
fn in_order() {
    compiler_fence(Ordering::SeqCst);
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
        let codes = chunk.add(L::codes_at(tile));
        let block = &*x.blocks;
        let mut sums = begin_two::<S, L>(simd, block, 0);
        steps!(STEP in [0 1 2 3] { add_step::<S, L, STEP>(simd, codes, x, &mut sums) });
        if L::HALVED {
            let part = TileHalf { chunk, tile, half: 0 };
            add_scaled::<S, L>(simd, part, &sums, block, acc);
            sums = begin_two::<S, L>(simd, block, 1);
        }
        steps!(STEP in [4 5 6 7] { add_step::<S, L, STEP>(simd, codes, x, &mut sums) });
        add_scaled::<S, L>(simd, TileHalf { chunk, tile, half: 1 }, &sums, block, acc);
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
pub(super) struct TileHalf {
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

/// As [`begin`], with sums for sixteenfold products beside.
#[inline(always)]
fn begin_two<S: ByteSimd, L: Layout>(simd: S, block: &ActivationBlock, half: usize) -> [[S::Sum; 2]; MOST_VECTORS] {
    [[begin::<S, L>(simd, block, half)[0], simd.zero()]; MOST_VECTORS]
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
    sums: &mut [[S::Sum; 2]; MOST_VECTORS],
) {
    // SAFETY: the step lies within the tile and the 32 activations.
    unsafe {
        if L::BITS == 8 {
            let word = simd.wide_word(x.codes.add(4 * STEP), x.wide.add(4 * STEP));
            unrolled!(v < vectors GROUP / S::LANES => {
                let codes = simd.wide(load_codes::<S, L, STEP>(simd, codes.add(4 * S::LANES * v)));
                sums[v][0] = simd.dot_wide(sums[v][0], codes, word);
            });
        } else {
            let word = simd.word(x.codes.add(4 * STEP));
            unrolled!(v < vectors GROUP / S::LANES => {
                let codes = codes.add(4 * S::LANES * v);
                if L::BITS == 4 && STEP % 2 == 1 {
                    sums[v] = simd.dot_high(sums[v], simd.load_bytes(codes.add(LINE * low_line(4, STEP))), word);
                } else {
                    sums[v][0] = simd.dot(sums[v][0], load_codes::<S, L, STEP>(simd, codes), word);
                }
                if settles(L::BITS, STEP) {
                    sums[v][0] = simd.settle(sums[v][0]);
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
        if L::BITS == 6 {
            let codes = simd.load_bytes(tile.add(LINE * six_bit_line(STEP)));
            if STEP % 4 < 3 {
                return simd.low_six(codes);
            }
            let second = simd.load_bytes(tile.add(LINE * (six_bit_line(STEP) + 1)));
            let third = simd.load_bytes(tile.add(LINE * (six_bit_line(STEP) + 2)));
            return simd.upper_twos(codes, second, third);
        }
        let two = simd.load_bytes(tile.add(LINE * low_line(L::BITS, STEP)));
        let low = if STEP.is_multiple_of(2) { simd.low(two) } else { simd.high(two) };
        if L::BITS == 5 { simd.fifth::<STEP>(low, simd.load_bytes(tile)) } else { low }
    }
}

/// # Safety
/// A chunk lies at `part.chunk`.
#[inline(always)]
unsafe fn add_scaled<S: ByteSimd, L: Layout>(
    simd: S,
    part: TileHalf,
    sums: &[[S::Sum; 2]; MOST_VECTORS],
    block: &ActivationBlock,
    acc: &mut [S::F; MOST_VECTORS],
) {
    let x_scale = simd.splat(block.scale);
    unrolled!(v < vectors GROUP / S::LANES => {
        // SAFETY: as the caller promises.
        let scale = simd.mul(unsafe { scale::<S, L>(simd, part, v) }, x_scale);
        acc[v] = simd.fma(simd.sum_to_f32(simd.join(sums[v])), scale, acc[v]);
    });
}

/// The scales of vector `v` of a group.
///
/// # Safety
/// A chunk lies at `part.chunk`.
#[inline(always)]
pub(super) unsafe fn scale<S: ByteSimd, L: Layout>(simd: S, part: TileHalf, v: usize) -> S::F {
    let (row, of_tile) = (S::LANES * v, L::scales_at(part.tile));
    // SAFETY: all of it is in the chunk.
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
    let (row, of_tile) = (S::LANES * v, L::offsets_at(tile));
    // SAFETY: all of it is in the chunk.
    unsafe {
        if !L::NESTED {
            return simd.load_f16_ptr(chunk.add(of_tile + 2 * row).cast());
        }
        let dmin = simd.load_f16_ptr(chunk.add(2 * GROUP + 2 * row).cast());
        simd.neg(simd.mul(dmin, simd.load_u8(chunk.add(of_tile + row))))
    }
}
