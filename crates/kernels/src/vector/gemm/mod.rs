//! Matrix products: blocks that fit the caches, packed so that the innermost loop reads memory in order.
//!
//! ```text
//! A right factor that is packed already:           One that is not:
//! for each block of the depth                      for each block of rows
//!   for each block of rows (fits L2)                 for each block of the depth
//!     for each group of panels                         for each strip of columns
//!       for each tile of rows: the innermost loop        pack it (fits L2)
//!                                                        for each tile of rows, for each group of panels:
//!                                                          the innermost loop
//! ```
//!
//! The left factor is read where it lies; only where its columns are contiguous, tiles of it are
//! packed, or its columns copied, unless they are used few times.

mod ahead;
pub(crate) mod element;
pub(crate) mod pack;
mod row;
mod stream;
mod strips;
pub(crate) mod tile;
mod turned;

use std::cell::Cell;

use crate::gemm::job::{Job, Right};
use crate::gemm::{DEPTH, Elements, Matrix, PANEL, PackedMatrix, panel_start};
use crate::memory::AlignedBuffer;
use crate::simd::Simd;
use element::{Bf16, Element, F16};
use pack::{Left, RowTiles};
use strips::plain;
use tile::{Coming, MAX_TILE, Tile, Tiles};

/// Elements of the left factor in a block of rows: half of L2, where they stay while the panels pass.
const LEFT_IN_L2: usize = 96 << 10;
/// Rows of a block where the right factor is packed in passing, once for each block: with the depth
/// of AVX-512 2 MiB of the left factor, which stay in L3.
const ROWS: usize = 512;
/// The same where the left factor is read where it lies.
const ROWS_IN_PLACE: usize = 1024;
/// Columns of a strip that is packed in passing, with the full depth; as many more as that is less deep.
const COLS: usize = 128;
/// Columns that are packed before all rows meet them, where there are so many rows that it pays:
/// with the full depth 4 MiB.
const WIDE: usize = 1024;
/// The deepest block of any instruction set.
const MOST_DEPTH: usize = 1024;

/// A right factor that lies row by row is packed from so many rows of the left one on; below,
/// packing costs more than it gives, and the factor is read where it lies.
const PACKED_FROM: usize = 24;
/// A right factor of no more bytes stays in L2, and is never packed: packing took a tenth of the
/// time of 64², and 6 % of that of 128².
const SMALL: usize = 256 << 10;
/// The depth of a block of a larger one that is read where it lies: the result is loaded and stored
/// once per block, and the rows of the block have to be found by the prefetcher.
const PLAIN_DEPTH: usize = 16;
/// A block of the result with no more elements stays in L2, and is not asked for.
const RESULT_IN_L2: usize = 64 << 10;
/// Packed panels are a cache line further apart than they are long, so that those that are filled
/// together do not share a set.
const PANEL_GAP: usize = PANEL;
/// Space for a packed block of the left factor where the right one is packed already: with a gap
/// behind each row, or each column.
const SMALL_LEFT_ROOM: usize = LEFT_IN_L2 + MOST_DEPTH * pack::GAP;
/// Space for a packed block of the left factor, and for a strip of the right one.
const LEFT_ROOM: usize = (ROWS + pack::GAP) * MOST_DEPTH;
const RIGHT_ROOM: usize = WIDE / PANEL * (MOST_DEPTH * PANEL + PANEL_GAP);

thread_local! {
    /// Space for one packed block of each factor; made at a thread's first product that needs so much, then kept.
    static SCRATCH: Cell<Option<AlignedBuffer<f32>>> = const { Cell::new(None) };
}

/// See [`Kernels::gemm`](crate::Kernels::gemm).
#[inline(always)]
pub(crate) fn multiply<S: Tiles>(simd: S, job: &Job<'_>) {
    // Taken out and put back instead of used inside a closure, which would be compiled without the instruction set.
    let room = if matches!(job.b, Right::Packed(_)) { SMALL_LEFT_ROOM } else { LEFT_ROOM + RIGHT_ROOM };
    let mut scratch = match SCRATCH.take() {
        Some(scratch) if scratch.len() >= room => scratch,
        _ => AlignedBuffer::zeroed(room),
    };
    let (left, right) = scratch.split_at_mut(room.min(LEFT_ROOM));
    match job.b {
        Right::Plain(b) if b.col_stride == 1 && (job.a.rows < PACKED_FROM || is_small(&b)) => {
            in_place(simd, job, &b, (left, right));
        }
        Right::Plain(b) if b.row_stride == 1 && job.a.rows <= turned::MOST_ROWS => {
            few_rows(simd, job, &b, (left, right));
        }
        Right::Plain(b) => plain(simd, job, &b, (left, right)),
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
    cols: usize,
    start: *const E,
    step: usize,
    panel: usize,
}

#[inline(always)]
fn packed<S: Tiles, E: Element>(simd: S, job: &Job<'_>, b: &PackedMatrix, (panels, left): (*const E, &mut [f32])) {
    if job.a.rows == 1 {
        return stream::along(simd, job, b, panels);
    }
    for (block_row, block_rows) in blocks(b.rows(), DEPTH) {
        for (row, rows) in blocks(block_rows, S::DEPTH) {
            let start = b.start(block_row, job.first_col / PANEL) + row * PANEL;
            let panels = Panels {
                first_row: block_row + row,
                rows,
                cols: job.cols,
                // SAFETY: the panel that begins with the job's first column is there, and so is its row.
                start: unsafe { panels.add(start) },
                step: PANEL,
                panel: block_rows * PANEL,
            };
            rows_of(simd, job, &panels, left);
        }
    }
}

/// Space for a packed block of the left factor, and of the right one.
type PackingBuffers<'r> = (&'r mut [f32], &'r mut [f32]);

/// Whether a factor that lies row by row is small.
#[inline(always)]
fn is_small(b: &Matrix<'_>) -> bool {
    b.rows <= MOST_DEPTH && b.rows.saturating_mul(b.row_stride) <= SMALL / size_of::<f32>()
}

/// Whole panels where they lie, what is left of the columns packed.
#[inline(always)]
fn in_place<S: Tiles>(simd: S, job: &Job<'_>, b: &Matrix<'_>, (left, right): PackingBuffers<'_>) {
    let whole = job.cols - job.cols % PANEL;
    if job.a.rows == 1 && b.rows > 0 {
        row::along(simd, job, b, whole);
    } else if ahead::pays(job.a.rows, b) {
        ahead::along(simd, job, b, whole, left);
    } else {
        for (first_row, rows) in blocks(b.rows, if is_small(b) { MOST_DEPTH } else { PLAIN_DEPTH }) {
            let start = b.part(first_row..first_row + rows, job.first_col..job.first_col + whole).data;
            let panels = Panels { first_row, rows, cols: whole, start, step: b.row_stride, panel: PANEL };
            rows_of(simd, job, &panels, left);
        }
    }
    if whole < job.cols {
        let rest = job.columns(whole, job.cols - whole);
        plain(simd, &rest, b, (left, right));
    }
}

/// Whole panels turned in registers, what is left of the columns packed.
#[inline(always)]
fn few_rows<S: Tiles>(simd: S, job: &Job<'_>, b: &Matrix<'_>, (left, right): PackingBuffers<'_>) {
    let whole = job.cols - job.cols % PANEL;
    turned::across(simd, job, b, whole);
    if whole < job.cols {
        plain(simd, &job.columns(whole, job.cols - whole), b, (left, right));
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
    // Whole cache lines, where columns are copied.
    let unit = if job.a.col_stride == 1 { 1 } else { PANEL };
    let most = (LEFT_IN_L2 / b.rows.max(1)).min(ROWS) / unit * unit;
    let parts = job.a.rows.div_ceil(most);
    let units = job.a.rows.div_ceil(unit);
    for part in 0..parts {
        let [start, end] = [part, part + 1].map(|part| (part * units / parts * unit).min(job.a.rows));
        let rows = start..end;
        let tiles = row_tiles::<S>(rows.len());
        let job = job.rows(rows);
        let a = job.a.part(0..tiles.rows, b.first_row..b.first_row + b.rows);
        let a = Left::packed(simd, &a, (tiles, b.cols), left);
        let corner = corner(&job, b);
        // One block of a deeper product is near, the next one is not.
        let whole = b.rows == job.a.cols && matches!(a, Left::InPlace);
        // SAFETY: the rows of the left factor, the panels and the rectangle of the result are there.
        unsafe {
            if whole && is_near::<S>(tiles, b.rows, b.cols) {
                near(simd, tiles, b.cols / PANEL, &corner);
            } else {
                columns_first(simd, (tiles, a), b.cols, &corner);
            }
        }
    }
}

/// So many rows as tiles: those of few rows are higher, because they spend more time on the right factor.
#[inline(always)]
fn row_tiles<S: Tiles>(rows: usize) -> RowTiles {
    let most = if rows < PACKED_FROM { S::MOST_ROWS } else { S::ROWS };
    RowTiles { rows, tiles: rows.div_ceil(most) }
}

/// The first tile of a job, for some rows of the right factor; its rows of the left one where they lie.
#[inline(always)]
fn corner<E>(job: &Job<'_>, b: &Panels<E>) -> Tile<E> {
    let begins = b.first_row == 0;
    Tile {
        depth: b.rows,
        // Where the depth is nothing, there is no memory to point into.
        a: job.a.data.wrapping_add(b.first_row * job.a.col_stride),
        a_row: job.a.row_stride,
        a_step: job.a.col_stride,
        b: b.start,
        b_step: b.step,
        b_panel: b.panel,
        c: job.c,
        c_row: job.c_row,
        bias: job.bias.filter(|_| begins).map_or(std::ptr::null(), <[f32]>::as_ptr),
        add: job.accumulate || !begins,
    }
}

/// A block of the result, a group of panels after the other; `corner` is its first tile.
///
/// # Safety
/// All that `corner` points to is there for so many rows and columns, the left factor as it says itself; the right factor in
/// whole panels.
#[inline(always)]
pub(crate) unsafe fn columns_first<S: Tiles, E: Element>(
    simd: S,
    (tiles, a): (RowTiles, Left),
    cols: usize,
    corner: &Tile<E>,
) {
    let panels = cols.div_ceil(PANEL);
    let groups = panels.div_ceil(tiles.panels::<S>());
    for group in 0..groups {
        let (first, end) = (group * panels / groups, (group + 1) * panels / groups);
        for row_tile in 0..tiles.tiles {
            let rows = tiles.range(row_tile);
            // SAFETY: as the caller promises, for the rows and panels of this tile.
            unsafe {
                let tile = a.of(rows.clone(), corner.moved(rows.start, first));
                let mut coming = Coming::nothing(&tile);
                if tiles.tiles > 1 {
                    // The next group's panels, one per tile.
                    coming.read = corner.b.wrapping_add((end + row_tile.min(end - first - 1)) * corner.b_panel);
                    coming.step = PANEL;
                }
                if tiles.rows * cols > RESULT_IN_L2 {
                    let next = if row_tile + 1 < tiles.tiles { [rows.end, first] } else { [0, end] };
                    coming.c = corner.c.wrapping_add(next[0] * corner.c_row + next[1] * PANEL);
                }
                sized(simd, [rows.len(), end - first], cols - first * PANEL, (&tile, &coming));
            }
        }
    }
}

/// Whether so much of a product stays in L2 and is cut into tiles of the usual size, so that
/// nothing has to be asked for, and nothing but tiles to be computed.
#[inline(always)]
fn is_near<S: Tiles>(tiles: RowTiles, depth: usize, cols: usize) -> bool {
    let usual = tiles.rows.div_ceil(tiles.tiles) == S::ROWS && tiles.rows / tiles.tiles + 1 >= S::ROWS;
    let most = (tiles.rows * depth).max(depth * cols).max(tiles.rows * cols);
    usual && cols.is_multiple_of(PANEL) && most <= RESULT_IN_L2
}

/// The same as [`columns_first`] where all is near. There the way from tile to tile counts, which
/// is short here: 64² went from 109 to 113 GFLOP/s, 128² from 113 to 115.
///
/// # Safety
/// As there, with whole panels, and a left factor where it lies.
#[inline(always)]
unsafe fn near<S: Tiles, E: Element>(simd: S, tiles: RowTiles, panels: usize, corner: &Tile<E>) {
    let (size, larger) = (tiles.rows / tiles.tiles, tiles.rows % tiles.tiles);
    let groups = panels.div_ceil(S::panels(S::ROWS));
    for group in 0..groups {
        let (first, end) = (group * panels / groups, (group + 1) * panels / groups);
        // SAFETY: as the caller promises.
        unsafe {
            let tile = corner.moved(0, first);
            if larger > 0 {
                simd.run_down(size + 1, end - first, larger, &tile);
            }
            simd.run_down(size, end - first, tiles.tiles - larger, &tile.moved(larger * (size + 1), 0));
        }
    }
}

/// A tile, of whose columns only `width` may be there.
///
/// # Safety
/// As for [`Tiles::run`], except that the result and the bias may have only `width` columns.
#[inline(always)]
unsafe fn sized<S: Tiles, E: Element>(simd: S, size: [usize; 2], width: usize, tile: (&Tile<E>, &Coming<E>)) {
    // SAFETY: as the caller promises.
    unsafe {
        if width >= size[1] * PANEL {
            simd.run(size[0], size[1], tile.0, tile.1);
        } else {
            edge(simd, size, width, tile);
        }
    }
}

/// A tile that sticks out over the last column: computed beside the result, of which it gets what is there.
///
/// # Safety
/// As for [`Tiles::run`], except that the result and the bias have only `width` columns.
#[inline(always)]
unsafe fn edge<S: Tiles, E: Element>(
    simd: S,
    [rows, panels]: [usize; 2],
    width: usize,
    (tile, coming): (&Tile<E>, &Coming<E>),
) {
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
    unsafe { simd.run(rows, panels, &whole, &Coming { c: std::ptr::null_mut(), ..*coming }) };
    for row in 0..rows {
        // SAFETY: the columns that are there.
        unsafe {
            let from = beside[row * row_stride..].as_ptr();
            tile.c.add(row * tile.c_row).copy_from_nonoverlapping(from, width);
        }
    }
}
