//! Packed weights times many rows of activations.
//!
//! For some groups of weights, 256 columns at a time are decoded into a panel that stays in the first cache: codes as bytes, scales as
//! f32. Then a few rows of activations at a time are multiplied by it, with all sums in registers. So decoding is
//! paid once for up to [`BATCH`] rows, and weights come from memory once for as many.

use std::ops::Range;

use super::quant_packed::{MOST_VECTORS, Part, Row, begin, load_codes, offset, scale};
use crate::quant::activations::Activations;
use crate::quant::byte_simd::{ByteSimd, steps, unrolled};
use crate::quant::matmul::Outputs;
use crate::quant::packed::{GROUP, LINE, Layout, PackedRows};

/// Rows of activations per pass over the weights. Their sums take 8 KiB.
const BATCH: usize = 64;

/// Tiles in a panel.
const TILES: usize = 8;

/// Rows of weights in a panel.
const WIDTH: usize = 2 * GROUP;

/// Some tiles of one or two groups, decoded.
#[repr(C, align(64))]
struct Panel {
    codes: [u8; TILES * 8 * 4 * WIDTH], // (tile, step, vector, lane, column)
    scales: [f32; TILES * 2 * WIDTH],   // (tile, half, row)
    offsets: [f32; TILES * WIDTH],      // (tile, row)
    sums: [f32; BATCH * WIDTH],         // (row of activations, row of weights)
}

/// See [`Kernels::matmul_packed`](crate::Kernels::matmul_packed).
#[inline(always)]
pub(super) fn matmul<S: ByteSimd, L: Layout>(simd: S, weights: PackedRows<'_>, x: &Activations, out: &mut Outputs<'_>) {
    let mut panel = Panel {
        codes: [0; TILES * 8 * 4 * WIDTH],
        scales: [0.0; TILES * 2 * WIDTH],
        offsets: [0.0; TILES * WIDTH],
        sums: [0.0; BATCH * WIDTH],
    };
    let steps = std::hint::black_box(8);
    let mut first = 0;
    while first < x.rows() {
        let rows = first..(first + BATCH).min(x.rows());
        let mut group = 0;
        while group < weights.groups() {
            let job = Job { weights, group, x, first_tile: 0, tiles: 0, steps };
            let two = S::GROUPS == 2 && group + 2 <= weights.groups();
            if two {
                by_panel::<S, L, 2>(simd, job, rows.clone(), &mut panel);
            } else {
                by_panel::<S, L, 1>(simd, job, rows.clone(), &mut panel);
            }
            let width = if two { 2 * GROUP } else { GROUP };
            for (sums, row) in panel.sums.chunks_exact(width).zip(rows.clone()) {
                let out = &mut out.row_mut(row)[group * GROUP..];
                let width = width.min(out.len());
                out[..width].copy_from_slice(&sums[..width]);
            }
            group += width / GROUP;
        }
        first += BATCH;
    }
}

/// What a panel is multiplied by, and which part of it.
#[derive(Clone, Copy)]
struct Job<'a> {
    weights: PackedRows<'a>,
    /// The first of the groups.
    group: usize,
    x: &'a Activations,
    /// The first tile of the panel, and how many there are.
    first_tile: usize,
    tiles: usize,
    /// Eight, which the compiler must not know: it would unroll the loop over steps and then do one sum after the other, for which
    /// there are not enough registers (measured: a third of the speed with AVX2).
    steps: usize,
}

/// The sums of `G` groups and some rows of activations.
#[inline(always)]
fn by_panel<S: ByteSimd, L: Layout, const G: usize>(simd: S, mut job: Job<'_>, rows: Range<usize>, panel: &mut Panel) {
    panel.sums[..rows.len() * G * GROUP].fill(0.0);
    while job.first_tile < job.weights.tiles() {
        job.tiles = TILES.min(job.weights.tiles() - job.first_tile);
        // SAFETY: the groups exist and have so many tiles.
        unsafe { decode::<S, L, G>(simd, job, panel) };
        let mut done = 0;
        while done < rows.len() {
            let (row, left) = (rows.start + done, rows.len() - done);
            let sums = panel.sums[done * G * GROUP..].as_mut_ptr();
            // SAFETY: there are so many rows of activations, and sums for them.
            done += unsafe {
                match S::ROWS {
                    6 if left >= 6 => some_rows::<S, L, G, 6>(simd, job, row, panel, sums),
                    4 | 6 if left >= 4 => some_rows::<S, L, G, 4>(simd, job, row, panel, sums),
                    _ if left >= 2 => some_rows::<S, L, G, 2>(simd, job, row, panel, sums),
                    _ => some_rows::<S, L, G, 1>(simd, job, row, panel, sums),
                }
            };
        }
        job.first_tile += TILES;
    }
}

/// Fills the panel.
///
/// # Safety
/// The job's `G` groups exist and have its tiles.
#[inline(always)]
unsafe fn decode<S: ByteSimd, L: Layout, const G: usize>(simd: S, job: Job<'_>, panel: &mut Panel) {
    let vectors = GROUP / S::LANES;
    for t in 0..job.tiles {
        let (chunk, tile) = ((job.first_tile + t) / L::TILES, (job.first_tile + t) % L::TILES);
        for u in 0..G * vectors {
            let (g, v) = (u / vectors, u % vectors);
            let row = u * S::LANES;
            // SAFETY: the tile is one of the group's, and the panel has room for eight of two groups.
            unsafe {
                let band = job.weights.band(job.group + g);
                let chunk = band.start.add(chunk * band.step);
                let from = chunk.add(L::CODES + tile * L::TILE_CODES + 4 * S::LANES * v);
                let to = panel.codes.as_mut_ptr().add(t * 8 * LINE * G + 4 * row);
                steps!(STEP in [0 1 2 3 4 5 6 7] {
                    simd.store_bytes(load_codes::<S, L, STEP>(simd, from), to.add(STEP * LINE * G));
                });
                for half in 0..if L::HALVED { 2 } else { 1 } {
                    let to = panel.scales.as_mut_ptr().add((2 * t + half) * G * GROUP + row);
                    simd.store_ptr(scale::<S, L>(simd, Part { chunk, tile, half }, v), to);
                }
                if L::OFFSETS {
                    let to = panel.offsets.as_mut_ptr().add(t * G * GROUP + row);
                    simd.store_ptr(offset::<S, L>(simd, chunk, tile, v), to);
                }
            }
        }
    }
}

/// Adds the products of `R` rows of activations by the panel to their sums; returns `R`.
///
/// # Safety
/// There are `R` rows of activations from `row` on, and of sums behind `sums`.
#[inline(always)]
unsafe fn some_rows<S: ByteSimd, L: Layout, const G: usize, const R: usize>(
    simd: S,
    job: Job<'_>,
    row: usize,
    panel: *const Panel,
    sums: *mut f32,
) -> usize {
    let vectors = G * GROUP / S::LANES;
    // SAFETY: the rows have the tiles of the job; the panel has them too; all else as the caller promises.
    unsafe {
        let first = Row::first_of(job.x, row).skip(job.first_tile);
        let mut x = [first; R];
        unrolled!(r < rows R => {
            x[r] = first.skip(r * job.weights.tiles());
        });
        let mut acc = [[simd.splat(0.0); MOST_VECTORS]; R];
        unrolled!(r < rows R => {
            unrolled!(u < vectors vectors => {
                acc[r][u] = simd.load_ptr(sums.add(r * G * GROUP + u * S::LANES));
            });
        });
        for t in 0..job.tiles {
            let tile = PanelTile {
                codes: (&raw const (*panel).codes).cast::<u8>().add(t * 8 * LINE * G),
                scales: (&raw const (*panel).scales).cast::<f32>().add(2 * t * G * GROUP),
                offsets: (&raw const (*panel).offsets).cast::<f32>().add(t * G * GROUP),
                steps: job.steps,
            };
            tile_by_rows::<S, L, G, R>(simd, tile, &x, &mut acc);
            unrolled!(r < rows R => {
                x[r] = x[r].skip(1);
            });
        }
        unrolled!(r < rows R => {
            unrolled!(u < vectors vectors => {
                simd.store_ptr(acc[r][u], sums.add(r * G * GROUP + u * S::LANES));
            });
        });
    }
    R
}

/// One tile of a panel.
#[derive(Clone, Copy)]
struct PanelTile {
    codes: *const u8,
    scales: *const f32,
    offsets: *const f32,
    steps: usize,
}

/// # Safety
/// `tile` is one of a panel of `G` groups, and the rows have 32 more activations.
#[inline(always)]
unsafe fn tile_by_rows<S: ByteSimd, L: Layout, const G: usize, const R: usize>(
    simd: S,
    tile: PanelTile,
    x: &[Row; R],
    acc: &mut [[S::F; MOST_VECTORS]; R],
) {
    // SAFETY: as the caller promises.
    unsafe {
        let mut sums = [[simd.zero(); MOST_VECTORS]; R];
        unrolled!(r < rows R => {
            sums[r] = begin::<S, L>(simd, &*x[r].blocks, 0);
        });
        let half = tile.steps / 2;
        if L::HALVED {
            steps_by_rows::<S, L, G, R>(simd, tile.codes, x, 0..half, &mut sums);
            scale_rows::<S, G, R>(simd, tile.scales, x, &sums, acc);
            unrolled!(r < rows R => {
                sums[r] = begin::<S, L>(simd, &*x[r].blocks, 1);
            });
            steps_by_rows::<S, L, G, R>(simd, tile.codes, x, half..tile.steps, &mut sums);
        } else if L::BITS == 5 {
            steps_by_rows::<S, L, G, R>(simd, tile.codes, x, 0..half, &mut sums);
            steps_by_rows::<S, L, G, R>(simd, tile.codes, x, half..tile.steps, &mut sums);
        } else {
            steps_by_rows::<S, L, G, R>(simd, tile.codes, x, 0..tile.steps, &mut sums);
        }
        let scales = tile.scales.add(if L::HALVED { G * GROUP } else { 0 });
        scale_rows::<S, G, R>(simd, scales, x, &sums, acc);
        if L::OFFSETS {
            unrolled!(u < vectors G * GROUP / S::LANES => {
                let offset = simd.load_ptr(tile.offsets.add(u * S::LANES));
                unrolled!(r < rows R => {
                    acc[r][u] = simd.fma(offset, simd.splat((*x[r].blocks).scaled_sum), acc[r][u]);
                });
            });
        }
    }
}

/// Some steps of a tile, settled at the end. With codes of six bits an even number of them, settled two by two.
///
/// # Safety
/// As for [`tile_by_rows`].
#[inline(always)]
unsafe fn steps_by_rows<S: ByteSimd, L: Layout, const G: usize, const R: usize>(
    simd: S,
    codes: *const u8,
    x: &[Row; R],
    steps: Range<usize>,
    sums: &mut [[S::Sum; MOST_VECTORS]; R],
) {
    let mut step = steps.start;
    while step < steps.end {
        // SAFETY: as the caller promises.
        unsafe {
            step_by_rows::<S, L, G, R>(simd, codes, x, step, sums);
            if L::BITS == 6 {
                step += 1;
                step_by_rows::<S, L, G, R>(simd, codes, x, step, sums);
                settle_rows::<S, G, R>(simd, sums);
            }
        }
        step += 1;
    }
    if L::BITS < 6 {
        settle_rows::<S, G, R>(simd, sums);
    }
}

#[inline(always)]
fn settle_rows<S: ByteSimd, const G: usize, const R: usize>(simd: S, sums: &mut [[S::Sum; MOST_VECTORS]; R]) {
    unrolled!(r < rows R => {
        unrolled!(u < vectors G * GROUP / S::LANES => {
            sums[r][u] = simd.settle(sums[r][u]);
        });
    });
}

/// # Safety
/// As for [`tile_by_rows`].
#[inline(always)]
unsafe fn step_by_rows<S: ByteSimd, L: Layout, const G: usize, const R: usize>(
    simd: S,
    codes: *const u8,
    x: &[Row; R],
    step: usize,
    sums: &mut [[S::Sum; MOST_VECTORS]; R],
) {
    // SAFETY: as the caller promises.
    unsafe {
        let codes = codes.add(step * LINE * G);
        let mut bytes = [simd.load_bytes(codes); MOST_VECTORS];
        unrolled!(u < vectors G * GROUP / S::LANES => {
            bytes[u] = simd.load_bytes(codes.add(u * 4 * S::LANES));
        });
        let mut wide = [simd.wide(bytes[0]); MOST_VECTORS];
        unrolled!(u < vectors G * GROUP / S::LANES => {
            wide[u] = simd.wide(bytes[u]);
        });
        unrolled!(r < rows R => {
            if L::BITS == 8 {
                let word = simd.wide_word(x[r].codes.add(4 * step), x[r].wide.add(4 * step));
                unrolled!(u < vectors G * GROUP / S::LANES => {
                    sums[r][u] = simd.dot_wide(sums[r][u], wide[u], word);
                });
            } else {
                let word = simd.word(x[r].codes.add(4 * step));
                unrolled!(u < vectors G * GROUP / S::LANES => {
                    sums[r][u] = simd.dot(sums[r][u], bytes[u], word);
                });
            }
        });
    }
}

/// # Safety
/// As for [`tile_by_rows`].
#[inline(always)]
unsafe fn scale_rows<S: ByteSimd, const G: usize, const R: usize>(
    simd: S,
    scales: *const f32,
    x: &[Row; R],
    sums: &[[S::Sum; MOST_VECTORS]; R],
    acc: &mut [[S::F; MOST_VECTORS]; R],
) {
    unrolled!(u < vectors G * GROUP / S::LANES => {
        // SAFETY: as the caller promises.
        unsafe {
            let scale = simd.load_ptr(scales.add(u * S::LANES));
            unrolled!(r < rows R => {
                let both = simd.mul(scale, simd.splat((*x[r].blocks).scale));
                acc[r][u] = simd.fma(simd.sum_to_f32(sums[r][u]), both, acc[r][u]);
            });
        }
    });
}
