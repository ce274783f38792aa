//! Copies of blocks in the order in which the innermost loop reads them.

use crate::gemm::{Matrix, PANEL};
use crate::simd::Simd;

/// Rows one behind the other, or columns where those are contiguous; returns how far apart rows and columns are then. The innermost
/// loop takes either: nothing is turned.
#[inline(always)]
pub(crate) fn left(a: &Matrix<'_>, to: &mut [f32]) -> [usize; 2] {
    let by_columns = a.col_stride != 1;
    let lines = if by_columns { a.transposed() } else { *a };
    assert!(lines.col_stride == 1);
    for (line, to) in to[..a.rows * a.cols].chunks_exact_mut(lines.cols.max(1)).enumerate() {
        // SAFETY: a row or a column of the matrix.
        unsafe { to.as_mut_ptr().copy_from_nonoverlapping(lines.data.add(line * lines.row_stride), lines.cols) };
    }
    if by_columns { [1, a.rows] } else { [a.cols, 1] }
}

/// Panels of columns, which begin `stride` apart; the last filled up with zeros.
#[inline(always)]
pub(crate) fn right<S: Simd>(simd: S, b: &Matrix<'_>, to: &mut [f32], stride: usize) {
    let mut panel = 0;
    if b.col_stride == 1 {
        while (panel + TOGETHER) * PANEL <= b.cols {
            let part = b.part(0..b.rows, panel * PANEL..(panel + TOGETHER) * PANEL);
            copy_panels(simd, &part, &mut to[panel * stride..], stride);
            panel += TOGETHER;
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

#[inline(always)]
fn copy_panels<S: Simd>(simd: S, part: &Matrix<'_>, to: &mut [f32], stride: usize) {
    assert!(part.col_stride == 1 && part.cols == TOGETHER * PANEL);
    assert!(to.len() >= (TOGETHER - 1) * stride + part.rows * PANEL);
    for row in 0..part.rows {
        for panel in 0..TOGETHER {
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
