//! Layer norm and RMS norm, over rows, and their gradients.

use crate::dispatch::kernels;

/// A layer norm: (x − mean) / √(variance + eps) · weight + bias.
#[derive(Debug, Clone, Copy)]
pub struct LayerNorm<'a> {
    /// One factor for each column.
    pub weight: &'a [f32],
    /// Added to each column.
    pub bias: &'a [f32],
    /// What keeps the root from zero.
    pub eps: f32,
}

/// An RMS norm: x / √(mean of x² + eps) · weight.
#[derive(Debug, Clone, Copy)]
pub struct RmsNorm<'a> {
    /// One factor for each column.
    pub weight: &'a [f32],
    /// What keeps the root from zero.
    pub eps: f32,
}

/// Where [`Kernels::layer_norm_backward_rows`](crate::Kernels::layer_norm_backward_rows) writes.
#[derive(Debug)]
pub struct LayerNormGrads<'a> {
    /// Of x: written.
    pub x: &'a mut [f32],
    /// Of the weight: added to.
    pub weight: &'a mut [f32],
    /// Of the bias: added to.
    pub bias: &'a mut [f32],
}

/// Where [`Kernels::rms_norm_backward_rows`](crate::Kernels::rms_norm_backward_rows) writes.
#[derive(Debug)]
pub struct RmsNormGrads<'a> {
    /// Of x: written.
    pub x: &'a mut [f32],
    /// Of the weight: added to.
    pub weight: &'a mut [f32],
}

kernels! { norm:
    /// A [`LayerNorm`] of every row of x. The variance is taken around the mean, so a large mean
    /// does not spoil it. Where the mean is no larger than the deviation, what the weight
    /// multiplies is at most 1e-6 away, or 1e-6 of its size.
    pub fn layer_norm_rows(x: &[f32], norm: LayerNorm<'_>, out: &mut [f32])
        where {
            !norm.weight.is_empty(), norm.bias.len() == norm.weight.len(),
            x.len().is_multiple_of(norm.weight.len()), out.len() == x.len(),
        };
    /// An [`RmsNorm`] of every row of x. What the weight multiplies is at most 1e-6 away, or 1e-6
    /// of its size, as long as the sum of the squares is a normal f32; beyond, as for
    /// [`layer_norm_rows`](crate::Kernels::layer_norm_rows), vectors give 0 or ∞.
    pub fn rms_norm_rows(x: &[f32], norm: RmsNorm<'_>, out: &mut [f32])
        where { !norm.weight.is_empty(), x.len().is_multiple_of(norm.weight.len()), out.len() == x.len() };
    /// The gradients of [`Kernels::layer_norm_rows`](crate::Kernels::layer_norm_rows). Mean and
    /// variance are taken from x again: that costs less than to read them from memory.
    pub fn layer_norm_backward_rows(x: &[f32], norm: LayerNorm<'_>, grad_out: &[f32], grads: LayerNormGrads<'_>)
        where {
            !norm.weight.is_empty(), x.len().is_multiple_of(norm.weight.len()), grad_out.len() == x.len(),
            grads.x.len() == x.len(), grads.weight.len() == norm.weight.len(), grads.bias.len() == norm.weight.len(),
        };
    /// The gradients of [`Kernels::rms_norm_rows`](crate::Kernels::rms_norm_rows).
    pub fn rms_norm_backward_rows(x: &[f32], norm: RmsNorm<'_>, grad_out: &[f32], grads: RmsNormGrads<'_>)
        where {
            !norm.weight.is_empty(), x.len().is_multiple_of(norm.weight.len()), grad_out.len() == x.len(),
            grads.x.len() == x.len(), grads.weight.len() == norm.weight.len(),
        };
}
