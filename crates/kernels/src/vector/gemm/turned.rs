//! A few rows times a factor with an output per row, read where it lies: squares of it are turned
//! in registers, so that the lanes of a vector are outputs and every output remains one chain in
//! the order of k. Through packed panels one row took three times as long.

use crate::gemm::job::Job;
use crate::gemm::{Matrix, PANEL};
use crate::simd::Simd;

/// The most rows that are multiplied so, and those that share a turned square.
pub(super) const MOST_ROWS: usize = 8;
const TOGETHER: usize = 4;

/// How far ahead rows of the factor are asked for, in elements: sixteen streams are more than the
/// CPU follows by itself. From DRAM it gave 13 %.
const AHEAD: usize = 512;

/// The first `cols` columns, whole panels, of a job with up to [`MOST_ROWS`] rows and a right
/// factor whose rows of k are contiguous.
#[inline(always)]
pub(super) fn across<S: Simd>(simd: S, job: &Job<'_>, b: &Matrix<'_>, cols: usize) {
    assert!(job.a.cols == b.rows && b.row_stride == 1 && cols.is_multiple_of(PANEL));
    assert!(job.first_col + cols <= b.cols && cols <= job.cols);
    for col in (0..cols).step_by(PANEL) {
        let outputs = b.part(0..b.rows, job.first_col + col..job.first_col + col + PANEL);
        let part = job.columns(col, PANEL);
        for row in (0..job.a.rows).step_by(TOGETHER) {
            let some = part.rows(row..job.a.rows.min(row + TOGETHER));
            // SAFETY: the part has so many rows, and a panel of columns.
            unsafe {
                match some.a.rows {
                    1 => panel::<S, 1>(simd, &some, &outputs),
                    2 => panel::<S, 2>(simd, &some, &outputs),
                    3 => panel::<S, 3>(simd, &some, &outputs),
                    _ => panel::<S, TOGETHER>(simd, &some, &outputs),
                }
            }
        }
    }
}

/// As many vectors as a panel can have.
const MOST_VECTORS: usize = 4;

/// # Safety
/// The job has `R` rows and a panel of columns, the factor as many columns.
#[inline(always)]
unsafe fn panel<S: Simd, const R: usize>(simd: S, job: &Job<'_>, b: &Matrix<'_>) {
    let mut sums = [[simd.splat(0.0); MOST_VECTORS]; R];
    let whole = b.rows - b.rows % S::LANES;
    // SAFETY: all addresses are within the matrices.
    unsafe {
        for (row, sums) in sums.iter_mut().enumerate() {
            for (v, sum) in sums[..PANEL / S::LANES].iter_mut().enumerate() {
                if job.accumulate {
                    *sum = simd.load_ptr(job.c.add(row * job.c_row + v * S::LANES));
                }
                if let Some(bias) = job.bias {
                    *sum = simd.add(*sum, simd.load(&bias[v * S::LANES..]));
                }
            }
        }
        let mut k = 0;
        while k < b.rows {
            for v in 0..PANEL / S::LANES {
                let from = b.data.add(v * S::LANES * b.col_stride + k);
                let mut square = [simd.splat(0.0); PANEL];
                let depth = if k < whole {
                    if k.is_multiple_of(PANEL) {
                        for row in 0..S::LANES {
                            simd.prefetch(from.wrapping_add(row * b.col_stride + AHEAD));
                        }
                    }
                    simd.load_turned(from, b.col_stride, &mut square);
                    S::LANES
                } else {
                    square[0] = one_of_each(simd, from, b.col_stride);
                    1
                };
                for (i, right) in square[..depth].iter().enumerate() {
                    for (row, sums) in sums.iter_mut().enumerate() {
                        let left = *job.a.data.add(row * job.a.row_stride + (k + i) * job.a.col_stride);
                        sums[v] = simd.fma(simd.splat(left), *right, sums[v]);
                    }
                }
            }
            k += if k < whole { S::LANES } else { 1 };
        }
        for (row, sums) in sums.iter().enumerate() {
            for (v, sum) in sums[..PANEL / S::LANES].iter().enumerate() {
                simd.store_ptr(*sum, job.c.add(row * job.c_row + v * S::LANES));
            }
        }
    }
}

/// The element at `from` and those in the rows behind it.
///
/// # Safety
/// As many rows are there as a vector has lanes.
#[inline(always)]
unsafe fn one_of_each<S: Simd>(simd: S, from: *const f32, row: usize) -> S::F {
    let mut values = [0.0; PANEL];
    for (lane, value) in values[..S::LANES].iter_mut().enumerate() {
        // SAFETY: as the caller promises.
        *value = unsafe { *from.add(lane * row) };
    }
    simd.load(&values)
}
