//! Activations, their building block `exp`, and their gradients.

/// See [`Kernels::exp`](crate::Kernels::exp).
pub(crate) fn exp(x: &[f32], out: &mut [f32]) {
    for (out, x) in out.iter_mut().zip(x) {
        *out = x.exp();
    }
}

/// See [`Kernels::exp_in_place`](crate::Kernels::exp_in_place).
pub(crate) fn exp_in_place(x: &mut [f32]) {
    for x in x {
        *x = x.exp();
    }
}
