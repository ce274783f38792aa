//! Layer norm and RMS norm, over rows, and their gradients.
//!
//! A row is read again for each statistic: it lies in the first cache by then, and the variance
//! around the known mean is exact where that of a single pass cancels.

use super::elementwise::{Sum, SumOfSquares};
use super::fold::{Fold, fold};
use super::map::{Formula, map, run};
use crate::norm::{LayerNorm, LayerNormGrads, RmsNorm, RmsNormGrads};
use crate::simd::Simd;

/// Σ (x − mean)²
#[derive(Clone, Copy)]
struct SquaredDistances {
    mean: f32,
}

impl Fold<1, 1> for SquaredDistances {
    #[inline(always)]
    fn missing<S: Simd>(self, simd: S) -> S::F {
        simd.splat(self.mean)
    }

    #[inline(always)]
    fn step<S: Simd>(self, simd: S, [total]: [S::F; 1], [x]: [S::F; 1]) -> [S::F; 1] {
        let distance = simd.sub(x, simd.splat(self.mean));
        [simd.fma(distance, distance, total)]
    }
}

/// Where the values of a row lie: x̂ = (x − mean) · `inverse`, with 1 / the standard deviation.
#[derive(Clone, Copy)]
struct Spread {
    mean: f32,
    inverse: f32,
}

impl Spread {
    #[inline(always)]
    fn around_mean<S: Simd>(simd: S, x: &[f32], eps: f32) -> Self {
        let n = x.len() as f32;
        let [sum] = fold(simd, Sum, [x]);
        let mean = simd.reduce_add(sum) / n;
        let [squares] = fold(simd, SquaredDistances { mean }, [x]);
        Self { mean, inverse: 1.0 / (simd.reduce_add(squares) / n + eps).sqrt() }
    }

    #[inline(always)]
    fn around_zero<S: Simd>(simd: S, x: &[f32], eps: f32) -> Self {
        let [squares] = fold(simd, SumOfSquares, [x]);
        Self { mean: 0.0, inverse: 1.0 / (simd.reduce_add(squares) / x.len() as f32 + eps).sqrt() }
    }

    #[inline(always)]
    fn normed<S: Simd>(self, simd: S, x: S::F) -> S::F {
        simd.mul(simd.sub(x, simd.splat(self.mean)), simd.splat(self.inverse))
    }
}

#[derive(Clone, Copy)]
struct LayerNormed(Spread);

impl Formula<3, 1> for LayerNormed {
    const TOGETHER: usize = 4;

    #[inline(always)]
    fn apply<S: Simd>(self, simd: S, [x, weight, bias]: [S::F; 3]) -> [S::F; 1] {
        [simd.fma(self.0.normed(simd, x), weight, bias)]
    }
}

/// See [`Kernels::layer_norm_rows`](crate::Kernels::layer_norm_rows).
#[inline(always)]
pub(crate) fn layer_norm_rows<S: Simd>(simd: S, x: &[f32], norm: LayerNorm, out: &mut [f32]) {
    let cols = norm.weight.len();
    for (x, out) in x.chunks_exact(cols).zip(out.chunks_exact_mut(cols)) {
        let spread = Spread::around_mean(simd, x, norm.eps);
        map(simd, LayerNormed(spread), [x, norm.weight, norm.bias], out);
    }
}

#[derive(Clone, Copy)]
struct RmsNormed(Spread);

impl Formula<2, 1> for RmsNormed {
    const TOGETHER: usize = 4;

    #[inline(always)]
    fn apply<S: Simd>(self, simd: S, [x, weight]: [S::F; 2]) -> [S::F; 1] {
        [simd.mul(simd.mul(x, simd.splat(self.0.inverse)), weight)]
    }
}

/// See [`Kernels::rms_norm_rows`](crate::Kernels::rms_norm_rows).
#[inline(always)]
pub(crate) fn rms_norm_rows<S: Simd>(simd: S, x: &[f32], norm: RmsNorm, out: &mut [f32]) {
    let cols = norm.weight.len();
    for (x, out) in x.chunks_exact(cols).zip(out.chunks_exact_mut(cols)) {
        let spread = Spread::around_zero(simd, x, norm.eps);
        map(simd, RmsNormed(spread), [x, norm.weight], out);
    }
}

/// Σ g and Σ g · x̂ with g = grad_out · weight
#[derive(Clone, Copy)]
struct Pulls(Spread);

impl Fold<3, 2> for Pulls {
    const TOGETHER: usize = 2;

    /// Zero for x as well: its x̂ is multiplied with a zero of grad_out.
    #[inline(always)]
    fn step<S: Simd>(self, simd: S, totals: [S::F; 2], [x, grad_out, weight]: [S::F; 3]) -> [S::F; 2] {
        let g = simd.mul(grad_out, weight);
        [simd.add(totals[0], g), simd.fma(g, self.0.normed(simd, x), totals[1])]
    }
}

/// The gradients of one place: x̂ is pulled back along the mean of g and along itself.
#[derive(Clone, Copy)]
struct Gradients {
    spread: Spread,
    /// The mean of g; zero in RMS norm.
    along_mean: f32,
    /// The mean of g · x̂.
    along_x: f32,
}

impl Gradients {
    #[inline(always)]
    fn of_x<S: Simd>(self, simd: S, normed: S::F, grad_out: S::F, weight: S::F) -> S::F {
        let g = simd.sub(simd.mul(grad_out, weight), simd.splat(self.along_mean));
        simd.mul(simd.splat(self.spread.inverse), simd.fnma(normed, simd.splat(self.along_x), g))
    }
}

/// From x, grad_out, weight, grad_weight, grad_bias to grad_x, grad_weight, grad_bias.
impl Formula<5, 3> for Gradients {
    #[inline(always)]
    fn apply<S: Simd>(self, simd: S, [x, grad_out, weight, grad_weight, grad_bias]: [S::F; 5]) -> [S::F; 3] {
        let normed = self.spread.normed(simd, x);
        let grad_x = self.of_x(simd, normed, grad_out, weight);
        [grad_x, simd.fma(grad_out, normed, grad_weight), simd.add(grad_bias, grad_out)]
    }
}

/// The same without a bias.
impl Formula<4, 2> for Gradients {
    #[inline(always)]
    fn apply<S: Simd>(self, simd: S, [x, grad_out, weight, grad_weight]: [S::F; 4]) -> [S::F; 2] {
        let normed = self.spread.normed(simd, x);
        let grad_x = self.of_x(simd, normed, grad_out, weight);
        [grad_x, simd.fma(grad_out, normed, grad_weight)]
    }
}

/// See [`Kernels::layer_norm_backward_rows`](crate::Kernels::layer_norm_backward_rows).
#[inline(always)]
pub(crate) fn layer_norm_backward_rows<S: Simd>(
    simd: S,
    x: &[f32],
    norm: LayerNorm,
    grad_out: &[f32],
    grads: LayerNormGrads,
) {
    let cols = norm.weight.len();
    assert!(grads.weight.len() == cols && grads.bias.len() == cols);
    let (grad_weight, grad_bias) = (grads.weight.as_mut_ptr(), grads.bias.as_mut_ptr());
    let rows = x.chunks_exact(cols).zip(grad_out.chunks_exact(cols));
    for ((x, grad_out), grad_x) in rows.zip(grads.x.chunks_exact_mut(cols)) {
        let spread = Spread::around_mean(simd, x, norm.eps);
        let [g, g_x] = fold(simd, Pulls(spread), [x, grad_out, norm.weight]);
        let along_mean = simd.reduce_add(g) / cols as f32;
        let formula = Gradients { spread, along_mean, along_x: simd.reduce_add(g_x) / cols as f32 };
        let (x, grad_out, weight) = (x.as_ptr(), grad_out.as_ptr(), norm.weight.as_ptr());
        let from = [x, grad_out, weight, grad_weight.cast_const(), grad_bias.cast_const()];
        // SAFETY: all have `cols` values; those that are read and written are so through one pointer each.
        unsafe { run(simd, formula, from, [grad_x.as_mut_ptr(), grad_weight, grad_bias], cols) };
    }
}

/// See [`Kernels::rms_norm_backward_rows`](crate::Kernels::rms_norm_backward_rows).
#[inline(always)]
pub(crate) fn rms_norm_backward_rows<S: Simd>(
    simd: S,
    x: &[f32],
    norm: RmsNorm,
    grad_out: &[f32],
    grads: RmsNormGrads,
) {
    let cols = norm.weight.len();
    assert!(grads.weight.len() == cols);
    let grad_weight = grads.weight.as_mut_ptr();
    let rows = x.chunks_exact(cols).zip(grad_out.chunks_exact(cols));
    for ((x, grad_out), grad_x) in rows.zip(grads.x.chunks_exact_mut(cols)) {
        let spread = Spread::around_zero(simd, x, norm.eps);
        let [_, g_x] = fold(simd, Pulls(spread), [x, grad_out, norm.weight]);
        let formula = Gradients { spread, along_mean: 0.0, along_x: simd.reduce_add(g_x) / cols as f32 };
        let from = [x.as_ptr(), grad_out.as_ptr(), norm.weight.as_ptr(), grad_weight.cast_const()];
        // SAFETY: all have `cols` values; those that are read and written are so through one pointer each.
        unsafe { run(simd, formula, from, [grad_x.as_mut_ptr(), grad_weight], cols) };
    }
}
