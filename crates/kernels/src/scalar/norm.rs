//! Layer norm and RMS norm, over rows, and their gradients.

use crate::norm::{LayerNorm, LayerNormGrads, RmsNorm, RmsNormGrads};

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let n = values.len() as f64;
    values.sum::<f64>() / n
}

/// The mean of a row, and 1 / its standard deviation.
fn around_mean(x: &[f32], eps: f32) -> (f64, f64) {
    let middle = mean(x.iter().map(|&x| f64::from(x)));
    let variance = mean(x.iter().map(|&x| (f64::from(x) - middle).powi(2)));
    (middle, 1.0 / (variance + f64::from(eps)).sqrt())
}

/// 1 / the root of the mean square of a row.
fn around_zero(x: &[f32], eps: f32) -> f64 {
    1.0 / (mean(x.iter().map(|&x| f64::from(x).powi(2))) + f64::from(eps)).sqrt()
}

/// See [`Kernels::layer_norm_rows`](crate::Kernels::layer_norm_rows).
pub(crate) fn layer_norm_rows(x: &[f32], norm: LayerNorm, out: &mut [f32]) {
    let cols = norm.weight.len();
    for (x, out) in x.chunks_exact(cols).zip(out.chunks_exact_mut(cols)) {
        let (mean, inverse) = around_mean(x, norm.eps);
        for i in 0..cols {
            let normed = (f64::from(x[i]) - mean) * inverse;
            out[i] = (normed * f64::from(norm.weight[i]) + f64::from(norm.bias[i])) as f32;
        }
    }
}

/// See [`Kernels::rms_norm_rows`](crate::Kernels::rms_norm_rows).
pub(crate) fn rms_norm_rows(x: &[f32], norm: RmsNorm, out: &mut [f32]) {
    let cols = norm.weight.len();
    for (x, out) in x.chunks_exact(cols).zip(out.chunks_exact_mut(cols)) {
        let inverse = around_zero(x, norm.eps);
        for i in 0..cols {
            out[i] = (f64::from(x[i]) * inverse * f64::from(norm.weight[i])) as f32;
        }
    }
}

/// See [`Kernels::layer_norm_backward_rows`](crate::Kernels::layer_norm_backward_rows).
pub(crate) fn layer_norm_backward_rows(x: &[f32], norm: LayerNorm, grad_out: &[f32], grads: LayerNormGrads) {
    let cols = norm.weight.len();
    let rows = x.chunks_exact(cols).zip(grad_out.chunks_exact(cols));
    for ((x, grad_out), grad_x) in rows.zip(grads.x.chunks_exact_mut(cols)) {
        let (middle, inverse) = around_mean(x, norm.eps);
        let normed = |i: usize| (f64::from(x[i]) - middle) * inverse;
        let g = |i: usize| f64::from(grad_out[i]) * f64::from(norm.weight[i]);
        let (along_mean, along_x) = (mean((0..cols).map(g)), mean((0..cols).map(|i| g(i) * normed(i))));
        for i in 0..cols {
            grad_x[i] = (inverse * (g(i) - along_mean - normed(i) * along_x)) as f32;
            grads.weight[i] += (f64::from(grad_out[i]) * normed(i)) as f32;
            grads.bias[i] += grad_out[i];
        }
    }
}

/// See [`Kernels::rms_norm_backward_rows`](crate::Kernels::rms_norm_backward_rows).
pub(crate) fn rms_norm_backward_rows(x: &[f32], norm: RmsNorm, grad_out: &[f32], grads: RmsNormGrads) {
    let cols = norm.weight.len();
    let rows = x.chunks_exact(cols).zip(grad_out.chunks_exact(cols));
    for ((x, grad_out), grad_x) in rows.zip(grads.x.chunks_exact_mut(cols)) {
        let inverse = around_zero(x, norm.eps);
        let normed = |i: usize| f64::from(x[i]) * inverse;
        let g = |i: usize| f64::from(grad_out[i]) * f64::from(norm.weight[i]);
        let along_x = mean((0..cols).map(|i| g(i) * normed(i)));
        for i in 0..cols {
            grad_x[i] = (inverse * (g(i) - normed(i) * along_x)) as f32;
            grads.weight[i] += (f64::from(grad_out[i]) * normed(i)) as f32;
        }
    }
}
