//! The exponential function, which other modules build on.
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

/// The same with one power less: 1.06e-7.
const SHORT_TAIL: [f32; 4] = [0.499_992_3, 0.166_671_16, 0.041_890_33, 0.008_312_501];

/// e^x, at most 1.1 ulp away; infinity and zero beyond the range of f32, subnormal results where
/// they belong, NaN for NaN.
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
    let shift = simd.splat(EXPONENT_SHIFT);
    let shifted = simd.fma(x, simd.splat(std::f32::consts::LOG2_E), shift);
    let n = simd.sub(shifted, shift);
    let r = simd.fnma(n, simd.splat(LN_2[1]), simd.fnma(n, simd.splat(LN_2[0]), x));
    simd.begin_scale(exp_m1_near_0(simd, r), shifted)
}

/// As [`parts`], of `x` − `excess`, where that is below the last place of x.
#[inline(always)]
pub(crate) fn parts_of_difference<S: Simd>(simd: S, x: S::F, excess: S::F) -> (S::F, S::Power) {
    let shift = simd.constant(EXPONENT_SHIFT);
    let shifted = simd.fma(x, simd.constant(std::f32::consts::LOG2_E), shift);
    let n = simd.sub(shifted, shift);
    // Two short chains instead of a long one.
    let excess = simd.fma(n, simd.constant(LN_2[1]), excess);
    let r = simd.sub(simd.fnma(n, simd.constant(LN_2[0]), x), excess);
    let [a, b, c, d] = SHORT_TAIL.map(|coefficient| simd.constant(coefficient));
    let square = simd.mul(r, r);
    let (low, high) = (simd.fma(b, r, a), simd.fma(d, r, c));
    simd.begin_scale(simd.fma(square, simd.fma(square, high, low), r), shifted)
}

/// 2^x for x from −252 to 254, as [`parts`]: a little faster than e^x, and where |x| is large just
/// as precise as x itself is.
#[inline(always)]
pub(crate) fn exp2_parts<S: Simd>(simd: S, x: S::F) -> (S::F, S::Power) {
    let shifted = simd.add(x, simd.constant(EXPONENT_SHIFT));
    simd.begin_scale(exp2_m1_of_rest(simd, x, shifted), shifted)
}

/// 2^x − 1 for x from −126 to 127, as precise near 0 as elsewhere.
#[inline(always)]
pub(crate) fn exp2_m1<S: Simd>(simd: S, x: S::F) -> S::F {
    let shifted = simd.add(x, simd.constant(EXPONENT_SHIFT));
    let power = simd.power_of_two(shifted);
    simd.fma(exp2_m1_of_rest(simd, x, shifted), power, simd.sub(power, simd.constant(1.0)))
}

/// (2ʳ − 1) / r, least greatest relative error: 2.1e-8.
const EXP2: [f32; 6] =
    [std::f32::consts::LN_2, 0.240_226_49, 0.055_503_573, 0.009_618_238, 0.001_339_084_9, 0.000_154_035_14];

/// 2ʳ − 1 with r = x − n, |r| ≤ ½
#[inline(always)]
fn exp2_m1_of_rest<S: Simd>(simd: S, x: S::F, shifted: S::F) -> S::F {
    let r = simd.sub(x, simd.sub(shifted, simd.constant(EXPONENT_SHIFT)));
    let square = simd.mul(r, r);
    let low = simd.fma(simd.constant(EXP2[1]), r, simd.constant(EXP2[0]));
    let middle = simd.fma(simd.constant(EXP2[3]), r, simd.constant(EXP2[2]));
    let high = simd.fma(simd.constant(EXP2[5]), r, simd.constant(EXP2[4]));
    simd.mul(r, simd.fma(square, simd.fma(square, high, middle), low))
}

/// eʳ − 1 for |r| ≤ ln 2 / 2
#[inline(always)]
fn exp_m1_near_0<S: Simd>(simd: S, r: S::F) -> S::F {
    let tail = TAIL.map(|coefficient| simd.splat(coefficient));
    let square = simd.mul(r, r);
    let low = simd.fma(tail[1], r, tail[0]);
    let high = simd.fma(tail[3], r, tail[2]);
    let high = simd.fma(tail[4], square, high);
    simd.fma(square, simd.fma(square, high, low), r)
}
