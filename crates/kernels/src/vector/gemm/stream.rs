//! One row times packed weights: bound by reading them, so that the order of reading decides.
//!
//! Two panels at a time that are half of the matrix apart are two streams, each of them read in
//! order from its first panel to its last; four panels side by side are streams that break off
//! after 16 or 32 KiB. In a sketch that only reads, large pages, one thread, medians of one run:
//! from DRAM 28 GB/s in two far streams, 25 in four, 20 in eight, 19 in four that break off after 8
//! KiB; from L3 73, 73, 59 and 58. Asking for memory ahead made the far streams slower.

use super::blocks;
use super::element::Element;
use crate::gemm::job::Job;
use crate::gemm::{DEPTH, PANEL, PackedMatrix};
use crate::simd::Simd;

/// Weights up to so many bytes come from L2, where four sums hide more of their latency than two.
const NEAR: usize = 256 << 10;

/// As many vectors as a panel can have.
const MOST_VECTORS: usize = 4;

/// A job with one row.
#[inline(always)]
pub(super) fn along<S: Simd, E: Element>(simd: S, job: &Job<'_>, b: &PackedMatrix, panels: *const E) {
    assert!(job.a.rows == 1 && job.a.cols == b.rows() && job.first_col + job.cols <= b.cols());
    let count = job.cols.div_ceil(PANEL);
    for (first_row, rows) in blocks(b.rows(), DEPTH) {
        // SAFETY: the row and the panel that begins with the job's first column are there; without
        // depth neither is read.
        let walk = unsafe {
            Walk {
                rows,
                left: job.a.data.wrapping_add(first_row * job.a.col_stride),
                left_step: job.a.col_stride,
                right: panels.add(b.start(first_row, job.first_col / PANEL)),
                cols: job.cols,
                c: job.c,
                bias: job.bias.filter(|_| first_row == 0).map_or(std::ptr::null(), |bias| bias.as_ptr()),
                add: job.accumulate || first_row > 0,
            }
        };
        // SAFETY: so many panels are there.
        unsafe {
            let done = if count * PANEL * b.rows() * size_of::<E>() <= NEAR {
                streams::<S, E, 4>(simd, &walk, count)
            } else {
                streams::<S, E, 2>(simd, &walk, count)
            };
            (done..count).for_each(|panel| together::<S, E, 1>(simd, &walk, panel, 0));
        }
    }
}

/// Some rows of the weights, in panels one behind the other.
struct Walk<E> {
    rows: usize,
    left: *const f32,
    left_step: usize,
    right: *const E,
    cols: usize,
    c: *mut f32,
    bias: *const f32,
    add: bool,
}

/// As many panels as `N` streams of the same length have; says how many.
///
/// # Safety
/// `count` panels are there.
#[inline(always)]
unsafe fn streams<S: Simd, E: Element, const N: usize>(simd: S, walk: &Walk<E>, count: usize) -> usize {
    let each = count / N;
    for panel in 0..each {
        // SAFETY: as the caller promises.
        unsafe { together::<S, E, N>(simd, walk, panel, each) };
    }
    each * N
}

/// `N` panels, each `apart` panels behind the one before.
///
/// # Safety
/// They are there.
#[inline(always)]
unsafe fn together<S: Simd, E: Element, const N: usize>(simd: S, walk: &Walk<E>, first: usize, apart: usize) {
    let mut sums = [[simd.splat(0.0); MOST_VECTORS]; N];
    // SAFETY: all addresses are within the weights, the row and the result.
    unsafe {
        for (number, sums) in sums.iter_mut().enumerate() {
            *sums = begin(simd, walk, (first + number * apart) * PANEL);
        }
        let mut right = walk.right.add(first * walk.rows * PANEL);
        let apart_by = apart * walk.rows * PANEL;
        let mut left = walk.left;
        for _ in 0..walk.rows {
            let factor = simd.splat(*left);
            for (number, sums) in sums.iter_mut().enumerate() {
                for (v, sum) in sums[..PANEL / S::LANES].iter_mut().enumerate() {
                    *sum = simd.fma(factor, E::load(simd, right.add(number * apart_by + v * S::LANES)), *sum);
                }
            }
            left = left.wrapping_add(walk.left_step);
            right = right.wrapping_add(PANEL);
        }
        for (number, sums) in sums.iter().enumerate() {
            let col = (first + number * apart) * PANEL;
            let width = PANEL.min(walk.cols - col);
            if width == PANEL {
                store(simd, sums, walk.c.add(col));
            } else {
                let mut beside = [0.0; PANEL];
                store(simd, sums, beside.as_mut_ptr());
                walk.c.add(col).copy_from_nonoverlapping(beside.as_ptr(), width);
            }
        }
    }
}

/// With what the sums of a panel begin.
///
/// # Safety
/// The column is the first of a panel.
#[inline(always)]
unsafe fn begin<S: Simd, E>(simd: S, walk: &Walk<E>, col: usize) -> [S::F; MOST_VECTORS] {
    let width = PANEL.min(walk.cols - col);
    let mut sums = [simd.splat(0.0); MOST_VECTORS];
    // SAFETY: so many columns are there.
    unsafe {
        if walk.add {
            sums = load(simd, walk.c.add(col), width);
        }
        if !walk.bias.is_null() {
            let bias = load(simd, walk.bias.add(col), width);
            for (sum, bias) in sums[..PANEL / S::LANES].iter_mut().zip(bias) {
                *sum = simd.add(*sum, bias);
            }
        }
    }
    sums
}

/// # Safety
/// `width` values can be read, up to a panel.
#[inline(always)]
unsafe fn load<S: Simd>(simd: S, from: *const f32, width: usize) -> [S::F; MOST_VECTORS] {
    let mut beside = [0.0; PANEL];
    let mut values = [simd.splat(0.0); MOST_VECTORS];
    // SAFETY: as the caller promises.
    unsafe {
        let mut from = from;
        if width < PANEL {
            beside.as_mut_ptr().copy_from_nonoverlapping(from, width);
            from = beside.as_ptr();
        }
        for (v, value) in values[..PANEL / S::LANES].iter_mut().enumerate() {
            *value = simd.load_ptr(from.add(v * S::LANES));
        }
    }
    values
}

/// # Safety
/// A panel can be written.
#[inline(always)]
unsafe fn store<S: Simd>(simd: S, sums: &[S::F; MOST_VECTORS], to: *mut f32) {
    for (v, sum) in sums[..PANEL / S::LANES].iter().enumerate() {
        // SAFETY: as the caller promises.
        unsafe { simd.store_ptr(*sum, to.add(v * S::LANES)) };
    }
}
