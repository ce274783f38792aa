//! A right factor that is packed in passing: a strip of its columns at a time, into a place that
//! stays in L2 while all rows of the block meet it. Packed as a whole, it would be written to L3 or
//! to DRAM and read from there: 32×2048² went from 74 to 98 GFLOP/s, 128×2048² from 96 to 107.

use std::ops::Range;

use super::pack::{self, Left, RowTiles};
use super::tile::{CHUNK, Coming, Tile, Tiles};
use super::{
    COLS, PANEL_GAP, PackingBuffers, Panels, ROWS, ROWS_IN_PLACE, WIDE, blocks, corner, row_tiles, rows_of, sized,
};
use crate::gemm::job::Job;
use crate::gemm::{Matrix, PANEL};

/// With so many rows that come from L3 for every strip, and so many strips, packing all columns
/// first is cheaper, by 1 to 2 % in a sketch of 1024² and 2048²; and so it is where the left factor
/// has to be packed as well, whose block then stays in L2: by 6 % in a sketch of the gradient of a
/// weight of 1024 × 256.
const MANY_ROWS: usize = 1024;
const MANY_STRIPS: usize = 8;

/// A product with a right factor as it lies.
#[inline(always)]
pub(super) fn plain<S: Tiles>(simd: S, job: &Job<'_>, b: &Matrix<'_>, buffers: PackingBuffers<'_>) {
    let many_strips = b.rows.saturating_mul(job.cols) >= MANY_STRIPS * COLS * S::DEPTH;
    // With narrower vectors it was slower: 2048² by 8 to 16 %, 1024² by 4 %.
    if S::LANES == PANEL && job.a.rows >= MANY_ROWS && (many_strips || Left::is_scattered(&job.a, job.cols)) {
        wide(simd, job, b, buffers);
    } else {
        narrow(simd, job, b, buffers);
    }
}

/// Packs many columns before all rows meet them, a block of which stays in L2.
#[inline(always)]
fn wide<S: Tiles>(simd: S, job: &Job<'_>, b: &Matrix<'_>, (left, right): PackingBuffers<'_>) {
    let depths = b.rows.div_ceil(S::DEPTH).max(1);
    for (col, cols) in blocks(job.cols, WIDE) {
        let job = job.columns(col, cols);
        for block in 0..depths {
            let (k, end) = (block * b.rows / depths, (block + 1) * b.rows / depths);
            let panel = (end - k) * PANEL + PANEL_GAP;
            pack::right(simd, &b.part(k..end, job.first_col..job.first_col + cols), right, panel);
            let panels = Panels { first_row: k, rows: end - k, cols, start: right.as_ptr(), step: PANEL, panel };
            rows_of(simd, &job, &panels, left);
        }
    }
}

/// Packs a strip at a time, which stays in L2 while all rows meet it.
#[inline(always)]
fn narrow<S: Tiles>(simd: S, job: &Job<'_>, b: &Matrix<'_>, (left, right): PackingBuffers<'_>) {
    let most = if Left::is_scattered(&job.a, job.cols) { ROWS } else { ROWS_IN_PLACE };
    for (first, rows) in blocks(job.a.rows, most) {
        let job = job.rows(first..first + rows);
        let tiles = row_tiles::<S>(rows);
        let strips = Strips::new::<S>(b.rows, &job);
        let mut a = Left::InPlace;
        for number in 0..strips.depths * strips.across {
            let this = strips.at(number);
            if !strips.depth_first && this.cols.start == 0 {
                a = Left::turned(&job.a.part(0..rows, this.depth.clone()), tiles, left);
            }
            let part = job.columns(this.cols.start, this.cols.len());
            let panel = this.depth.len() * PANEL + PANEL_GAP;
            let from = b.part(this.depth.clone(), part.first_col..part.first_col + part.cols);
            pack::right(simd, &from, right, panel);
            let panels = Panels {
                first_row: this.depth.start,
                rows: this.depth.len(),
                cols: part.cols,
                start: right.as_ptr(),
                step: PANEL,
                panel,
            };
            let next = strips.at((number + 1) % (strips.depths * strips.across));
            let next = Next::new(b, [next.depth.start, job.first_col + next.cols.start], &panels);
            // SAFETY: the rows of the left factor, the panels and the rectangle of the result are there.
            unsafe { rows_first(simd, (tiles, a), (&corner(&part, &panels), part.cols), &next) };
        }
    }
}

/// How a right factor is cut.
struct Strips {
    rows: usize,
    cols: usize,
    /// How many blocks the depth has, how many strips the columns, and how many columns a strip.
    depths: usize,
    across: usize,
    width: usize,
    /// Whether all of the depth comes before the next columns, which keeps the result near; a left
    /// factor that has to be packed is packed once if it does not.
    depth_first: bool,
}

/// A block of the depth of some columns.
struct Strip {
    depth: Range<usize>,
    cols: Range<usize>,
}

impl Strips {
    #[inline(always)]
    fn new<S: Tiles>(rows: usize, job: &Job<'_>) -> Self {
        let depths = rows.div_ceil(S::DEPTH).max(1);
        let width = COLS / PANEL * (S::DEPTH + 1) / (rows.div_ceil(depths) + 1) * PANEL;
        let across = job.cols.div_ceil(width);
        Self { rows, cols: job.cols, depths, across, width, depth_first: !Left::is_scattered(&job.a, job.cols) }
    }

    #[inline(always)]
    fn at(&self, number: usize) -> Strip {
        let (block, strip) = if self.depth_first {
            (number % self.depths, number / self.depths)
        } else {
            (number / self.across, number % self.across)
        };
        let depth = block * self.rows / self.depths..(block + 1) * self.rows / self.depths;
        Strip { depth, cols: strip * self.width..self.cols.min((strip + 1) * self.width) }
    }
}

/// The strip that will be packed after this one, where it lies. Its lines are asked for while this
/// one is used: they are too far apart to be seen coming.
struct Next {
    start: *const f32,
    /// How many tiles ask for it, each for a line per k.
    tiles: usize,
    /// From what one tile asks for to what the next one does: the next line of a row, or the next few columns.
    between: usize,
    /// See [`Coming`].
    step: usize,
    jump: usize,
}

impl Next {
    /// The strip that begins with [row, column] `first`, and is no larger than `this`.
    #[inline(always)]
    fn new(b: &Matrix<'_>, [row, col]: [usize; 2], this: &Panels<f32>) -> Self {
        let start = b.data.wrapping_add(row * b.row_stride + col * b.col_stride);
        if b.col_stride == 1 {
            let tiles = this.cols.div_ceil(PANEL);
            Self { start, between: PANEL, step: b.row_stride, jump: 0, tiles }
        } else {
            let columns = this.rows.div_ceil(CHUNK);
            let jump = b.col_stride.wrapping_sub(CHUNK * PANEL);
            Self {
                start,
                between: columns * b.col_stride,
                step: PANEL,
                jump,
                tiles: this.cols.div_ceil(columns.max(1)),
            }
        }
    }
}

/// A block of the result, a tile of rows after the other.
///
/// # Safety
/// All that the first tile, the corner, points to is there for all rows and `cols` columns, the left factor as it says itself;
/// the right factor in whole panels.
#[inline(always)]
unsafe fn rows_first<S: Tiles>(
    simd: S,
    (tiles, a): (RowTiles, Left),
    (corner, cols): (&Tile<f32>, usize),
    strip: &Next,
) {
    let panels = cols.div_ceil(PANEL);
    let groups = panels.div_ceil(tiles.panels::<S>());
    for row_tile in 0..tiles.tiles {
        let rows = tiles.range(row_tile);
        for group in 0..groups {
            let (first, end) = (group * panels / groups, (group + 1) * panels / groups);
            let next = if group + 1 < groups { [rows.start, end] } else { [rows.end, 0] };
            let is_last = group + 1 == groups && row_tile + 1 == tiles.tiles;
            // SAFETY: as the caller promises, for the rows and panels of this tile.
            unsafe {
                let tile = a.of(rows.clone(), corner.moved(rows.start, first));
                let mut coming = Coming::nothing(&tile);
                if !is_last {
                    coming.c = corner.c.wrapping_add(next[0] * corner.c_row + next[1] * PANEL);
                }
                let number = row_tile * groups + group;
                if number < strip.tiles {
                    coming.read = strip.start.wrapping_add(number * strip.between);
                    (coming.step, coming.jump) = (strip.step, strip.jump);
                } else if group + 1 == groups && !is_last && matches!(a, Left::InPlace) {
                    pack::ask_for_next(corner, rows.clone(), &mut coming);
                }
                sized(simd, [rows.len(), end - first], cols - first * PANEL, (&tile, &coming));
            }
        }
    }
}
