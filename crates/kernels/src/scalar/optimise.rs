//! The steps of optimisers.

use crate::optimise::{AdamWStep, Moments, SgdStep};

/// Scaled and cut off; what is not a number stays that.
fn ready(gradient: f32, [scale, limit]: [f32; 2]) -> f32 {
    let scaled = gradient * scale;
    let below = if limit < scaled { limit } else { scaled };
    if -limit > below { -limit } else { below }
}

/// See [`Kernels::adamw`](crate::Kernels::adamw).
pub(crate) fn adamw(values: &mut [f32], gradients: &[f32], moments: Moments<'_>, step: AdamWStep) {
    for (((value, gradient), m), v) in values.iter_mut().zip(gradients).zip(moments.mean).zip(moments.square) {
        let g = ready(*gradient, step.gradient);
        *m = *m * step.mean[0] + g * step.mean[1];
        *v = *v * step.square[0] + (g * g) * step.square[1];
        let divisor = v.sqrt() * step.root_scale + step.eps;
        *value = *value * step.keep - (*m * step.rate) / divisor;
    }
}

/// See [`Kernels::sgd`](crate::Kernels::sgd).
pub(crate) fn sgd(values: &mut [f32], gradients: &[f32], direction: &mut [f32], step: SgdStep) {
    for ((value, gradient), direction) in values.iter_mut().zip(gradients).zip(direction) {
        let g = ready(*gradient, step.gradient) + *value * step.weight_decay;
        *direction = *direction * step.momentum + g;
        *value -= *direction * step.rate;
    }
}
