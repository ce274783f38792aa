//! The loss of predictions.

use super::elementwise::{Scale, max};
use super::map::map_in_place;
use super::softmax::{exp_minus, shift, shift_and_log_sum};
use crate::loss::IGNORED_TARGET;
use crate::simd::Simd;

/// See [`Kernels::cross_entropy_rows`](crate::Kernels::cross_entropy_rows).
#[inline(always)]
pub(crate) fn cross_entropy_rows<S: Simd>(simd: S, logits: &[f32], targets: &[u32], losses: &mut [f32]) {
    let cols = logits.len() / targets.len().max(1);
    for (row, (&target, loss)) in targets.iter().zip(losses).enumerate() {
        *loss = 0.0;
        if target != IGNORED_TARGET {
            let logits = &logits[row * cols..][..cols];
            let (shift, log_sum) = shift_and_log_sum(simd, logits);
            *loss = (shift - logits[target as usize]) + log_sum;
        }
    }
}

/// See [`Kernels::cross_entropy_backward_rows`](crate::Kernels::cross_entropy_backward_rows).
#[inline(always)]
pub(crate) fn cross_entropy_backward_rows<S: Simd>(
    simd: S,
    logits: &mut [f32],
    targets: &[u32],
    scale: f32,
    losses: &mut [f32],
) {
    let cols = logits.len() / targets.len().max(1);
    for (row, (&target, loss)) in targets.iter().zip(losses).enumerate() {
        let logits = &mut logits[row * cols..][..cols];
        if target == IGNORED_TARGET {
            *loss = 0.0;
            logits.fill(0.0);
            continue;
        }
        let shift = shift(max(simd, logits));
        let of_target = logits[target as usize];
        let sum = exp_minus(simd, logits, shift);
        *loss = (shift - of_target) + sum.ln();
        map_in_place(simd, Scale(scale / sum), logits);
        logits[target as usize] -= scale;
    }
}
