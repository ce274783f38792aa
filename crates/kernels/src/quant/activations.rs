//! Activations as bytes, which is what quantised weights are multiplied by.

use std::marker::PhantomData;
use std::ops::Range;
use std::slice::from_raw_parts_mut;

use super::tile::TILE;
use crate::dispatch::kernels;
use crate::memory::AlignedBuffer;
use crate::{Kernels, Pool};

/// Rows of activations in blocks of 32: activation = scale · code, codes −127 to 127.
///
/// A buffer that is filled again and again without allocating:
/// [`Kernels::quantise_activations`](crate::Kernels::quantise_activations).
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
    /// −zero · Σ codes for each code that stands for zero in some format: products of codes that
    /// are counted from 0 begin with it. Multiplied here, since a load that fills a vector is
    /// cheaper than a load and a shift.
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

/// Rows of [`Activations`] that are being written.
#[derive(Debug)]
pub(crate) struct ActivationsMut<'a> {
    pub codes: &'a mut [i8],
    pub wide: &'a mut [i16],
    pub blocks: &'a mut [ActivationBlock],
}

/// Amounts below this are taken for zero: 127 divided by them could be infinite.
pub(crate) const SMALLEST: f32 = 1e-36;

impl Activations {
    /// Space for `rows` rows of `columns` each.
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

    /// The memory they take.
    pub fn bytes(&self) -> usize {
        self.codes.len() + size_of_val(&self.wide[..]) + size_of_val(&self.blocks[..])
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

    /// Takes as many rows as `values` are.
    #[track_caller]
    fn resize_for(&mut self, values: usize) {
        let fits = values <= self.capacity * self.columns && (values == 0 || values.is_multiple_of(self.columns));
        assert!(fits, "{values} values for {} rows of {}", self.capacity, self.columns);
        self.rows = values.checked_div(self.columns).unwrap_or(0);
    }

    /// The places of some values.
    fn places(&mut self, values: Range<usize>) -> ActivationsMut<'_> {
        ActivationsMut {
            codes: &mut self.codes[values.clone()],
            wide: &mut self.wide[values.clone()],
            blocks: &mut self.blocks[values.start / TILE..values.end / TILE],
        }
    }
}

/// The scale of a block whose largest amount is `largest`, and its inverse. No finite scale where
/// it is infinite or NaN.
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

    /// Of codes that are all zero and stand for something that is not a number.
    pub(crate) fn poisoned() -> Self {
        Self { scale: f32::NAN, scaled_sum: f32::NAN, ..Self::default() }
    }
}

/// What one thread quantises per nanosecond, for deciding whether other threads are worth waking.
const VALUES_PER_NS: f64 = 5.0;

impl Kernels {
    /// Quantises whole rows: per 32 values one scale, the largest amount / 127, and codes rounded
    /// to nearest, ties to even.
    ///
    /// |value − scale · code| ≤ 0.501 · scale. Where all amounts of a block are below 1e-36 it becomes zeros. A block with a NaN or an
    /// infinity gets the scale NaN and codes of zero, so that every product with its row is NaN.
    #[track_caller]
    pub fn quantise_activations(self, values: &[f32], out: &mut Activations) {
        out.resize_for(values.len());
        self.quantise_blocks(values, out.places(0..values.len()));
    }

    /// As [`Kernels::quantise_activations`], on the threads of a pool where there is enough to do; with the same bits.
    #[track_caller]
    pub fn quantise_activations_on(self, pool: &Pool, values: &[f32], out: &mut Activations) {
        out.resize_for(values.len());
        let parts = pool.parts(values.len() as f64 / VALUES_PER_NS);
        if parts == 1 {
            return self.quantise_blocks(values, out.places(0..values.len()));
        }
        let len = values.len().div_ceil(parts).next_multiple_of(TILE);
        let places = Places::of(out);
        pool.run(parts, |part| {
            let range = (part * len).min(values.len())..((part + 1) * len).min(values.len());
            // SAFETY: parts have no value in common, and `out` is borrowed until all have run.
            let places = unsafe { places.part(range.clone()) };
            self.quantise_blocks(&values[range], places);
        });
    }
}

/// Where the values of [`Activations`] begin, for several threads.
struct Places<'a> {
    codes: *mut i8,
    wide: *mut i16,
    blocks: *mut ActivationBlock,
    values: usize,
    borrowed: PhantomData<&'a mut Activations>,
}

// SAFETY: a shared one gives away what `part` asks of its callers alone.
unsafe impl Sync for Places<'_> {}

impl<'a> Places<'a> {
    fn of(out: &'a mut Activations) -> Self {
        Self {
            values: out.rows * out.columns,
            codes: out.codes.as_mut_ptr(),
            wide: out.wide.as_mut_ptr(),
            blocks: out.blocks.as_mut_ptr(),
            borrowed: PhantomData,
        }
    }

    /// # Safety
    /// No other part with one of these values is in use at the same time.
    unsafe fn part(&self, values: Range<usize>) -> ActivationsMut<'a> {
        assert!(values.start <= values.end && values.end <= self.values);
        let (first, len) = (values.start, values.len());
        // SAFETY: within the borrowed buffers, and no other part has these.
        unsafe {
            ActivationsMut {
                codes: from_raw_parts_mut(self.codes.add(first), len),
                wide: from_raw_parts_mut(self.wide.add(first), len),
                blocks: from_raw_parts_mut(self.blocks.add(first / TILE), len / TILE),
            }
        }
    }
}

kernels! { quant_activations:
    /// Quantises whole blocks.
    pub(crate) fn quantise_blocks(values: &[f32], out: ActivationsMut<'_>) where {
        values.len().is_multiple_of(TILE),
        values.len() == out.codes.len(), values.len() == out.wide.len(), values.len() == out.blocks.len() * TILE,
    };
}
