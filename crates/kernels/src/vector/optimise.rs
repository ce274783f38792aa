//! The steps of optimisers. As the definitions, operation by operation: what is bound by memory
//! gains nothing by fusing.

use super::map::{Formula, run};
use crate::optimise::{AdamWStep, Moments, SgdStep};
use crate::simd::Simd;

/// Scaled and cut off. The gradient stands second, so that what is not a number stays that.
#[inline(always)]
fn ready<S: Simd>(simd: S, gradient: S::F, [scale, limit]: [f32; 2]) -> S::F {
    let scaled = simd.mul(gradient, simd.splat(scale));
    simd.max(simd.splat(-limit), simd.min(simd.splat(limit), scaled))
}

/// old · factors\[0\] + new · factors\[1\]
#[inline(always)]
fn mix<S: Simd>(simd: S, old: S::F, new: S::F, factors: [f32; 2]) -> S::F {
    simd.add(simd.mul(old, simd.splat(factors[0])), simd.mul(new, simd.splat(factors[1])))
}

impl Formula<4, 3> for AdamWStep {
    #[inline(always)]
    fn apply<S: Simd>(self, simd: S, [value, gradient, m, v]: [S::F; 4]) -> [S::F; 3] {
        let g = ready(simd, gradient, self.gradient);
        let m = mix(simd, m, g, self.mean);
        let v = mix(simd, v, simd.mul(g, g), self.square);
        let divisor = simd.add(simd.mul(simd.sqrt(v), simd.splat(self.root_scale)), simd.splat(self.eps));
        let kept = simd.mul(value, simd.splat(self.keep));
        [simd.sub(kept, simd.div(simd.mul(m, simd.splat(self.rate)), divisor)), m, v]
    }
}

impl Formula<3, 2> for SgdStep {
    #[inline(always)]
    fn apply<S: Simd>(self, simd: S, [value, gradient, direction]: [S::F; 3]) -> [S::F; 2] {
        let decay = simd.mul(value, simd.splat(self.weight_decay));
        let g = simd.add(ready(simd, gradient, self.gradient), decay);
        let direction = simd.add(simd.mul(direction, simd.splat(self.momentum)), g);
        [simd.sub(value, simd.mul(direction, simd.splat(self.rate))), direction]
    }
}

/// See [`Kernels::adamw`](crate::Kernels::adamw).
#[inline(always)]
pub(crate) fn adamw<S: Simd>(simd: S, values: &mut [f32], gradients: &[f32], moments: Moments<'_>, step: AdamWStep) {
    let (len, Moments { mean, square }) = (values.len(), moments);
    assert!(gradients.len() == len && mean.len() == len && square.len() == len);
    let [values, m, v] = [values.as_mut_ptr(), mean.as_mut_ptr(), square.as_mut_ptr()];
    let from = [values.cast_const(), gradients.as_ptr(), m.cast_const(), v.cast_const()];
    // SAFETY: all slices are as long; each that is written is read and written place by place through one pointer.
    unsafe { run(simd, step, from, [values, m, v], len) }
}

/// See [`Kernels::sgd`](crate::Kernels::sgd).
#[inline(always)]
pub(crate) fn sgd<S: Simd>(simd: S, values: &mut [f32], gradients: &[f32], direction: &mut [f32], step: SgdStep) {
    let len = values.len();
    assert!(gradients.len() == len && direction.len() == len);
    let [values, direction] = [values.as_mut_ptr(), direction.as_mut_ptr()];
    let from = [values.cast_const(), gradients.as_ptr(), direction.cast_const()];
    // SAFETY: all slices are as long; each that is written is read and written place by place through one pointer.
    unsafe { run(simd, step, from, [values, direction], len) }
}
