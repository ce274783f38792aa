//! Softmax over rows, and the logarithm of its denominator.

use super::elementwise::max;

/// See [`Kernels::softmax_rows`](crate::Kernels::softmax_rows).
pub(crate) fn softmax_rows(x: &mut [f32], cols: usize) {
    for row in x.chunks_exact_mut(cols) {
        let (shift, sum) = shift_and_sum(row);
        for x in row {
            let e = (f64::from(*x) - shift).exp();
            *x = if sum == 0.0 { 0.0 } else { (e / sum) as f32 };
        }
    }
}

/// The largest value, or 0 where that is −∞, and Σ e^(x − that).
pub(super) fn shift_and_sum(x: &[f32]) -> (f64, f64) {
    let max = f64::from(max(x));
    let shift = if max == f64::NEG_INFINITY { 0.0 } else { max };
    (shift, x.iter().map(|&x| (f64::from(x) - shift).exp()).sum())
}

/// See [`Kernels::log_sum_exp`](crate::Kernels::log_sum_exp).
pub(crate) fn log_sum_exp(x: &[f32]) -> f32 {
    if x.contains(&f32::INFINITY) && !x.iter().any(|x| x.is_nan()) {
        return f32::INFINITY;
    }
    let (shift, sum) = shift_and_sum(x);
    (shift + sum.ln()) as f32
}

/// See [`Kernels::softmax_backward_rows`](crate::Kernels::softmax_backward_rows).
pub(crate) fn softmax_backward_rows(y: &[f32], grad_out: &[f32], grad_x: &mut [f32], cols: usize) {
    let rows = y.chunks_exact(cols).zip(grad_out.chunks_exact(cols));
    for ((y, grad_out), grad_x) in rows.zip(grad_x.chunks_exact_mut(cols)) {
        let mean: f64 = y.iter().zip(grad_out).map(|(&y, &g)| f64::from(y) * f64::from(g)).sum();
        for ((grad_x, &y), &g) in grad_x.iter_mut().zip(y).zip(grad_out) {
            *grad_x = (f64::from(y) * (f64::from(g) - mean)) as f32;
        }
    }
}
