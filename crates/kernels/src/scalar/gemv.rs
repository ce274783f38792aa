//! A matrix times a vector.

/// See [`Kernels::gemv`](crate::Kernels::gemv).
pub(crate) fn gemv(weights: &[f32], x: &[f32], out: &mut [f32]) {
    for (row, out) in out.iter_mut().enumerate() {
        let weights = &weights[row * x.len()..][..x.len()];
        *out = weights.iter().zip(x).fold(0.0, |sum, (weight, x)| weight.mul_add(*x, sum));
    }
}
