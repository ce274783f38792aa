//! Copies of blocks in the order in which the innermost loop reads them.

use std::ops::Range;

use super::tile::{Coming, Tile, Tiles};
use crate::gemm::{Matrix, PANEL};
use crate::simd::Simd;

/// Where tiles of rows begin: so many rows in so many tiles, whose sizes differ by one at most.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowTiles {
    pub rows: usize,
    pub tiles: usize,
}

impl RowTiles {
    #[inline(always)]
    pub(crate) fn range(self, tile: usize) -> Range<usize> {
        // The same divisions for all tiles: they are done once.
        let (size, larger) = (self.rows / self.tiles, self.rows % self.tiles);
        tile * size + tile.min(larger)..(tile + 1) * size + (tile + 1).min(larger)
    }

    /// The most panels that tiles of both sizes have.
    #[inline(always)]
    pub(crate) fn panels<S: Tiles>(self) -> usize {
        S::panels(self.rows / self.tiles).min(S::panels(self.rows.div_ceil(self.tiles)))
    }
}

/// Columns of a left factor that are a multiple of this apart share one set of L1.
const CROWDED_COLUMNS: usize = 1024;
/// A left factor whose columns are contiguous and not crowded is packed where the result has more columns.
const PACKED_BEYOND: usize = 1024;
/// Rows that are a multiple of this apart share few sets of L1.
const CROWDED_ROWS: usize = 512;
/// They are copied where the result has as many columns; with AVX-512, which reads fewer of them in
/// the same time, never.
const COPIED_FROM: usize = 8 * PANEL;
/// Copied rows or columns are a cache line further apart than they are long.
pub(super) const GAP: usize = PANEL;
/// Tiles of a left factor whose columns are contiguous are turned where the result has more
/// columns. Where it has fewer, a turned tile is used too few times, and whole lines are copied;
/// with AVX-512 alone, which reads a line in the time of many products. The gradient of a weight of
/// 1024 × 256 went from 97 to 105 GFLOP/s.
const TURNED_BEYOND: usize = 512;
/// Columns are asked for so many before they are copied: they lie too far apart to be seen coming.
const COLUMNS_AHEAD: usize = 8;

/// A block of the left factor as the innermost loop reads it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Left {
    /// Where it lies.
    InPlace,
    /// Tile by tile, the rows of a tile k by k, for so many k.
    Turned(*const f32, usize),
    /// Rows, so far apart.
    Rows(*const f32, usize),
    /// Columns, so far apart.
    Columns(*const f32, usize),
}

impl Left {
    /// Whether its columns are contiguous and packing them pays for so many columns of the result.
    #[inline(always)]
    pub(crate) fn is_scattered(a: &Matrix<'_>, cols: usize) -> bool {
        a.col_stride != 1 && (a.col_stride.is_multiple_of(CROWDED_COLUMNS) || cols > PACKED_BEYOND)
    }

    /// Packs the rows of tiles; the columns of `a` are contiguous.
    #[inline(always)]
    pub(crate) fn turned(a: &Matrix<'_>, tiles: RowTiles, room: &mut [f32]) -> Self {
        left(a, tiles, room);
        Self::Turned(room.as_ptr(), a.cols)
    }

    /// Packs it where that pays for so many columns of the result, of which all are computed before the next rows.
    #[inline(always)]
    pub(crate) fn packed<S: Tiles>(simd: S, a: &Matrix<'_>, tiles: (RowTiles, usize), room: &mut [f32]) -> Self {
        let (tiles, cols) = tiles;
        if Self::is_scattered(a, cols) {
            return if S::LANES == PANEL && cols <= TURNED_BEYOND {
                columns(simd, a, room)
            } else {
                Self::turned(a, tiles, room)
            };
        }
        let crowded = a.rows > 1 && a.col_stride == 1 && a.row_stride.is_multiple_of(CROWDED_ROWS);
        let row = a.cols + GAP;
        if S::LANES == PANEL || !crowded || cols < COPIED_FROM || a.rows * row > room.len() {
            return Self::InPlace;
        }
        for (i, to) in room.chunks_exact_mut(row).take(a.rows).enumerate() {
            // SAFETY: a row of the matrix.
            unsafe { to.as_mut_ptr().copy_from_nonoverlapping(a.data.add(i * a.row_stride), a.cols) };
        }
        Self::Rows(room.as_ptr(), row)
    }

    /// `tile`, which reads `rows` where they lie, reading them where they are.
    #[inline(always)]
    pub(crate) fn of<E: Copy>(self, rows: Range<usize>, tile: Tile<E>) -> Tile<E> {
        match self {
            Self::InPlace => tile,
            Self::Turned(start, depth) => {
                Tile { a: start.wrapping_add(rows.start * depth), a_row: 1, a_step: rows.len(), ..tile }
            }
            Self::Rows(start, row) => Tile { a: start.wrapping_add(rows.start * row), a_row: row, a_step: 1, ..tile },
            Self::Columns(start, column) => {
                Tile { a: start.wrapping_add(rows.start), a_row: 1, a_step: column, ..tile }
            }
        }
    }
}

/// Lets a tile of `rows` ask for what the next one reads of a left factor that is read where it lies.
#[inline(always)]
pub(super) fn ask_for_next(corner: &Tile<f32>, rows: Range<usize>, coming: &mut Coming<f32>) {
    let next = corner.a.wrapping_add(rows.end * corner.a_row);
    (coming.read, coming.step) = match [corner.a_row, corner.a_step] {
        // A line for each k.
        [1, step] => (next, step),
        // Rows one behind the other.
        [row, 1] if row == corner.depth => (next, rows.len()),
        _ => return,
    };
}

/// A left factor whose columns are contiguous, as it lies, but its columns nearer to each other.
#[inline(always)]
fn columns<S: Simd>(simd: S, a: &Matrix<'_>, to: &mut [f32]) -> Left {
    let column = a.rows + GAP;
    assert!(a.row_stride == 1 && a.cols * column <= to.len());
    let whole = a.rows - a.rows % PANEL;
    for (k, to) in to.chunks_exact_mut(column).take(a.cols).enumerate() {
        let from = a.data.wrapping_add(k * a.col_stride);
        for line in (0..whole).step_by(PANEL) {
            simd.prefetch(from.wrapping_add(COLUMNS_AHEAD * a.col_stride + line));
            for first in (line..line + PANEL).step_by(S::LANES) {
                // SAFETY: rows of a column of the matrix, which is no longer than its copy.
                unsafe { simd.store_ptr(simd.load_ptr(from.add(first)), to.as_mut_ptr().add(first)) };
            }
        }
        // SAFETY: the other rows of the column.
        unsafe { to[whole..].as_mut_ptr().copy_from_nonoverlapping(from.add(whole), a.rows - whole) };
    }
    Left::Columns(to.as_ptr(), column)
}

/// Tiles whose rows are copied in step, so that whole cache lines are read.
const IN_STEP: usize = 8;
/// So many values are copied at once, of which the next copy overwrites those that are too many.
const COPIED: usize = 8;

/// A left factor whose columns are contiguous, tile by tile: the rows of a tile k by k.
#[inline(always)]
fn left(a: &Matrix<'_>, tiles: RowTiles, to: &mut [f32]) {
    assert!(a.row_stride == 1 && tiles.rows == a.rows && a.rows * a.cols <= to.len());
    for first in (0..tiles.tiles).step_by(IN_STEP) {
        let end = tiles.tiles.min(first + IN_STEP);
        let (from, last) = (tiles.range(first).start, tiles.range(end - 1));
        let sizes = [(last.end - from) / (end - first), (last.end - from).div_ceil(end - first)];
        let wide =
            end - first == IN_STEP && 2 * sizes[0] >= COPIED && sizes[1] <= COPIED && last.start + COPIED <= a.rows;
        // The last k is copied exactly, because nothing comes that could overwrite what is too much.
        let exactly = if wide && a.cols > 0 { in_step(a, tiles, first, to) } else { 0 };
        for tile in first..end {
            let rows = tiles.range(tile);
            for k in exactly..a.cols {
                let to = &mut to[rows.start * a.cols + k * rows.len()..][..rows.len()];
                // SAFETY: rows of a column of the matrix.
                unsafe {
                    to.as_mut_ptr().copy_from_nonoverlapping(a.data.add(k * a.col_stride + rows.start), to.len())
                };
            }
        }
    }
}

/// All k but the last of [`IN_STEP`] tiles; gives how many.
#[inline(always)]
fn in_step(a: &Matrix<'_>, tiles: RowTiles, first: usize, to: &mut [f32]) -> usize {
    let mut places = [std::ptr::null_mut::<f32>(); IN_STEP];
    let [mut starts, mut sizes] = [[0; IN_STEP]; 2];
    for i in 0..IN_STEP {
        let rows = tiles.range(first + i);
        places[i] = to[rows.start * a.cols..][..rows.len() * a.cols].as_mut_ptr();
        (starts[i], sizes[i]) = (rows.start, rows.len());
        assert!(rows.start + COPIED <= a.rows && rows.len() <= COPIED && 2 * rows.len() >= COPIED);
    }
    for k in 0..a.cols - 1 {
        for i in 0..IN_STEP {
            // SAFETY: so many rows of a column are there; so much room is there, because half of it
            // is that of the next k.
            unsafe {
                let values = a.data.add(k * a.col_stride + starts[i]).cast::<[f32; COPIED]>().read_unaligned();
                places[i].cast::<[f32; COPIED]>().write_unaligned(values);
                places[i] = places[i].add(sizes[i]);
            }
        }
    }
    a.cols - 1
}

/// Panels of columns, which begin `stride` apart; the last filled up with zeros.
#[inline(always)]
pub(crate) fn right<S: Simd>(simd: S, b: &Matrix<'_>, to: &mut [f32], stride: usize) {
    let mut panel = 0;
    if b.col_stride == 1 {
        let whole = b.cols / PANEL;
        while panel < whole {
            let end = whole.min(panel + TOGETHER);
            let part = b.part(0..b.rows, panel * PANEL..end * PANEL);
            copy_panels(simd, &part, &mut to[panel * stride..], stride);
            panel = end;
        }
    }
    while panel * PANEL < b.cols {
        let part = b.part(0..b.rows, panel * PANEL..b.cols.min((panel + 1) * PANEL));
        one_panel(simd, &part, &mut to[panel * stride..][..b.rows * PANEL]);
        panel += 1;
    }
}

/// Panels that are filled together where rows are contiguous: whole runs of cache lines are read.
const TOGETHER: usize = 16;
/// Rows are asked for so many before they are copied. Without it the first strip of a product waited for memory.
const ROWS_AHEAD: usize = 4;

#[inline(always)]
fn copy_panels<S: Simd>(simd: S, part: &Matrix<'_>, to: &mut [f32], stride: usize) {
    let panels = part.cols / PANEL;
    assert!(part.col_stride == 1 && part.cols == panels * PANEL && panels > 0);
    assert!(to.len() >= (panels - 1) * stride + part.rows * PANEL);
    for row in 0..part.rows {
        for panel in 0..panels {
            simd.prefetch(part.data.wrapping_add((row + ROWS_AHEAD) * part.row_stride + panel * PANEL));
            for v in 0..PANEL / S::LANES {
                // SAFETY: sixteen columns of a row of the matrix, and their place in the panel.
                unsafe {
                    let from = part.data.add(row * part.row_stride + panel * PANEL + v * S::LANES);
                    let to = to.as_mut_ptr().add(panel * stride + row * PANEL + v * S::LANES);
                    simd.store_ptr(simd.load_ptr(from), to);
                }
            }
        }
    }
}

#[inline(always)]
fn one_panel<S: Simd>(simd: S, part: &Matrix<'_>, to: &mut [f32]) {
    if part.cols < PANEL {
        to.fill(0.0);
    }
    if part.col_stride == 1 {
        for (row, to) in to.chunks_exact_mut(PANEL).enumerate() {
            // SAFETY: a row of the matrix, which has no more columns than a panel.
            unsafe { to.as_mut_ptr().copy_from_nonoverlapping(part.data.add(row * part.row_stride), part.cols) };
        }
    } else {
        // SAFETY: `to` has room for all rows of the panel.
        unsafe { turn(simd, &part.transposed(), to.as_mut_ptr(), PANEL) };
    }
}

/// Row by row of `from`, whose columns are contiguous, to column by column of `to`, whose rows are `to_row` apart.
///
/// # Safety
/// `to` has `from.cols` rows of at least `from.rows` elements.
#[inline(always)]
unsafe fn turn<S: Simd>(simd: S, from: &Matrix<'_>, to: *mut f32, to_row: usize) {
    let whole = (from.rows - from.rows % S::SQUARE, from.cols - from.cols % S::SQUARE);
    // SAFETY: places within `from` and, as the caller promises, within `to`.
    unsafe {
        for col in (0..whole.1).step_by(S::SQUARE) {
            for row in (0..whole.0).step_by(S::SQUARE) {
                let square = from.data.add(row * from.row_stride + col);
                if col.is_multiple_of(PANEL) {
                    // What the next panel is made of.
                    for i in 0..S::SQUARE {
                        simd.prefetch(square.wrapping_add((PANEL + i) * from.row_stride));
                    }
                }
                simd.transpose_ptr(square, from.row_stride, to.add(col * to_row + row), to_row);
            }
        }
        for row in 0..from.rows {
            let first = if row < whole.0 { whole.1 } else { 0 };
            for col in first..from.cols {
                *to.add(col * to_row + row) = *from.data.add(row * from.row_stride + col);
            }
        }
    }
}
