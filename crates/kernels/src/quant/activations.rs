//! Activations as bytes, which is what quantised weights are multiplied by.

use super::tile::TILE;
use crate::dispatch::kernels;
use crate::memory::AlignedBuffer;

/// Rows of activations in blocks of 32: activation = scale · code, codes −127 to 127.
///
/// A buffer that is filled again and again without allocating: [`Kernels::quantise_activations`](crate::Kernels::quantise_activations).
#[derive(Debug, Clone)]
pub struct Activations {
    columns: usize,
    capacity: usize,
    rows: usize,
    pub(crate) codes: AlignedBuffer<i8>, // (row, column)
    /// The codes again, for AVX2, which multiplies 16-bit numbers faster than signed bytes: of each four 0, 2, 1, 3, so
    /// that a pair of them meets the even or the odd bytes of a word of weights.
    pub(crate) wide: AlignedBuffer<i16>, // (row, column)
    pub(crate) blocks: Vec<ActivationBlock>, // (row, column / 32)
}

/// One row of [`Activations`].
#[derive(Debug, Clone, Copy)]
pub struct ActivationRow<'a> {
    codes: &'a [i8],
    pub(crate) wide: &'a [i16],
    pub(crate) blocks: &'a [ActivationBlock],
}

impl<'a> ActivationRow<'a> {
    /// The codes.
    #[inline(always)]
    pub fn codes(self) -> &'a [i8] {
        self.codes
    }

    /// The scale of the codes from 32 · `block` on.
    pub fn scale(self, block: usize) -> f32 {
        self.blocks[block].scale
    }

    /// How many there are.
    pub fn columns(self) -> usize {
        self.codes.len()
    }
}

/// What belongs to 32 codes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[repr(C)]
pub(crate) struct ActivationBlock {
    pub scale: f32,
    /// scale · Σ codes: weights with an offset need it.
    pub scaled_sum: f32,
    /// −zero · Σ codes for each code that stands for zero in some format: products of codes that are counted from 0 begin
    /// with it. Multiplied here, since a load that fills a vector is cheaper than a load and a shift.
    pub minus: Minus,
}

/// See [`ActivationBlock::minus`]; named after the code that stands for zero.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[repr(C)]
pub(crate) struct Minus {
    pub by_8: i32,
    pub by_16: i32,
    pub by_128: i32,
    /// Of either half.
    pub halves_by_32: [i32; 2],
}

/// Amounts below this are taken for zero: 127 divided by them could be infinite.
pub(crate) const SMALLEST: f32 = 1e-36;

impl Activations {
    /// Room for `rows` rows of `columns` each.
    ///
    /// # Panics
    /// Where `columns` is not a multiple of 32, or so much cannot be addressed.
    pub fn new(rows: usize, columns: usize) -> Self {
        assert!(columns.is_multiple_of(TILE), "{columns} columns are no whole blocks of {TILE}");
        let len = rows.checked_mul(columns).expect("activations no larger than memory can be");
        Self {
            columns,
            capacity: rows,
            rows: 0,
            codes: AlignedBuffer::zeroed(len),
            wide: AlignedBuffer::zeroed(len),
            blocks: vec![ActivationBlock::default(); len / TILE],
        }
    }

    /// How many rows were quantised last.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// For how many rows there is room.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// The length of a row.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// One row.
    ///
    /// # Panics
    /// Where so many were not quantised.
    #[inline(always)]
    #[track_caller]
    pub fn row(&self, row: usize) -> ActivationRow<'_> {
        assert!(row < self.rows, "row {row} of {}", self.rows);
        ActivationRow {
            codes: &self.codes[row * self.columns..][..self.columns],
            wide: &self.wide[row * self.columns..][..self.columns],
            blocks: &self.blocks[row * (self.columns / TILE)..][..self.columns / TILE],
        }
    }

    /// Takes as many rows as `values` are, if there is room for them.
    pub(crate) fn resize_for(&mut self, values: usize) {
        self.rows = values.checked_div(self.columns).unwrap_or(0);
        debug_assert!(self.rows <= self.capacity);
    }

    fn has_room_for(&self, values: usize) -> bool {
        values <= self.capacity * self.columns && (values == 0 || values.is_multiple_of(self.columns))
    }
}

/// The scale of a block whose largest amount is `largest`, and its inverse. No finite scale where it is infinite or NaN.
#[inline(always)]
pub(crate) fn scale_of(largest: f32) -> (f32, f32) {
    if largest < SMALLEST { (0.0, 0.0) } else { (largest / 127.0, 127.0 / largest) }
}

impl ActivationBlock {
    /// Of 32 codes whose halves have these sums.
    #[inline(always)]
    pub(crate) fn new(scale: f32, [low, high]: [i32; 2]) -> Self {
        let sum = low + high;
        let minus =
            Minus { by_8: -8 * sum, by_16: -16 * sum, by_128: -128 * sum, halves_by_32: [-32 * low, -32 * high] };
        Self { scale, scaled_sum: scale * sum as f32, minus }
    }

    /// Of codes that are all zero and stand for something that is no number.
    pub(crate) fn poisoned() -> Self {
        Self { scale: f32::NAN, scaled_sum: f32::NAN, ..Self::default() }
    }
}

kernels! { quant_activations:
    /// Quantises whole rows: per 32 values one scale, the largest amount / 127, and codes rounded to nearest, ties to even.
    ///
    /// |value − scale · code| ≤ 0.501 · scale. Where all amounts of a block are below 1e-36 it becomes zeros. A block with a NaN or an
    /// infinity gets the scale NaN and codes of zero, so that every product with its row is NaN.
    pub fn quantise_activations(values: &[f32], out: &mut Activations) where { out.has_room_for(values.len()) };
}
