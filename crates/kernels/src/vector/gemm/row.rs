//! One row times a factor that is read where it lies: some of its rows at a time are walked along
//! together, and the result with them. Tiles, which walk down the columns, came to three quarters
//! of the speed from DRAM.

use crate::gemm::Matrix;
use crate::gemm::job::Job;
use crate::simd::Simd;

/// Rows of the factor that are walked along together; with one, the result would be loaded and
/// stored as often as the factor.
const ROWS: usize = 8;
/// Vectors of the result at a time while the factor comes from L2. From behind it one is as good or better.
const VECTORS: usize = 4;
/// What a thread reads of a factor comes from L2, if it is no more bytes.
const NEAR: usize = 512 << 10;
/// And from DRAM, if it is more. There so many streams, which end with their rows, are not found
/// early enough: each vector asks for the one below it among the next rows, which brought 24 GB/s
/// to 28 (medians; reading alone 32). From L3 that is worth nothing.
const FAR: usize = 24 << 20;

/// The first `cols` columns of a job with one row, whole vectors, and a right factor with at least
/// one row, whose columns are contiguous.
#[inline(always)]
pub(super) fn along<S: Simd>(simd: S, job: &Job<'_>, b: &Matrix<'_>, cols: usize) {
    assert!(job.a.rows == 1 && job.a.cols == b.rows && b.rows > 0);
    assert!(b.col_stride == 1 && job.first_col + cols <= b.cols && cols <= job.cols && cols.is_multiple_of(S::LANES));
    let bytes = size_of::<f32>() * b.rows * cols;
    let ask = if bytes > FAR && b.rows > ROWS { ROWS * b.row_stride } else { 0 };
    let mut row = 0;
    while row < b.rows {
        // SAFETY: the row is one of the factor's; so many columns are there from the job's first on.
        let walk = unsafe {
            Walk {
                left: job.a.data.add(row * job.a.col_stride),
                left_step: job.a.col_stride,
                right: b.data.add(row * b.row_stride + job.first_col),
                right_step: b.row_stride,
                cols,
                c: job.c,
                bias: job.bias.filter(|_| row == 0).map_or(std::ptr::null(), |bias| bias.as_ptr()),
                add: job.accumulate || row > 0,
                ask,
            }
        };
        // SAFETY: as many rows are left.
        unsafe {
            if row + ROWS > b.rows {
                rows::<S, 1, VECTORS>(simd, &walk);
                row += 1;
                continue;
            }
            if bytes <= NEAR {
                rows::<S, ROWS, VECTORS>(simd, &walk);
            } else {
                rows::<S, ROWS, 1>(simd, &walk);
            }
            row += ROWS;
        }
    }
}

/// Some rows of the factor.
struct Walk {
    left: *const f32,
    left_step: usize,
    right: *const f32,
    right_step: usize,
    cols: usize,
    c: *mut f32,
    bias: *const f32,
    add: bool,
    /// How far behind each vector the one lies that is asked for; none is where it is zero.
    ask: usize,
}

/// # Safety
/// `R` rows of so many columns are there.
#[inline(always)]
unsafe fn rows<S: Simd, const R: usize, const V: usize>(simd: S, walk: &Walk) {
    let mut left = [simd.splat(0.0); R];
    for (row, left) in left.iter_mut().enumerate() {
        // SAFETY: as many elements are in the row of the left factor.
        *left = simd.splat(unsafe { *walk.left.add(row * walk.left_step) });
    }
    let mut col = 0;
    // SAFETY: whole vectors of columns that are there.
    unsafe {
        while col + V * S::LANES <= walk.cols {
            columns::<S, R, V>(simd, walk, &left, col);
            col += V * S::LANES;
        }
        while col < walk.cols {
            columns::<S, R, 1>(simd, walk, &left, col);
            col += S::LANES;
        }
    }
}

/// # Safety
/// `V` vectors of columns are there from `col` on.
#[inline(always)]
unsafe fn columns<S: Simd, const R: usize, const V: usize>(simd: S, walk: &Walk, left: &[S::F; R], col: usize) {
    let mut sums = [simd.splat(0.0); V];
    if walk.ask > 0 {
        for row in 0..R {
            (0..V).for_each(|v| {
                simd.prefetch(walk.right.wrapping_add(walk.ask + row * walk.right_step + col + v * S::LANES))
            });
        }
    }
    // SAFETY: as the caller promises.
    unsafe {
        for (v, sum) in sums.iter_mut().enumerate() {
            let col = col + v * S::LANES;
            if walk.add {
                *sum = simd.load_ptr(walk.c.add(col));
            }
            if !walk.bias.is_null() {
                *sum = simd.add(*sum, simd.load_ptr(walk.bias.add(col)));
            }
        }
        for (row, left) in left.iter().enumerate() {
            for (v, sum) in sums.iter_mut().enumerate() {
                let right = simd.load_ptr(walk.right.add(row * walk.right_step + col + v * S::LANES));
                *sum = simd.fma(*left, right, *sum);
            }
        }
        for (v, sum) in sums.iter().enumerate() {
            simd.store_ptr(*sum, walk.c.add(col + v * S::LANES));
        }
    }
}
