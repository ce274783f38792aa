//! Quantised weights times quantised activations.
//!
//! out\[m\]\[n\] = Σₖ weight\[n\]\[k\] · activation\[m\]\[k\], computed tile by tile in the order
//! of k. A tile gives an integer sum, which is exact, and then one rounded multiplication of scales
//! and one fused addition: acc = fma(Σ (code − zero) · x, scale · x_scale, acc), for either half of
//! a tile in Q6_K; and where weights have an offset, acc = fma(offset, x_scale · Σ x, acc). Every
//! instruction set does just that, so all give the same bits, and so do the product by a vector and
//! by a matrix, whichever rows a call computes and however many threads share them.

use std::marker::PhantomData;
use std::ops::Range;

use super::activations::{ActivationRow, Activations};
use super::format::Format;
use super::packed::{PackedRows, PackedWeights};
use crate::dispatch::kernels;
use crate::{Kernels, Pool};

kernels! { quant_packed:
    /// out\[n\] = weights\[n\] · x. `out` has one place for each of [`weights.rows()`](PackedRows::rows).
    pub fn matvec_packed(weights: PackedRows<'_>, x: ActivationRow<'_>, out: &mut [f32]) where {
        weights.columns() == x.columns(),
        weights.rows().len() == out.len(),
    };
    /// out\[m\]\[n\] = weights\[n\] · x\[m\]. `out` has a column for each of
    /// [`weights.rows()`](PackedRows::rows), and at least as many rows as the activations.
    pub fn matmul_packed(weights: PackedRows<'_>, x: &Activations, out: &mut Outputs<'_>) where {
        weights.columns() == x.columns(),
        weights.rows().len() == out.columns(),
        x.rows() <= out.rows(),
    };
}

kernels! { quant_blocks:
    /// out\[n\] = weights\[n\] · x, for rows of weights as they lie in a file, one behind the
    /// other: the same bits as [`Kernels::matvec_packed`](crate::Kernels::matvec_packed) gives,
    /// more slowly. For weights that are not worth packing.
    pub fn matvec_blocks(format: Format, weights: &[u8], x: ActivationRow<'_>, out: &mut [f32]) where {
        format.row_bytes(x.columns()).and_then(|bytes| bytes.checked_mul(out.len())) == Some(weights.len()),
    };
}

/// What one thread reads per nanosecond from its caches, and multiplies where there are many rows:
/// for deciding whether other threads are worth waking.
const BYTES_PER_NS: f64 = 50.0;
const PRODUCTS_PER_NS: f64 = 100.0;

impl Kernels {
    /// As [`Kernels::matvec_packed`], on the threads of a pool where there is enough to do; with the same bits.
    ///
    /// # Panics
    /// Where the lengths do not fit.
    #[track_caller]
    pub fn matvec_packed_on(self, pool: &Pool, weights: &PackedWeights, x: ActivationRow<'_>, out: &mut [f32]) {
        let parts = pool.parts(weights.bytes() as f64 / BYTES_PER_NS);
        if parts == 1 || weights.groups() < parts {
            return self.matvec_packed(weights.whole(), x, out);
        }
        let columns = out.len();
        let out = Outputs::new(out, columns, columns);
        run_parts(pool, parts, weights, &out, |rows, mut out| self.matvec_packed(rows, x, out.row_mut(0)));
    }

    /// As [`Kernels::matmul_packed`], on the threads of a pool where there is enough to do; with the same bits.
    ///
    /// # Panics
    /// Where the lengths do not fit.
    #[track_caller]
    pub fn matmul_packed_on(self, pool: &Pool, weights: &PackedWeights, x: &Activations, out: &mut Outputs<'_>) {
        let products = (weights.rows() * weights.columns() * x.rows()) as f64;
        let parts = pool.parts((products / PRODUCTS_PER_NS).max(weights.bytes() as f64 / BYTES_PER_NS));
        if parts == 1 || weights.groups() < parts {
            return self.matmul_packed(weights.whole(), x, out);
        }
        run_parts(pool, parts, weights, out, |rows, mut out| self.matmul_packed(rows, x, &mut out));
    }
}

/// Divides the groups of `weights` and their columns of `out` among the threads of a pool.
#[track_caller]
fn run_parts(
    pool: &Pool,
    parts: usize,
    weights: &PackedWeights,
    out: &Outputs<'_>,
    work: impl Fn(PackedRows<'_>, Outputs<'_>) + Sync,
) {
    assert_eq!(out.columns(), weights.rows(), "a place for each row of weights");
    let groups = weights.groups();
    pool.run(parts, |part| {
        let rows = weights.part(groups * part / parts..groups * (part + 1) / parts);
        // SAFETY: parts have no row in common, and `out` stands for a unique borrow that lasts until all have run.
        work(rows, unsafe { out.part(rows.rows()) });
    });
}

/// Rows of results that can be divided by columns, so that several threads fill one matrix.
#[derive(Debug)]
pub struct Outputs<'a> {
    start: *mut f32,
    rows: usize,
    columns: usize,
    stride: usize,
    borrowed: PhantomData<&'a mut [f32]>,
}

// SAFETY: it stands for a unique borrow of plain numbers.
unsafe impl Send for Outputs<'_> {}
// SAFETY: a shared one gives away its shape alone, or else what `part` asks of its callers.
unsafe impl Sync for Outputs<'_> {}

impl<'a> Outputs<'a> {
    /// Rows of `columns` values, each `stride` behind the one before.
    ///
    /// # Panics
    /// Where rows would overlap, or `values` is no whole number of strides.
    pub fn new(values: &'a mut [f32], columns: usize, stride: usize) -> Self {
        assert!(columns <= stride, "{columns} columns in rows of {stride}");
        let rows = values.len().checked_div(stride).unwrap_or(0);
        assert_eq!(rows * stride, values.len(), "whole rows of {stride}");
        Self { start: values.as_mut_ptr(), rows, columns, stride, borrowed: PhantomData }
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many columns there are.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The columns before `column`, and those from it on.
    ///
    /// # Panics
    /// Where there are not so many.
    pub fn split_at(self, column: usize) -> (Self, Self) {
        // SAFETY: the two have no column in common, and `self` is gone.
        unsafe { (self.part(0..column), self.part(column..self.columns)) }
    }

    /// Some of the columns.
    ///
    /// # Safety
    /// No other part with one of these columns is in use at the same time.
    ///
    /// # Panics
    /// Where there are not so many.
    pub unsafe fn part(&self, columns: Range<usize>) -> Self {
        assert!(columns.start <= columns.end && columns.end <= self.columns, "{columns:?} of {}", self.columns);
        Self { start: self.start.wrapping_add(columns.start), columns: columns.len(), ..*self }
    }

    /// Where the first column of the first row is.
    pub(crate) fn start(&self) -> *mut f32 {
        self.start
    }

    /// From one row to the next.
    pub(crate) fn stride(&self) -> usize {
        self.stride
    }

    /// Where one value is.
    #[inline(always)]
    pub(crate) fn place(&mut self, row: usize, column: usize) -> *mut f32 {
        assert!(row < self.rows && column < self.columns);
        // SAFETY: within the borrowed values.
        unsafe { self.start.add(row * self.stride + column) }
    }

    /// The columns of one row.
    #[inline(always)]
    pub(crate) fn row_mut(&mut self, row: usize) -> &mut [f32] {
        assert!(row < self.rows);
        // SAFETY: the row and its columns lie within the borrowed values, and no other part has these columns.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(row * self.stride), self.columns) }
    }
}
