//! Quantised weights times quantised activations.
//!
//! out\[m\]\[n\] = Σₖ weight\[n\]\[k\] · activation\[m\]\[k\], computed tile by tile in the order of k. A tile gives an integer sum, which is
//! exact, and then one rounded multiplication of scales and one fused addition:
//! acc = fma(Σ (code − zero) · x, scale · x_scale, acc), for either half of a tile in Q6_K; and where weights have an offset,
//! acc = fma(offset, x_scale · Σ x, acc). Every instruction set does just that, so all give the same bits, and so do the product by a
//! vector and by a matrix, whichever groups of rows a call computes.

use std::marker::PhantomData;
use std::ops::Range;

use super::activations::Activations;
use super::packed::{PackedMatrix, Packing};
use crate::dispatch::kernels;

kernels! { packed:
    /// out\[n\] = weights\[n\] · activations\[row\], for the rows of some groups of weights.
    ///
    /// `out` has one place for each of [`weights.rows_of(groups)`](PackedMatrix::rows_of).
    pub fn matvec_packed(weights: &PackedMatrix, groups: Range<usize>, x: &Activations, row: usize, out: &mut [f32]) where {
        weights.columns() == x.columns(),
        row < x.rows(),
        out.len() == weights.rows_of(groups.clone()).len(),
    };
    /// out\[m\]\[n\] = weights\[n\] · activations\[m\], for all rows of activations and the rows n of some groups of weights.
    ///
    /// Other places of `out` are left alone, so that calls on several threads can share it.
    pub(crate) fn matmul_part(weights: &PackedMatrix, groups: Range<usize>, x: &Activations, out: OutputPart<'_>) where {
        weights.columns() == x.columns(),
        groups.end <= weights.groups(),
        out.0.rows() >= x.rows(),
        out.0.columns() == weights.rows(),
    };
}

kernels! { blocks:
    /// out\[n\] = weights\[n\] · activations\[row\], for rows of weights as they lie in a file, one behind the other: the same
    /// bits as [`Kernels::matvec_packed`](crate::Kernels::matvec_packed) gives, more slowly. For weights that are not worth packing.
    pub fn matvec_blocks(format: Packing, weights: &[u8], x: &Activations, row: usize, out: &mut [f32]) where {
        x.columns().is_multiple_of(format.block_len()),
        row < x.rows(),
        weights.len() == out.len() * (x.columns() / format.block_len() * format.block_bytes()),
    };
}

impl crate::Kernels {
    /// out\[m\]\[n\] = weights\[n\] · activations\[m\]
    ///
    /// # Panics
    /// Where the columns of weights and activations differ, or `out` has fewer rows than the activations or other columns than
    /// `weights` has rows.
    #[track_caller]
    pub fn matmul_packed(self, weights: &PackedMatrix, x: &Activations, out: &mut Outputs<'_>) {
        // SAFETY: the borrow of `out` is unique, so no other call writes there.
        unsafe { self.matmul_packed_groups(weights, 0..weights.groups(), x, out) }
    }

    /// As [`Kernels::matmul_packed`](crate::Kernels::matmul_packed), for the rows of some groups of weights alone; other columns of `out` are left alone.
    ///
    /// # Safety
    /// No two calls that run at the same time with the same `out` have a group in common, and nobody reads those columns meanwhile.
    #[track_caller]
    pub unsafe fn matmul_packed_groups(
        self,
        weights: &PackedMatrix,
        groups: Range<usize>,
        x: &Activations,
        out: &Outputs<'_>,
    ) {
        self.matmul_part(weights, groups, x, OutputPart(out));
    }
}

/// Rows of results, all of the same length, that several threads can fill, each its own columns.
#[derive(Debug)]
pub struct Outputs<'a> {
    start: *mut f32,
    rows: usize,
    columns: usize,
    stride: usize,
    borrowed: PhantomData<&'a mut [f32]>,
}

// SAFETY: places are written only through `matmul_packed_groups`, whose callers promise not to write the same ones.
unsafe impl Sync for Outputs<'_> {}
// SAFETY: it stands for a unique borrow of plain numbers.
unsafe impl Send for Outputs<'_> {}

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

    /// How many values of each row are results.
    pub fn columns(&self) -> usize {
        self.columns
    }
}

/// The columns of [`Outputs`] that one call may write.
#[derive(Clone, Copy)]
pub(crate) struct OutputPart<'a>(&'a Outputs<'a>);

impl OutputPart<'_> {
    /// Where the value of a row and column is. Only the columns of the groups that the call was given may be written.
    #[inline(always)]
    pub(crate) fn at(self, row: usize, column: usize) -> *mut f32 {
        assert!(row < self.0.rows && column < self.0.columns);
        // SAFETY: rows · stride values lie behind `start`, and the place is within them.
        unsafe { self.0.start.add(row * self.0.stride + column) }
    }
}
