//! RMS norm and layer norm.

use kernels::{LayerNorm, RmsNorm};

use super::by_rows;
use crate::Compute;
use crate::model::Norm;

/// The norm of every row of `x`.
pub(crate) fn forward(compute: &Compute, norm: &Norm, eps: f32, x: &[f32], out: &mut [f32]) {
    let width = match norm {
        Norm::Layer { weight, .. } | Norm::Rms { weight } => weight.len(),
    };
    by_rows(&compute.pool, out, width, |rows, out| {
        self::rows(compute, norm, eps, &x[rows.start * width..rows.end * width], out);
    });
}

/// The same on this thread alone.
pub(crate) fn rows(compute: &Compute, norm: &Norm, eps: f32, x: &[f32], out: &mut [f32]) {
    match norm {
        Norm::Layer { weight, bias } => compute.kernels.layer_norm_rows(x, LayerNorm { weight, bias, eps }, out),
        Norm::Rms { weight } => compute.kernels.rms_norm_rows(x, RmsNorm { weight, eps }, out),
    }
}

/// The floating-point operations of a norm over so many values: a square, a sum, two products and,
/// with a mean, three more.
pub(crate) fn flops(norm: &Norm, values: usize) -> usize {
    values
        * match norm {
            Norm::Layer { .. } => 7,
            Norm::Rms { .. } => 4,
        }
}
