//! Matrix products: blocks that fit the caches, packed so that the innermost loop reads memory in order.
//!
//! ```text
//! for each block of columns (the right factor's block fits L3; all columns where they are packed already)
//!   for each block of the depth
//!     pack the right factor's block into panels            (where they are not packed already)
//!     for each block of rows (the left factor's block fits L2)
//!       pack the left factor's block: rows one behind the other, or columns where those are contiguous
//!       for each group of panels (fits L1)
//!         for each tile of rows: the innermost loop
//! ```

pub(crate) mod element;
mod pack;
mod row;
pub(crate) mod tile;
mod turned;

use std::cell::Cell;

use crate::gemm::job::{Job, Right};
use crate::gemm::{DEPTH, Elements, Matrix, PANEL, PackedMatrix, panel_start};
use crate::memory::AlignedBuffer;
use crate::simd::Simd;
use element::{Bf16, Element, F16};
use tile::{MAX_TILE, Tile, Tiles};

/// Rows of a block: with [`DEPTH`] 168 KiB, well within L2; twelve tiles of AVX-512, 28 of AVX2.
const ROWS: usize = 84;
/// Columns of a block that is packed for this product: with [`DEPTH`] 2 MiB, a part of L3.
const COLS: usize = 2048;

/// A right factor that lies row by row is packed from so many rows of the left one on; below, packing costs more than it
/// gives, and the factor is read where it lies.
const PACKED_FROM: usize = 24;
/// A right factor of no more bytes stays in L2, and is never packed: 64² went from 100 to 111 GFLOP/s, 128² from 108 to 115.
const SMALL: usize = 256 << 10;
/// The depth of a block of a larger one that is read where it lies: the result is loaded and stored once per block, and the
/// rows of the block have to be found by the prefetcher.
const PLAIN_DEPTH: usize = 16;
/// Columns and depth of a block that is packed for few rows: it stays in L2 until it is used, once. 8×2048² with an output per row
/// went from 33 to 46 GFLOP/s.
const NARROW: [usize; 2] = [64, 1024];
const _: () = assert!(PACKED_FROM * NARROW[1] <= ROWS * DEPTH && NARROW[0] * NARROW[1] < COLS * DEPTH);
/// Where the rows of the left factor are a multiple of this apart, they share few sets of L1, and are packed from
/// [`LEFT_PACKED_FROM`] panels on, that is where they are read often enough. Packed rows are 2 KiB apart, which just fits.
const CROWDED_STRIDE: usize = 512;
const LEFT_PACKED_FROM: usize = 8;
/// Packed panels are a cache line further apart than they are long, so that those that are filled together do not share a set.
const PANEL_GAP: usize = PANEL;

thread_local! {
    /// Room for one packed block of each factor; made at a thread's first product, then kept.
    static SCRATCH: Cell<Option<AlignedBuffer<f32>>> = const { Cell::new(None) };
}

/// See [`Kernels::gemm`](crate::Kernels::gemm).
#[inline(always)]
pub(crate) fn multiply<S: Tiles>(simd: S, job: &Job<'_>) {
    // Taken out and put back instead of used inside a closure, which would be compiled without the instruction set.
    let mut scratch = SCRATCH
        .take()
        .unwrap_or_else(|| AlignedBuffer::zeroed(ROWS * DEPTH + COLS / PANEL * (DEPTH * PANEL + PANEL_GAP)));
    let (left, right) = scratch.split_at_mut(ROWS * DEPTH);
    match job.b {
        Right::Plain(b) if b.col_stride == 1 && (job.a.rows < PACKED_FROM || is_small(&b)) => {
            in_place(simd, job, &b, (left, right));
        }
        Right::Plain(b) if b.row_stride == 1 && job.a.rows <= turned::MOST_ROWS => {
            few_rows(simd, job, &b, (left, right));
        }
        Right::Plain(b) if job.a.rows < PACKED_FROM => plain(simd, job, &b, NARROW, (left, right)),
        Right::Plain(b) => plain(simd, job, &b, [COLS, DEPTH], (left, right)),
        Right::Packed(b) => match b.elements() {
            Elements::F32(panels) => packed(simd, job, b, (panels.as_ptr(), left)),
            Elements::F16(panels) => packed(simd, job, b, (panels.as_ptr().cast::<F16>(), left)),
            Elements::Bf16(panels) => packed(simd, job, b, (panels.as_ptr().cast::<Bf16>(), left)),
        },
    }
    SCRATCH.set(Some(scratch));
}

/// See [`PackedMatrix`].
#[inline(always)]
pub(crate) fn pack<S: Simd>(simd: S, b: Matrix<'_>, panels: &mut [f32]) {
    if b.cols == 0 {
        return;
    }
    for row in (0..b.rows).step_by(DEPTH) {
        let end = b.rows.min(row + DEPTH);
        let start = panel_start([b.rows, b.cols], row, 0);
        pack::right(simd, &b.part(row..end, 0..b.cols), &mut panels[start..], (end - row) * PANEL);
    }
}

/// Some rows of the right factor as the innermost loop reads them, for some columns of the result.
struct Panels<E> {
    first_row: usize,
    rows: usize,
    first_col: usize,
    cols: usize,
    start: *const E,
    step: usize,
    panel: usize,
}

#[inline(always)]
fn packed<S: Tiles, E: Element>(simd: S, job: &Job<'_>, b: &PackedMatrix, (panels, left): (*const E, &mut [f32])) {
    for (first_row, rows) in blocks(b.rows(), DEPTH) {
        // SAFETY: the panel that begins with the job's first column is there.
        let start = unsafe { panels.add(b.start(first_row, job.first_col / PANEL)) };
        let panels = Panels { first_row, rows, first_col: 0, cols: job.cols, start, step: PANEL, panel: rows * PANEL };
        rows_of(simd, job, &panels, left);
    }
}

/// Room for a packed block of the left factor, and of the right one.
type Room<'r> = (&'r mut [f32], &'r mut [f32]);

/// Packs blocks of the right factor of at most `shape` = \[columns, depth\].
#[inline(always)]
fn plain<S: Tiles>(simd: S, job: &Job<'_>, b: &Matrix<'_>, shape: [usize; 2], (left, right): Room<'_>) {
    let [most_cols, depth] = shape;
    for (first_col, cols) in blocks(job.cols, most_cols) {
        for (first_row, rows) in blocks(b.rows, depth) {
            let col = job.first_col + first_col;
            let panel = rows * PANEL + PANEL_GAP;
            pack::right(simd, &b.part(first_row..first_row + rows, col..col + cols), right, panel);
            let panels = Panels { first_row, rows, first_col, cols, start: right.as_ptr(), step: PANEL, panel };
            rows_of(simd, job, &panels, left);
        }
    }
}

/// Whether a factor that lies row by row is small.
#[inline(always)]
fn is_small(b: &Matrix<'_>) -> bool {
    b.rows <= DEPTH && b.rows.saturating_mul(b.row_stride) <= SMALL / size_of::<f32>()
}

/// Whole panels where they lie, what is left of the columns packed.
#[inline(always)]
fn in_place<S: Tiles>(simd: S, job: &Job<'_>, b: &Matrix<'_>, (left, right): Room<'_>) {
    let whole = job.cols - job.cols % PANEL;
    if job.a.rows == 1 && b.rows > 0 {
        row::along(simd, job, b, whole);
    } else {
        for (first_row, rows) in blocks(b.rows, if is_small(b) { DEPTH } else { PLAIN_DEPTH }) {
            let start = b.part(first_row..first_row + rows, job.first_col..job.first_col + whole).data;
            let panels = Panels { first_row, rows, first_col: 0, cols: whole, start, step: b.row_stride, panel: PANEL };
            rows_of(simd, job, &panels, left);
        }
    }
    if whole < job.cols {
        let rest = job.columns(whole, job.cols - whole);
        plain(simd, &rest, b, NARROW, (left, right));
    }
}

/// Whole panels turned in registers, what is left of the columns packed.
#[inline(always)]
fn few_rows<S: Tiles>(simd: S, job: &Job<'_>, b: &Matrix<'_>, (left, right): Room<'_>) {
    let whole = job.cols - job.cols % PANEL;
    turned::across(simd, job, b, whole);
    if whole < job.cols {
        plain(simd, &job.columns(whole, job.cols - whole), b, NARROW, (left, right));
    }
}

/// First and length of each block; one empty block where there is nothing, because the result has to be begun.
#[inline(always)]
fn blocks(len: usize, block: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..len.max(1)).step_by(block).map(move |first| (first, block.min(len - first)))
}

/// What some rows of the right factor contribute to all rows of the result.
#[inline(always)]
fn rows_of<S: Tiles, E: Element>(simd: S, job: &Job<'_>, b: &Panels<E>, left: &mut [f32]) {
    for (first, rows) in blocks(job.a.rows, ROWS) {
        let a = job.a.part(first..first + rows, b.first_row..b.first_row + b.rows);
        let crowded = rows > 1 && a.row_stride.is_multiple_of(CROWDED_STRIDE) && b.cols >= LEFT_PACKED_FROM * PANEL;
        let in_place = a.col_stride == 1 && !crowded;
        let [a_row, a_step] = if in_place { [a.row_stride, 1] } else { pack::left(&a, left) };
        let begins = b.first_row == 0;
        let corner = Tile {
            depth: b.rows,
            a: if in_place { a.data } else { left.as_ptr() },
            a_row,
            a_step,
            b: b.start,
            b_step: b.step,
            b_panel: b.panel,
            // SAFETY: within the job's rectangle.
            c: unsafe { job.c.add(first * job.c_row + b.first_col) },
            c_row: job.c_row,
            bias: job.bias.filter(|_| begins).map_or(std::ptr::null(), |bias| bias[b.first_col..].as_ptr()),
            add: job.accumulate || !begins,
            ahead: b.start,
        };
        // SAFETY: the rows of the left factor, the panels and the rectangle of the result are there.
        unsafe { block(simd, rows, b.cols, &corner) };
    }
}

/// A block of the result, tile by tile; `corner` is its first.
///
/// # Safety
/// All that `corner` points to is there for so many rows and columns; the right factor in whole panels.
#[inline(always)]
pub(crate) unsafe fn block<S: Tiles, E: Element>(simd: S, rows: usize, cols: usize, corner: &Tile<E>) {
    let row_tiles = rows.div_ceil(S::ROWS);
    let panels = cols.div_ceil(PANEL);
    let groups = panels.div_ceil(S::panels(rows.div_ceil(row_tiles)));
    for group in 0..groups {
        let (first, end) = (group * panels / groups, (group + 1) * panels / groups);
        for row_tile in 0..row_tiles {
            let (row, row_end) = (row_tile * rows / row_tiles, (row_tile + 1) * rows / row_tiles);
            // SAFETY: as the caller promises, for the rows and panels of this tile.
            unsafe {
                let mut tile = corner.moved(row, first);
                if row_tiles > 1 {
                    // The next group's panels, one per tile.
                    tile.ahead = corner.b.wrapping_add((end + row_tile.min(end - first - 1)) * corner.b_panel);
                }
                let width = cols - first * PANEL;
                if width >= (end - first) * PANEL {
                    simd.run(row_end - row, end - first, &tile);
                } else {
                    edge(simd, [row_end - row, end - first], width, &tile);
                }
            }
        }
    }
}

/// A tile that sticks out over the last column: computed beside the result, of which it gets what is there.
///
/// # Safety
/// As for [`Tiles::run`], except that the result and the bias have only `width` columns.
#[inline(always)]
unsafe fn edge<S: Tiles, E: Element>(simd: S, [rows, panels]: [usize; 2], width: usize, tile: &Tile<E>) {
    let mut beside = [0.0; MAX_TILE];
    let row_stride = panels * PANEL;
    for row in 0..rows {
        for col in 0..width {
            // SAFETY: a column that is there.
            unsafe {
                let start = if tile.add { *tile.c.add(row * tile.c_row + col) } else { 0.0 };
                // Not even a zero is added where there is no bias: it would take the sign from another zero.
                let place = &mut beside[row * row_stride + col];
                *place = if tile.bias.is_null() { start } else { start + *tile.bias.add(col) };
            }
        }
    }
    let whole = Tile { c: beside.as_mut_ptr(), c_row: row_stride, bias: std::ptr::null(), add: true, ..*tile };
    // SAFETY: the right factor has whole panels, and so has the place beside.
    unsafe { simd.run(rows, panels, &whole) };
    for row in 0..rows {
        // SAFETY: the columns that are there.
        unsafe {
            let from = beside[row * row_stride..].as_ptr();
            tile.c.add(row * tile.c_row).copy_from_nonoverlapping(from, width);
        }
    }
}
