//! The steps of optimisers, in one pass over the memory that they need.
//!
//! Nothing here is fused: products are rounded before sums, so that all instruction sets give the same bits.

use crate::dispatch::kernels;

/// A step of AdamW. What it needs of the number of the step is handed in as factors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdamWStep {
    /// What values are multiplied with before they move: 1 − learning rate · weight decay.
    pub keep: f32,
    /// The learning rate over 1 − β₁ᵗ.
    pub rate: f32,
    /// How much of the mean of gradients stays, and how much of the gradient comes in: β₁ and 1 − β₁.
    pub mean: [f32; 2],
    /// The same for the mean of their squares: β₂ and 1 − β₂.
    pub square: [f32; 2],
    /// 1 / √(1 − β₂ᵗ)
    pub root_scale: f32,
    /// What keeps the divisor from zero.
    pub eps: f32,
    /// What gradients are multiplied with first, and where they are cut off then, on both sides;
    /// infinity cuts off nothing.
    pub gradient: [f32; 2],
}

/// What AdamW remembers of the gradients, one of each for every value.
#[derive(Debug)]
pub struct Moments<'a> {
    /// m: their running mean.
    pub mean: &'a mut [f32],
    /// v: the running mean of their squares.
    pub square: &'a mut [f32],
}

/// A step of gradient descent with momentum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SgdStep {
    /// The learning rate.
    pub rate: f32,
    /// How much of the last step's direction stays.
    pub momentum: f32,
    /// What of the values is added to their gradients.
    pub weight_decay: f32,
    /// As [`AdamWStep::gradient`].
    pub gradient: [f32; 2],
}

kernels! { optimise:
    /// One step of AdamW. With g = gradients · `gradient[0]`, cut off at ± `gradient[1]`:
    ///
    /// m = `mean[0]` · m + `mean[1]` · g; v = `square[0]` · v + `square[1]` · g²;
    /// values = values · `keep` − `rate` · m / (√v · `root_scale` + `eps`).
    ///
    /// The same bits on every instruction set.
    pub fn adamw(values: &mut [f32], gradients: &[f32], moments: Moments<'_>, step: AdamWStep)
        where {
            gradients.len() == values.len(),
            moments.mean.len() == values.len(), moments.square.len() == values.len(),
        };
    /// One step of gradient descent. With g as in [`Kernels::adamw`](crate::Kernels::adamw):
    ///
    /// direction = `momentum` · direction + (g + `weight_decay` · values); values −= `rate` · direction.
    ///
    /// The same bits on every instruction set.
    pub fn sgd(values: &mut [f32], gradients: &[f32], direction: &mut [f32], step: SgdStep)
        where { gradients.len() == values.len(), direction.len() == values.len() };
}
