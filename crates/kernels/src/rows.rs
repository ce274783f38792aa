//! Views of matrices whose rows lie apart: the heads of some rows, to be read or to be written by one thread among
//! several.

use std::marker::PhantomData;
use std::ops::Range;

/// Rows of f32 to read: `width` values each, beginning `stride` values after one another.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    data: &'a [f32],
    rows: usize,
    width: usize,
    stride: usize,
}

/// Whether `rows` rows lie in `len` values.
fn fit(len: usize, rows: usize, width: usize, stride: usize) -> bool {
    let last = rows.saturating_sub(1).checked_mul(stride).and_then(|start| start.checked_add(width));
    rows == 0 || last.is_some_and(|end| end <= len)
}

impl<'a> Rows<'a> {
    /// # Panics
    /// Where the rows do not lie in `data`.
    #[track_caller]
    pub fn new(data: &'a [f32], rows: usize, width: usize, stride: usize) -> Self {
        assert!(fit(data.len(), rows, width, stride), "{rows} rows of {width} at {stride} in {}", data.len());
        Self { data, rows, width, stride }
    }

    /// How many rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many values in a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// One of them.
    #[inline(always)]
    pub fn row(&self, row: usize) -> &'a [f32] {
        assert!(row < self.rows);
        &self.data[row * self.stride..][..self.width]
    }

    /// Some columns of every row.
    #[track_caller]
    pub fn columns(&self, columns: Range<usize>) -> Self {
        assert!(columns.start <= columns.end && columns.end <= self.width);
        let data = self.data.get(columns.start..).unwrap_or(&[]);
        Self { data, width: columns.len(), ..*self }
    }

    /// Some rows.
    #[track_caller]
    pub fn part(&self, rows: Range<usize>) -> Self {
        assert!(rows.start <= rows.end && rows.end <= self.rows);
        let data = self.data.get(rows.start * self.stride..).unwrap_or(&[]);
        Self { data, rows: rows.len(), ..*self }
    }
}

/// Rows of f32 to write. Splitting gives views that share no value, so that threads can write them at the same time.
#[derive(Debug)]
pub struct RowsMut<'a> {
    data: *mut f32,
    rows: usize,
    width: usize,
    stride: usize,
    borrowed: PhantomData<&'a mut [f32]>,
}

// SAFETY: the view is the only one of its values, as a `&mut [f32]` would be.
unsafe impl Send for RowsMut<'_> {}
// SAFETY: a shared view gives no access to the values.
unsafe impl Sync for RowsMut<'_> {}

impl<'a> RowsMut<'a> {
    /// # Panics
    /// Where the rows do not lie in `data`, or overlap.
    #[track_caller]
    pub fn new(data: &'a mut [f32], rows: usize, width: usize, stride: usize) -> Self {
        assert!(fit(data.len(), rows, width, stride), "{rows} rows of {width} at {stride} in {}", data.len());
        assert!(rows <= 1 || width <= stride, "rows of {width} overlap at {stride}");
        Self { data: data.as_mut_ptr(), rows, width, stride, borrowed: PhantomData }
    }

    /// How many rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many values in a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// One of them.
    #[inline(always)]
    pub fn row(&mut self, row: usize) -> &mut [f32] {
        assert!(row < self.rows);
        // SAFETY: the row lies in what `new` was given, and no other view has these columns of it.
        unsafe { std::slice::from_raw_parts_mut(self.data.add(row * self.stride), self.width) }
    }

    /// The first `row` rows, and the others.
    #[track_caller]
    pub fn split_at_row(self, row: usize) -> (Self, Self) {
        assert!(row <= self.rows);
        // Wrapping: where no row is left, the stride may lead beyond the end.
        let data = self.data.wrapping_add(row * self.stride);
        (Self { rows: row, ..self }, Self { data, rows: self.rows - row, ..self })
    }

    /// The first `column` columns of every row, and the others.
    #[track_caller]
    pub fn split_at_column(self, column: usize) -> (Self, Self) {
        assert!(column <= self.width);
        let data = self.data.wrapping_add(column);
        (Self { width: column, ..self }, Self { data, width: self.width - column, ..self })
    }

    /// Some columns of some rows.
    ///
    /// # Safety
    /// No other view with one of these values is in use at the same time.
    pub(crate) unsafe fn part(&self, rows: Range<usize>, columns: Range<usize>) -> RowsMut<'a> {
        assert!(rows.start <= rows.end && rows.end <= self.rows);
        assert!(columns.start <= columns.end && columns.end <= self.width);
        // Wrapping: where no row is left, the stride may lead beyond the end.
        let data = self.data.wrapping_add(rows.start * self.stride + columns.start);
        RowsMut { data, rows: rows.len(), width: columns.len(), ..*self }
    }

    /// From one row to the next.
    pub(crate) fn stride(&self) -> usize {
        self.stride
    }
}
