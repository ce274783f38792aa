//! Softmax over rows, and the logarithm of its denominator.

use super::elementwise::{Dot, Scale, max};
use super::exp;
use super::fold::{Fold, fold};
use super::map::{Formula, map, map_in_place};
use crate::simd::Simd;

/// See [`Kernels::softmax_rows`](crate::Kernels::softmax_rows).
#[inline(always)]
pub(crate) fn softmax_rows<S: Simd>(simd: S, x: &mut [f32], cols: usize) {
    for row in x.chunks_exact_mut(cols) {
        let sum = exp_minus(simd, row, shift(max(simd, row)));
        let factor = if sum == 0.0 { 0.0 } else { 1.0 / sum };
        map_in_place(simd, Scale(factor), row);
    }
}

/// What is taken off before the exponential so that it cannot overflow: the largest value, except
/// where all are −∞, of which the difference would make NaN.
#[inline(always)]
pub(super) fn shift(max: f32) -> f32 {
    if max == f32::NEG_INFINITY { 0.0 } else { max }
}

/// row = e^(row − shift), and the sum of it.
#[inline(always)]
pub(super) fn exp_minus<S: Simd>(simd: S, row: &mut [f32], shift: f32) -> f32 {
    let shift = simd.splat(shift);
    let mut sums = [simd.splat(0.0); 2];
    let mut pairs = row.chunks_exact_mut(2 * S::LANES);
    for pair in &mut pairs {
        let (first, second) = pair.split_at_mut(S::LANES);
        let e = [
            exp::exp_below_overflow(simd, simd.sub(simd.load(first), shift)),
            exp::exp_below_overflow(simd, simd.sub(simd.load(second), shift)),
        ];
        sums = [simd.add(sums[0], e[0]), simd.add(sums[1], e[1])];
        simd.store(e[0], first);
        simd.store(e[1], second);
    }
    let mut rest = pairs.into_remainder().chunks_exact_mut(S::LANES);
    for one in &mut rest {
        let e = exp::exp_below_overflow(simd, simd.sub(simd.load(one), shift));
        sums[0] = simd.add(sums[0], e);
        simd.store(e, one);
    }
    let rest = rest.into_remainder();
    if !rest.is_empty() {
        let x = simd.load_part_or(rest, simd.splat(f32::NEG_INFINITY));
        let e = exp::exp_below_overflow(simd, simd.sub(x, shift));
        sums[1] = simd.add(sums[1], e);
        simd.store_part(e, rest);
    }
    simd.reduce_add(simd.add(sums[0], sums[1]))
}

/// Σ e^(x − shift)
#[derive(Clone, Copy)]
struct SumOfExp {
    shift: f32,
}

impl Fold<1, 1> for SumOfExp {
    const TOGETHER: usize = 2;

    #[inline(always)]
    fn missing<S: Simd>(self, simd: S) -> S::F {
        simd.splat(f32::NEG_INFINITY)
    }

    #[inline(always)]
    fn step<S: Simd>(self, simd: S, [total]: [S::F; 1], [x]: [S::F; 1]) -> [S::F; 1] {
        [simd.add(total, exp::exp_below_overflow(simd, simd.sub(x, simd.splat(self.shift))))]
    }
}

/// The [`shift`], and ln Σ e^(x − that).
#[inline(always)]
pub(super) fn shift_and_log_sum<S: Simd>(simd: S, x: &[f32]) -> (f32, f32) {
    let shift = shift(max(simd, x));
    let [total] = fold(simd, SumOfExp { shift }, [x]);
    (shift, simd.reduce_add(total).ln())
}

/// See [`Kernels::log_sum_exp`](crate::Kernels::log_sum_exp).
#[inline(always)]
pub(crate) fn log_sum_exp<S: Simd>(simd: S, x: &[f32]) -> f32 {
    let (shift, log_sum) = shift_and_log_sum(simd, x);
    // Here the sum had ∞ − ∞ in it.
    if shift == f32::INFINITY && !x.iter().any(|x| x.is_nan()) {
        return f32::INFINITY;
    }
    shift + log_sum
}

/// y · (grad_out − mean)
#[derive(Clone, Copy)]
struct Backward {
    mean: f32,
}

impl Formula<2, 1> for Backward {
    const TOGETHER: usize = 4;

    #[inline(always)]
    fn apply<S: Simd>(self, simd: S, [y, grad_out]: [S::F; 2]) -> [S::F; 1] {
        [simd.mul(y, simd.sub(grad_out, simd.splat(self.mean)))]
    }
}

/// See [`Kernels::softmax_backward_rows`](crate::Kernels::softmax_backward_rows).
#[inline(always)]
pub(crate) fn softmax_backward_rows<S: Simd>(simd: S, y: &[f32], grad_out: &[f32], grad_x: &mut [f32], cols: usize) {
    let rows = y.chunks_exact(cols).zip(grad_out.chunks_exact(cols));
    for ((y, grad_out), grad_x) in rows.zip(grad_x.chunks_exact_mut(cols)) {
        let [mean] = fold(simd, Dot, [y, grad_out]);
        map(simd, Backward { mean: simd.reduce_add(mean) }, [y, grad_out], grad_x);
    }
}
