//! Some rows times a large factor that is read where it lies, a block of its rows at a time. The
//! innermost loop walks down those, which is more streams than the CPU follows by itself; so the
//! next block is asked for meanwhile, in the order in which it lies. From DRAM 8×2048² went from 42
//! to 52 GFLOP/s and 23×2048² from 63 to 76, from L3 from 74 to 72 and from 64 to 76 (medians of
//! one call). Packing blocks in passing halved the speed.

use super::pack::{Left, RowTiles};
use super::tile::{Coming, Tile, Tiles};
use super::{Panels, blocks, corner, row_tiles, sized};
use crate::gemm::job::Job;
use crate::gemm::{Matrix, PANEL};

/// From so many rows on. With four and six it was faster from DRAM by a fifth, and slower from L3 by as much.
const FROM_ROWS: usize = 7;
/// A factor of no more bytes stays in L2, where nothing has to be asked for.
const NEAR: usize = 1 << 20;
/// Rows and columns of a block of the factor: that and the next one are half of L2.
const DEPTH: usize = 32;
const COLS: usize = 2048;

/// Whether it pays for so many rows.
#[inline(always)]
pub(super) fn pays(rows: usize, b: &Matrix<'_>) -> bool {
    rows >= FROM_ROWS && b.rows.saturating_mul(b.row_stride) > NEAR / size_of::<f32>()
}

/// The first `cols` columns, whole panels, of a job whose right factor has contiguous columns.
#[inline(always)]
pub(super) fn along<S: Tiles>(simd: S, job: &Job<'_>, b: &Matrix<'_>, cols: usize, left: &mut [f32]) {
    assert!(b.col_stride == 1 && cols.is_multiple_of(PANEL));
    let tiles = row_tiles::<S>(job.a.rows);
    for (col, cols) in blocks(cols, COLS) {
        let job = job.columns(col, cols);
        for (first_row, rows) in blocks(b.rows, DEPTH) {
            let start = b.part(first_row..first_row + rows, job.first_col..job.first_col + cols).data;
            let panels = Panels { first_row, rows, cols, start, step: b.row_stride, panel: PANEL };
            let a = job.a.part(0..tiles.rows, first_row..first_row + rows);
            let a = Left::packed(simd, &a, (tiles, cols), left);
            let next = Next {
                start: start.wrapping_add(rows * b.row_stride),
                rows: DEPTH.min(b.rows - first_row - rows),
                row: b.row_stride,
            };
            // SAFETY: the rows of the left factor, those of the right one and the rectangle of the result are there.
            unsafe { block(simd, (tiles, a), (&corner(&job, &panels), cols), next) };
        }
    }
}

/// The rows of the factor that come after those of a block.
struct Next {
    start: *const f32,
    rows: usize,
    /// From one to the next.
    row: usize,
}

/// # Safety
/// All that the first tile, the corner, points to is there for all rows and `cols` columns, whole panels; the left factor as it
/// says itself.
#[inline(always)]
unsafe fn block<S: Tiles>(simd: S, (tiles, a): (RowTiles, Left), (corner, cols): (&Tile<f32>, usize), mut next: Next) {
    let panels = cols / PANEL;
    let groups = panels.div_ceil(tiles.panels::<S>());
    let (lines, parts) = (next.rows * panels, groups * tiles.tiles);
    let (mut asked, mut panel) = (0, 0);
    for part in 0..parts {
        let (group, rows) = (part / tiles.tiles, tiles.range(part % tiles.tiles));
        let (first, end) = (group * panels / groups, (group + 1) * panels / groups);
        for _ in asked..lines * (part + 1) / parts {
            simd.prefetch(next.start.wrapping_add(panel * PANEL));
            panel += 1;
            if panel == panels {
                (panel, next.start) = (0, next.start.wrapping_add(next.row));
            }
        }
        asked = lines * (part + 1) / parts;
        // SAFETY: as the caller promises, for the rows and panels of this tile.
        unsafe {
            let tile = a.of(rows.clone(), corner.moved(rows.start, first));
            sized(simd, [rows.len(), end - first], cols - first * PANEL, (&tile, &Coming::nothing(&tile)));
        }
    }
}
