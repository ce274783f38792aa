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

/// e^x, at most 1 ulp away; infinity and zero beyond the range of f32, subnormal results where they belong, NaN for NaN.
#[inline(always)]
pub(crate) fn exp<S: Simd>(simd: S, x: S::F) -> S::F {
    // A comparison with NaN picks the second: it passes through.
    exp_below_overflow(simd, simd.min(simd.splat(OVERFLOW), x))
}

/// [`exp`] for x that are at most 89.
#[inline(always)]
pub(crate) fn exp_below_overflow<S: Simd>(simd: S, x: S::F) -> S::F {
    let (mantissa, power) = parts(simd, simd.max(simd.splat(UNDERFLOW), x));
    simd.scale(mantissa, power)
}

/// e^x for x from −174 to 176, as a number of moderate size and the power of two that is left to scale it with.
#[inline(always)]
pub(crate) fn parts<S: Simd>(simd: S, x: S::F) -> (S::F, S::Power) {
    let shifted = shifted_exponent(simd, x);
    simd.begin_scale(exp_m1_of_rest(simd, x, shifted), shifted)
}

/// As [`parts`], of `x` + `rest`, where the rest is below the last place of x.
#[inline(always)]
pub(crate) fn parts_of_sum<S: Simd>(simd: S, x: S::F, rest: S::F) -> (S::F, S::Power) {
    let shifted = shifted_exponent(simd, x);
    let n = simd.sub(shifted, simd.splat(EXPONENT_SHIFT));
    // Two short chains instead of a long one.
    let rest = simd.fnma(n, simd.splat(LN_2[1]), rest);
    let r = simd.add(simd.fnma(n, simd.splat(LN_2[0]), x), rest);
    simd.begin_scale(exp_m1_near_0(simd, r), shifted)
}

/// e^x − 1 for x from −87 to 88, as precise near 0 as elsewhere.
#[inline(always)]
pub(crate) fn exp_m1<S: Simd>(simd: S, x: S::F) -> S::F {
    let shifted = shifted_exponent(simd, x);
    let power = simd.power_of_two(shifted);
    simd.fma(exp_m1_of_rest(simd, x, shifted), power, simd.sub(power, simd.splat(1.0)))
}

/// n + [`EXPONENT_SHIFT`]
#[inline(always)]
fn shifted_exponent<S: Simd>(simd: S, x: S::F) -> S::F {
    simd.fma(x, simd.splat(std::f32::consts::LOG2_E), simd.splat(EXPONENT_SHIFT))
}

/// eʳ − 1 with r = x − n · ln 2
#[inline(always)]
fn exp_m1_of_rest<S: Simd>(simd: S, x: S::F, shifted: S::F) -> S::F {
    let n = simd.sub(shifted, simd.splat(EXPONENT_SHIFT));
    let r = simd.fnma(n, simd.splat(LN_2[0]), x);
    exp_m1_near_0(simd, simd.fnma(n, simd.splat(LN_2[1]), r))
}

/// eʳ − 1 for |r| ≤ ln 2 / 2
#[inline(always)]
fn exp_m1_near_0<S: Simd>(simd: S, r: S::F) -> S::F {
    let square = simd.mul(r, r);
    let low = simd.fma(simd.splat(TAIL[1]), r, simd.splat(TAIL[0]));
    let high = simd.fma(simd.splat(TAIL[3]), r, simd.splat(TAIL[2]));
    let high = simd.fma(simd.splat(TAIL[4]), square, high);
    simd.fma(square, simd.fma(square, high, low), r)
}
