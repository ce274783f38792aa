//! Activations, their building block `exp`, and their gradients.

use super::exp;
use super::map::{Formula, map, map_in_place};
use crate::simd::Simd;

#[derive(Clone, Copy)]
struct Exp;

impl Formula<1, 1> for Exp {
    #[inline(always)]
    fn apply<S: Simd>(self, simd: S, [x]: [S::F; 1]) -> [S::F; 1] {
        [exp::exp(simd, x)]
    }
}

/// See [`Kernels::exp`](crate::Kernels::exp).
#[inline(always)]
pub(crate) fn exp<S: Simd>(simd: S, x: &[f32], out: &mut [f32]) {
    map(simd, Exp, [x], out);
}

/// See [`Kernels::exp_in_place`](crate::Kernels::exp_in_place).
#[inline(always)]
pub(crate) fn exp_in_place<S: Simd>(simd: S, x: &mut [f32]) {
    map_in_place(simd, Exp, x);
}
