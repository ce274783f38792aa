//! How the rows of a head are laid out for products: one behind the other, or across, so that a
//! vector has a value of several rows.

use std::ops::Range;

use super::cells::{Cell, HeadRows};
use crate::attention::{CacheCells, CacheView};
use crate::simd::Simd;

/// Rows that lie across together: two vectors of AVX-512.
pub(super) const GROUP: usize = 2 * SQUARE;
/// What no row sees is skipped by squares of so many rows and positions.
pub(super) const SQUARE: usize = super::MAX_LANES;

/// How many rows ahead the values of a head are asked for, line by line of the cache. Rows lie so
/// far apart that the CPU does not see them coming: waiting for them was two fifths of the time of
/// the gradient.
pub(super) const AHEAD: usize = 16;
const LINE: usize = 64;

/// Asks for the values of a row.
#[inline(always)]
pub(super) fn prefetch<S: Simd>(simd: S, row: &[f32]) {
    for line in row.chunks(super::MAX_LANES) {
        simd.prefetch(line.as_ptr());
    }
}

/// Reads a value of each line of a row, up to the last one where it does not begin with a line, so that it is in L2.
#[inline(always)]
pub(super) fn touch(row: &[f32]) {
    for value in row.iter().step_by(super::MAX_LANES) {
        // SAFETY: a value behind a reference.
        unsafe { std::ptr::from_ref(value).read_volatile() };
    }
}

/// A row, padded with zeros to the length of `to`.
#[inline(always)]
pub(super) fn copy<S: Simd>(simd: S, from: &[f32], to: &mut [f32]) {
    for dim in (0..to.len()).step_by(S::LANES) {
        let vector = if dim + S::LANES <= from.len() {
            simd.load(&from[dim..])
        } else {
            simd.load_part(from.get(dim..).unwrap_or(&[]))
        };
        simd.store(vector, &mut to[dim..]);
    }
}

/// From (row, value) to (group, value, row of the group), times a factor. Both are whole groups of
/// rows of `stride` values.
#[inline(always)]
pub(super) fn turn<S: Simd>(simd: S, (rows, stride): (&[f32], usize), factor: f32, across: &mut [f32]) {
    assert!(
        rows.len() == across.len() && stride.is_multiple_of(S::SQUARE) && rows.len().is_multiple_of(GROUP * stride)
    );
    for (rows, across) in rows.chunks_exact(GROUP * stride).zip(across.chunks_exact_mut(GROUP * stride)) {
        for dim in (0..stride).step_by(S::SQUARE) {
            for row in (0..GROUP).step_by(S::SQUARE) {
                // SAFETY: a square within a group, which has `GROUP` rows of `stride` values, and
                // as many values across.
                unsafe {
                    let from = rows.as_ptr().add(row * stride + dim);
                    simd.transpose_ptr(from, stride, across.as_mut_ptr().add(dim * GROUP + row), GROUP);
                }
            }
        }
    }
    if factor != 1.0 {
        let factor = simd.splat(factor);
        for vector in across.chunks_exact_mut(S::LANES) {
            simd.store(simd.mul(simd.load(vector), factor), vector);
        }
    }
}

/// Some positions of one head as f32, one row after another, padded with zeros to the `stride`.
#[inline(always)]
pub(super) fn unpack<S: Simd>(
    simd: S,
    cache: (&CacheView<'_>, usize),
    positions: Range<usize>,
    dims: usize,
    out: &mut [f32],
) {
    let (view, kv_head) = cache;
    match view.cells {
        CacheCells::F32(cells) => unpack_cells(simd, HeadRows::new(cells, view, kv_head), positions, dims, out),
        CacheCells::F16(cells) => unpack_cells(simd, HeadRows::new(cells, view, kv_head), positions, dims, out),
        CacheCells::Q8_0(cells) => unpack_cells(simd, HeadRows::new(cells, view, kv_head), positions, dims, out),
    }
}

#[inline(always)]
fn unpack_cells<S: Simd, C: Cell>(simd: S, rows: HeadRows<C>, positions: Range<usize>, dims: usize, out: &mut [f32]) {
    let stride = dims.next_multiple_of(super::MAX_LANES);
    for (position, out) in positions.zip(out.chunks_exact_mut(stride)) {
        let row = rows.row(position);
        // Where rows of a head lie far apart, the CPU does not see them coming; the address need not exist.
        let ahead = rows.row(position + AHEAD);
        for cell in (0..dims / C::VALUES).step_by(LINE.div_ceil(size_of::<C>())) {
            simd.prefetch(ahead.wrapping_add(cell).cast());
        }
        let mut dim = 0;
        // SAFETY: the door made sure that the cache has these rows, with `dims` values each.
        unsafe {
            while dim + 4 * S::LANES <= dims {
                let four: [S::F; 4] = C::load(simd, row, dim);
                for (j, vector) in four.into_iter().enumerate() {
                    simd.store(vector, &mut out[dim + j * S::LANES..]);
                }
                dim += 4 * S::LANES;
            }
            while dim + S::LANES <= dims {
                let [vector] = C::load(simd, row, dim);
                simd.store(vector, &mut out[dim..]);
                dim += S::LANES;
            }
            if dim < dims {
                simd.store(C::load_part(simd, row, dim, dims - dim), &mut out[dim..]);
            }
        }
        out[dims..].fill(0.0);
    }
}
