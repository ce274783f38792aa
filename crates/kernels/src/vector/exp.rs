//! The exponential function, on which the other rooms build.
//!
//! x = n · ln 2 + r with whole n and |r| ≤ ln 2 / 2, so eˣ = 2ⁿ · eʳ, and eʳ is a polynomial.

use crate::simd::{EXPONENT_SHIFT, Simd};

/// From here on eˣ is infinite.
const OVERFLOW: f32 = 89.0;
/// From here down eˣ is less than half of the smallest subnormal number.
const UNDERFLOW: f32 = -104.0;

/// ln 2 in two parts: the product of the first with n is exact inside a fused multiply-add.
const LN_2: [f32; 2] = [std::f32::consts::LN_2, -1.904_654_2e-9];

/// (eʳ − 1 − r) / r², least greatest relative error of eʳ: 3.2e-9, far below the rounding.
const TAIL: [f32; 5] = [0.499_999_94, 0.166_665_17, 0.041_668_106, 0.008_369_14, 0.001_383_671_4];

/// e^`x` in the form (1 + `fraction`) · 2ⁿ, so that callers can work before the power comes in.
#[derive(Clone, Copy)]
pub(crate) struct Parts<S: Simd> {
    /// eʳ − 1, with a small relative error: it is the whole of eˣ − 1 where n is 0.
    pub fraction: S::F,
    /// 2ⁿ
    pub power: S::Power,
}

/// e^`x`, at most 1 ulp away; infinity and zero beyond the range of f32, subnormal results where they belong, NaN for NaN.
#[inline(always)]
pub(crate) fn exp<S: Simd>(simd: S, x: S::F) -> S::F {
    // A comparison with NaN picks the second: it passes through.
    let x = simd.max(simd.splat(UNDERFLOW), simd.min(simd.splat(OVERFLOW), x));
    // Adding −0 changes nothing, and the compiler knows it.
    let parts = parts(simd, x, simd.splat(-0.0));
    simd.scale(simd.add(simd.splat(1.0), parts.fraction), parts.power)
}

/// Of `x` + `rest`, for `x` from −174 to 176 and a `rest` below its last place.
#[inline(always)]
pub(crate) fn parts<S: Simd>(simd: S, x: S::F, rest: S::F) -> Parts<S> {
    let shift = simd.splat(EXPONENT_SHIFT);
    let shifted = simd.fma(x, simd.splat(std::f32::consts::LOG2_E), shift);
    let n = simd.sub(shifted, shift);
    let r = simd.add(simd.fnma(n, simd.splat(LN_2[0]), x), rest);
    let r = simd.fnma(n, simd.splat(LN_2[1]), r);
    let mut tail = simd.splat(TAIL[4]);
    for coefficient in [TAIL[3], TAIL[2], TAIL[1], TAIL[0]] {
        tail = simd.fma(tail, r, simd.splat(coefficient));
    }
    Parts { fraction: simd.fma(simd.mul(r, r), tail, r), power: simd.power_of_two(shifted) }
}
