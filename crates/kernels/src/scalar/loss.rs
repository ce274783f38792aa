//! The loss of predictions.

use super::softmax::shift_and_sum;
use crate::loss::IGNORED_TARGET;

/// See [`Kernels::cross_entropy_rows`](crate::Kernels::cross_entropy_rows).
pub(crate) fn cross_entropy_rows(logits: &[f32], targets: &[u32], losses: &mut [f32]) {
    let cols = logits.len() / targets.len().max(1);
    for (row, (&target, loss)) in targets.iter().zip(losses).enumerate() {
        *loss = 0.0;
        if target != IGNORED_TARGET {
            let logits = &logits[row * cols..][..cols];
            let (shift, sum) = shift_and_sum(logits);
            *loss = (shift - f64::from(logits[target as usize]) + sum.ln()) as f32;
        }
    }
}

/// See [`Kernels::cross_entropy_backward_rows`](crate::Kernels::cross_entropy_backward_rows).
pub(crate) fn cross_entropy_backward_rows(logits: &mut [f32], targets: &[u32], scale: f32, losses: &mut [f32]) {
    cross_entropy_rows(logits, targets, losses);
    let cols = logits.len() / targets.len().max(1);
    for (row, &target) in targets.iter().enumerate() {
        let logits = &mut logits[row * cols..][..cols];
        let (shift, sum) = shift_and_sum(logits);
        for (col, x) in logits.iter_mut().enumerate() {
            let one = if col == target as usize { 1.0 } else { 0.0 };
            *x = (((f64::from(*x) - shift).exp() / sum - one) * f64::from(scale)) as f32;
        }
        if target == IGNORED_TARGET {
            logits.fill(0.0);
        }
    }
}
