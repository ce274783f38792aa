//! The two products that attention in tiles is made of, and how their operands are laid out.
//!
//! A tile has two vectors of queries, one query in each lane, so the softmax needs no sums across lanes:
//! [`scores`] is keys × queriesᵀ, and [`accumulate`] is weightsᵀ × values with the weights broadcast.

use std::ops::Range;

use super::cells::{Cell, HeadRows};
use crate::attention::{CacheCells, CacheView};
use crate::simd::Simd;

/// Queries in a tile.
pub(super) const fn width<S: Simd>() -> usize {
    2 * S::LANES
}

/// The most queries in a tile, whatever the instruction set.
pub(super) const MAX_WIDTH: usize = 2 * super::MAX_LANES;

/// How many positions ahead values of a head are asked for, line by line of the cache.
const AHEAD: usize = 16;
const LINE: usize = 64;

/// Matrices in scratch: rows `stride` apart.
#[derive(Clone, Copy)]
pub(super) struct Matrix<'a> {
    pub data: &'a [f32],
    pub rows: usize,
    pub stride: usize,
}

/// out\[k\]\[q\] = Σ x\[k\]\[d\] · y\[d\]\[q\] for all rows of x and the queries of a tile. Rows of y and out are
/// `width` long.
#[inline(always)]
pub(super) fn scores<S: Simd>(simd: S, x: Matrix<'_>, y: &[f32], out: &mut [f32]) {
    let dims = y.len() / width::<S>();
    assert!(x.rows == 0 || dims <= x.stride && x.rows * x.stride <= x.data.len());
    assert!(x.rows * width::<S>() <= out.len());
    let mut row = 0;
    // SAFETY: `x` and `out` have all rows up to `x.rows`, and x as many values in each as y has rows.
    unsafe {
        while row < x.rows {
            row += match x.rows - row {
                6.. => outer::<S, 6>(simd, x, row, y, out),
                4.. => outer::<S, 4>(simd, x, row, y, out),
                2.. => outer::<S, 2>(simd, x, row, y, out),
                _ => outer::<S, 1>(simd, x, row, y, out),
            };
        }
    }
}

/// `ROWS` rows of [`scores`]: six rows of two vectors fill twelve of the sixteen registers of AVX2.
///
/// # Safety
/// `x` and `out` have the rows, and each row of `x` as many values as `y` has rows.
#[inline(always)]
unsafe fn outer<S: Simd, const ROWS: usize>(simd: S, x: Matrix<'_>, row: usize, y: &[f32], out: &mut [f32]) -> usize {
    let mut sums = [[simd.splat(0.0); 2]; ROWS];
    let x_row = x.data[row * x.stride..].as_ptr();
    for (d, y) in y.chunks_exact(width::<S>()).enumerate() {
        let y = [simd.load(y), simd.load(&y[S::LANES..])];
        for (r, sums) in sums.iter_mut().enumerate() {
            // SAFETY: as the caller promises.
            let x = simd.splat(unsafe { *x_row.add(r * x.stride + d) });
            sums[0] = simd.fma(x, y[0], sums[0]);
            sums[1] = simd.fma(x, y[1], sums[1]);
        }
    }
    for (sums, out) in sums.iter().zip(out[row * width::<S>()..].chunks_exact_mut(width::<S>())) {
        simd.store(sums[0], out);
        simd.store(sums[1], &mut out[S::LANES..]);
    }
    ROWS
}

/// Factors for [`accumulate`]: that of output row r and summand s is at r · `row_stride` + s · `step`.
#[derive(Clone, Copy)]
pub(super) struct Weights<'a> {
    pub data: &'a [f32],
    pub row_stride: usize,
    pub step: usize,
    pub rows: usize,
}

/// out\[r\] = out\[r\] · fading\[r\] + Σ weight\[r\]\[s\] · values\[s\]. Rows of `out` are as far apart as those of
/// `values`; both have whole vectors.
#[inline(always)]
pub(super) fn accumulate<S: Simd>(simd: S, weights: Weights<'_>, values: Matrix<'_>, fading: &[f32], out: &mut [f32]) {
    let stride = values.stride;
    assert!(stride.is_multiple_of(S::LANES) && values.rows * stride <= values.data.len());
    assert!(weights.rows * stride <= out.len() && weights.rows <= fading.len());
    let last = weights.rows.saturating_sub(1) * weights.row_stride + values.rows.saturating_sub(1) * weights.step;
    assert!(weights.rows == 0 || values.rows == 0 || last < weights.data.len());
    let sums = Sums { weights, values, fading, out: out.as_mut_ptr() };
    let mut dim = 0;
    // SAFETY: all rows of all operands are there, and whole vectors up to the stride.
    unsafe {
        while dim + 2 * S::LANES <= stride {
            sums.columns::<S, 2>(simd, dim);
            dim += 2 * S::LANES;
        }
        if dim < stride {
            sums.columns::<S, 1>(simd, dim);
        }
    }
}

/// The operands of [`accumulate`], checked.
struct Sums<'a> {
    weights: Weights<'a>,
    values: Matrix<'a>,
    fading: &'a [f32],
    out: *mut f32,
}

impl Sums<'_> {
    /// `N` vectors of every row.
    ///
    /// # Safety
    /// All operands have these columns, and all rows.
    #[inline(always)]
    unsafe fn columns<S: Simd, const N: usize>(&self, simd: S, dim: usize) {
        let mut row = 0;
        while row < self.weights.rows {
            // SAFETY: as the caller promises.
            unsafe {
                row += match self.weights.rows - row {
                    6.. => self.rows::<S, N, 6>(simd, row, dim),
                    4.. => self.rows::<S, N, 4>(simd, row, dim),
                    2.. => self.rows::<S, N, 2>(simd, row, dim),
                    _ => self.rows::<S, N, 1>(simd, row, dim),
                };
            }
        }
    }

    /// # Safety
    /// As for `columns`, and there are `ROWS` rows from `row` on.
    #[inline(always)]
    unsafe fn rows<S: Simd, const N: usize, const ROWS: usize>(&self, simd: S, row: usize, dim: usize) -> usize {
        let stride = self.values.stride;
        let mut sums = [[simd.splat(0.0); N]; ROWS];
        // SAFETY: as the caller promises.
        unsafe {
            let out = self.out.add(row * stride + dim);
            for (r, sums) in sums.iter_mut().enumerate() {
                let fading = simd.splat(self.fading[row + r]);
                for (j, sum) in sums.iter_mut().enumerate() {
                    *sum = simd.mul(simd.load_ptr(out.add(r * stride + j * S::LANES)), fading);
                }
            }
            let weights = self.weights.data.as_ptr().add(row * self.weights.row_stride);
            let values = self.values.data.as_ptr().add(dim);
            for s in 0..self.values.rows {
                let mut value = [simd.splat(0.0); N];
                for (j, value) in value.iter_mut().enumerate() {
                    *value = simd.load_ptr(values.add(s * stride + j * S::LANES));
                }
                for (r, sums) in sums.iter_mut().enumerate() {
                    let weight = simd.splat(*weights.add(r * self.weights.row_stride + s * self.weights.step));
                    for (sum, value) in sums.iter_mut().zip(value) {
                        *sum = simd.fma(weight, value, *sum);
                    }
                }
            }
            for (r, sums) in sums.iter().enumerate() {
                for (j, sum) in sums.iter().enumerate() {
                    simd.store_ptr(*sum, out.add(r * stride + j * S::LANES));
                }
            }
        }
        ROWS
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
