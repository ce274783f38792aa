//! The loss of predictions.

use crate::dispatch::kernels;

/// A target that counts for nothing: padding, or a prompt that is not to be learned.
pub const IGNORED_TARGET: u32 = u32::MAX;

/// Whether every target is a column or ignored, where the logits have a row for each.
fn targets_fit(logits: &[f32], targets: &[u32]) -> bool {
    let cols = logits.len().checked_div(targets.len()).unwrap_or(0);
    targets.iter().all(|&target| target == IGNORED_TARGET || (target as usize) < cols)
}

kernels! { loss:
    /// Cross entropy of every row of logits: losses\[r\] = ln Σ e^logits\[r, c\] − logits\[r, targets\[r\]\].
    /// Away by a few roundings of the largest logit. [`IGNORED_TARGET`] has a loss of 0.
    ///
    /// A row of −∞ alone, or with NaN or +∞ in it, has a loss of NaN; a target of −∞ in another row one of +∞.
    pub fn cross_entropy_rows(logits: &[f32], targets: &[u32], losses: &mut [f32])
        where { logits.len().is_multiple_of(targets.len()), losses.len() == targets.len(), targets_fit(logits, targets) };
    /// As [`Kernels::cross_entropy_rows`](crate::Kernels::cross_entropy_rows), and the gradient in
    /// the place of the logits: (softmax − 1 at the target) · scale, at most 1e-6 · scale away.
    /// Rows of an [`IGNORED_TARGET`] become zeros, those whose loss is NaN become NaN.
    pub fn cross_entropy_backward_rows(logits: &mut [f32], targets: &[u32], scale: f32, losses: &mut [f32])
        where { logits.len().is_multiple_of(targets.len()), losses.len() == targets.len(), targets_fit(logits, targets) };
}
