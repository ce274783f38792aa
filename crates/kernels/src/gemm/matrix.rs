//! Matrices that lie in someone else's memory.

use std::marker::PhantomData;
use std::ops::Range;

/// A matrix to read: any rows and columns of a slice, transposed or not.
#[derive(Debug, Clone, Copy)]
pub struct Matrix<'a> {
    pub(crate) data: *const f32,
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) row_stride: usize,
    pub(crate) col_stride: usize,
    borrowed: PhantomData<&'a [f32]>,
}

// SAFETY: it stands for the `&[f32]` that it was made of.
unsafe impl Send for Matrix<'_> {}
// SAFETY: it stands for the `&[f32]` that it was made of.
unsafe impl Sync for Matrix<'_> {}

impl<'a> Matrix<'a> {
    /// `rows` × `cols`, row by row without a gap.
    #[track_caller]
    pub fn new(data: &'a [f32], rows: usize, cols: usize) -> Self {
        Self::strided(data, [rows, cols], cols)
    }

    /// `shape` = \[rows, columns\]; each row begins `row_stride` elements after the one before.
    #[track_caller]
    pub fn strided(data: &'a [f32], shape: [usize; 2], row_stride: usize) -> Self {
        let [rows, cols] = shape;
        check_bounds(data.len(), shape, row_stride);
        Self { data: data.as_ptr(), rows, cols, row_stride, col_stride: 1, borrowed: PhantomData }
    }

    /// Rows as columns and columns as rows; nothing is moved.
    pub fn transposed(self) -> Self {
        let Self { data, rows, cols, row_stride, col_stride, borrowed } = self;
        Self { data, rows: cols, cols: rows, row_stride: col_stride, col_stride: row_stride, borrowed }
    }

    /// How many rows it has.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many columns it has.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// A part of it.
    pub(crate) fn part(self, rows: Range<usize>, cols: Range<usize>) -> Self {
        assert!(rows.start <= rows.end && rows.end <= self.rows && cols.start <= cols.end && cols.end <= self.cols);
        // An empty part may begin behind the last element, where no pointer may point to.
        let (start, part) = if rows.is_empty() || cols.is_empty() {
            (0, self)
        } else {
            (rows.start * self.row_stride + cols.start * self.col_stride, self)
        };
        // SAFETY: the first element of the part lies within the matrix.
        Self { data: unsafe { self.data.add(start) }, rows: rows.len(), cols: cols.len(), ..part }
    }

    /// One element.
    pub(crate) fn at(&self, row: usize, col: usize) -> f32 {
        assert!(row < self.rows && col < self.cols);
        // SAFETY: within the matrix, as was just checked.
        unsafe { *self.data.add(row * self.row_stride + col * self.col_stride) }
    }
}

/// A matrix to write, row by row.
#[derive(Debug)]
pub struct MatrixMut<'a> {
    pub(crate) data: *mut f32,
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) row_stride: usize,
    borrowed: PhantomData<&'a mut [f32]>,
}

impl<'a> MatrixMut<'a> {
    /// `rows` × `cols`, row by row without a gap.
    #[track_caller]
    pub fn new(data: &'a mut [f32], rows: usize, cols: usize) -> Self {
        Self::strided(data, [rows, cols], cols)
    }

    /// `shape` = \[rows, columns\]; each row begins `row_stride` elements after the one before.
    #[track_caller]
    pub fn strided(data: &'a mut [f32], shape: [usize; 2], row_stride: usize) -> Self {
        let [rows, cols] = shape;
        check_bounds(data.len(), shape, row_stride);
        Self { data: data.as_mut_ptr(), rows, cols, row_stride, borrowed: PhantomData }
    }
}

#[track_caller]
fn check_bounds(len: usize, [rows, cols]: [usize; 2], row_stride: usize) {
    assert!(rows <= 1 || row_stride >= cols, "rows of {cols} columns overlap at a distance of {row_stride}");
    let needed = if rows == 0 || cols == 0 {
        Some(0)
    } else {
        (rows - 1).checked_mul(row_stride).and_then(|start| start.checked_add(cols))
    };
    assert!(
        needed.is_some_and(|needed| needed <= len),
        "{len} elements do not hold {rows} rows of {cols} columns at a distance of {row_stride}"
    );
}
