//! Products of the small matrices of one head, by the tiles of `gemm`: the factors are read where they lie.

use crate::vector::gemm::columns_first;
use crate::vector::gemm::pack::{Left as Lying, RowTiles};
use crate::vector::gemm::tile::{Tile, Tiles};

/// A factor that is read from `data` on, `row` from one row to the next and `step` from one summand to the next.
#[derive(Clone, Copy)]
pub(super) struct Left<'a> {
    pub data: &'a [f32],
    pub row: usize,
    pub step: usize,
}

/// A factor whose rows, one for each summand, are `step` apart and padded to whole panels.
#[derive(Clone, Copy)]
pub(super) struct Right<'a> {
    pub data: &'a [f32],
    pub step: usize,
}

/// The result: rows that begin `row` apart.
pub(super) struct Out {
    pub start: *mut f32,
    pub row: usize,
    /// Whether to add to what is there.
    pub add: bool,
}

/// Rows and columns of the result, and how many summands an element has.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub rows: usize,
    pub cols: usize,
    pub depth: usize,
}

/// out\[r\]\[c\] = Σ left\[r\]\[s\] · right\[s\]\[c\], in the order of the summands.
///
/// A function of its own: it has no instructions of an instruction set, its tiles are functions
/// too, and inlined at every call it would be compiled again and again.
///
/// # Safety
/// `out` has the rows, with `cols` values each, and nobody else uses them.
#[inline(never)]
pub(super) unsafe fn multiply<S: Tiles>(simd: S, sizes: Sizes, left: Left<'_>, right: Right<'_>, out: Out) {
    let Sizes { rows, cols, depth } = sizes;
    if rows == 0 || cols == 0 {
        return;
    }
    if depth > 0 {
        assert!((rows - 1) * left.row + (depth - 1) * left.step < left.data.len());
        assert!((depth - 1) * right.step + cols.next_multiple_of(super::MAX_LANES) <= right.data.len());
    }
    let corner = Tile {
        depth,
        a: left.data.as_ptr(),
        a_row: left.row,
        a_step: left.step,
        b: right.data.as_ptr(),
        b_step: right.step,
        b_panel: super::MAX_LANES,
        c: out.start,
        c_row: out.row,
        bias: std::ptr::null(),
        add: out.add,
    };
    // As high as tiles can be: results are narrow here, two panels as a rule.
    let tiles = RowTiles { rows, tiles: rows.div_ceil(S::MOST_ROWS) };
    // SAFETY: the factors are there, as was just checked, and the result is, as the caller promises.
    unsafe { columns_first(simd, (tiles, Lying::InPlace), cols, &corner) };
}
