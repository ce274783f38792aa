//! One thread's share of a product.

use std::ops::Range;

use super::matrix::{Matrix, MatrixMut};
use super::{PANEL, PackedMatrix, Product};

/// The right factor.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Right<'a> {
    Plain(Matrix<'a>),
    Packed(&'a PackedMatrix),
}

impl Right<'_> {
    pub(crate) fn cols(&self) -> usize {
        match self {
            Right::Plain(matrix) => matrix.cols,
            Right::Packed(packed) => packed.cols(),
        }
    }
}

// SAFETY: the pointer leads into a result that is borrowed mutably while the job lives, and jobs
// that run at the same time write different parts of it.
unsafe impl Sync for Job<'_> {}

/// A rectangle of the result and what it is made of. Jobs of one product that run at the same time have rectangles that
/// do not overlap.
#[derive(Debug)]
pub(crate) struct Job<'a> {
    /// The rows of the left factor.
    pub a: Matrix<'a>,
    /// The right factor, whole.
    pub b: Right<'a>,
    /// The first column of the right factor; where it is packed, the first of a panel.
    pub first_col: usize,
    /// How many columns.
    pub cols: usize,
    /// What is added to each row: `cols` values.
    pub bias: Option<&'a [f32]>,
    /// Whether to add to what stands in the result.
    pub accumulate: bool,
    /// The upper left corner of the rectangle.
    pub c: *mut f32,
    /// From one row of the result to the next.
    pub c_row: usize,
}

impl<'a> Job<'a> {
    /// Some of its columns.
    pub(crate) fn columns(&self, first: usize, cols: usize) -> Job<'a> {
        assert!(first + cols <= self.cols);
        Job {
            first_col: self.first_col + first,
            cols,
            bias: self.bias.map(|bias| &bias[first..first + cols]),
            // SAFETY: within the rectangle.
            c: unsafe { self.c.add(first) },
            ..*self
        }
    }

    /// Some of its rows.
    pub(crate) fn rows(&self, rows: Range<usize>) -> Job<'a> {
        let a = self.a.part(rows.clone(), 0..self.a.cols);
        // SAFETY: within the rectangle; at its end where there are no rows.
        Job { a, c: unsafe { self.c.add(rows.start * self.c_row) }, ..*self }
    }

    /// Part `part` of `grid` = \[rows, columns\] parts; empty where there are more parts than panels or rows.
    pub(crate) fn part(&self, part: usize, grid: [usize; 2]) -> Job<'a> {
        let rows = share(self.a.rows, part / grid[1], grid[0]);
        let panels = share(self.cols.div_ceil(PANEL), part % grid[1], grid[1]);
        let (first, end) = (panels.start * PANEL, self.cols.min(panels.end * PANEL));
        self.columns(first.min(end), end - first.min(end)).rows(rows)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.a.rows == 0 || self.cols == 0
    }

    /// The whole product.
    pub(crate) fn whole(product: &Product<'a>, c: &MatrixMut<'_>) -> Self {
        Self {
            a: product.a,
            b: product.b,
            first_col: 0,
            cols: c.cols,
            bias: product.bias,
            accumulate: product.accumulate,
            c: c.data,
            c_row: c.row_stride,
        }
    }
}

/// Part `part` of `parts` of `len`; sizes differ by one at most.
fn share(len: usize, part: usize, parts: usize) -> Range<usize> {
    part * len / parts..(part + 1) * len / parts
}
