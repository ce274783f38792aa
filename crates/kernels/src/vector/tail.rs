//! The lower tails of GELU: the factors s(−a) of x, for a = |x|, and the slopes there, for both forms of it.

use super::exp;
use crate::simd::Simd;

/// s(−`a`) = `mantissa` · `power`
pub(crate) struct Tail<S: Simd> {
    /// |x|, where larger ones make no difference cut off.
    pub a: S::F,
    pub mantissa: S::F,
    pub power: S::Power,
}

/// From here down both the tanh form and its slope are zero: less than half of the smallest subnormal number.
const TANH_FORM_IS_ZERO: f32 = 10.9;
/// From here down both the erf form and its slope are zero.
const ERF_FORM_IS_ZERO: f32 = 14.6;

/// 2 √(2/π), and the same · 0.044715: the tanh form is x times the sigmoid of y = K · x + C · x³.
const K: f64 = 1.595_769_121_605_730_7;
const C: f64 = 0.044_715 * K;

/// e^(−y), as a number and the power that is left to scale it with.
///
/// The rounding of y is the largest error of the tanh form: 2e-5 of the result at y = 100. Carrying y in two parts made
/// that 6 ulp, and everything a third slower.
#[inline(always)]
fn exp_of_minus_y<S: Simd>(simd: S, a: S::F) -> (S::F, S::Power) {
    const LOG2_E: f64 = std::f64::consts::LOG2_E;
    let [c, k] = [simd.constant((C * LOG2_E) as f32), simd.constant((-K * LOG2_E) as f32)];
    exp::exp2_parts(simd, simd.mul(a, simd.fnma(c, simd.mul(a, a), k)))
}

/// The sigmoid of −y: e / (1 + e) with e = e^(−y)
#[inline(always)]
pub(crate) fn of_gelu_tanh<S: Simd>(simd: S, x: S::F) -> Tail<S> {
    let a = simd.min(simd.constant(TANH_FORM_IS_ZERO), simd.abs(x));
    let (e, power) = exp_of_minus_y(simd, a);
    Tail { a, mantissa: simd.div(e, simd.add_scaled(simd.constant(1.0), e, power)), power }
}

/// σ(−y) · (1 − a · y′ · σ(y))
#[inline(always)]
pub(crate) fn slope_of_gelu_tanh<S: Simd>(simd: S, x: S::F) -> S::F {
    let one = simd.constant(1.0);
    let a = simd.min(simd.constant(TANH_FORM_IS_ZERO), simd.abs(x));
    let (e, power) = exp_of_minus_y(simd, a);
    let above = simd.div(one, simd.add_scaled(one, e, power));
    let slope = simd.fma(simd.mul(a, a), simd.constant(3.0 * C as f32), simd.constant(K as f32));
    let below = simd.scale(simd.mul(e, above), power);
    simd.mul(below, simd.fnma(simd.mul(a, slope), above, one))
}

/// The normal distribution's tail over e^(−a²/2) is t · Σ `RATIO`\[i\] · (t − `T_MIDDLE`)ⁱ with t = 1 / (1 + `T_SLOPE` · a).
/// Greatest relative error from 0 to 13.3, where results become subnormal: 1.03e-7; with a slope of 0.31 or 0.3 it is twice that. Around
/// the middle of t nothing cancels; in powers of t itself the rounding grew to 8 ulp.
const RATIO: [f32; 8] = [
    0.261_680_4,
    0.406_626_73,
    0.406_683_42,
    0.209_278_79,
    -0.026_340_296,
    -0.088_422_74,
    -0.000_569_004_6,
    0.036_911_342,
];
const T_SLOPE: f32 = 0.303_710_94;
const T_MIDDLE: f32 = 0.601_562_5;

/// 1 / √(2π)
const DENSITY_AT_0: f32 = 0.398_942_3;

/// The density as e^(−a²/2), and the ratio of the tail to it.
#[inline(always)]
fn normal<S: Simd>(simd: S, a: S::F) -> ((S::F, S::Power), S::F) {
    let minus_half = simd.mul(simd.constant(-0.5), a);
    let exponent = simd.mul(a, minus_half);
    // The rounding of the square matters: at a = 10 it is 25 units in the last place of the result.
    let excess = simd.fnma(a, minus_half, exponent);
    let density = exp::parts_of_difference(simd, exponent, excess);
    let t = simd.div(simd.constant(1.0), simd.fma(simd.constant(T_SLOPE), a, simd.constant(1.0)));
    let v = simd.sub(t, simd.constant(T_MIDDLE));
    // Even and odd powers apart: two short chains instead of a long one.
    let v_square = simd.mul(v, v);
    let (mut even, mut odd) = (simd.constant(RATIO[6]), simd.constant(RATIO[7]));
    for i in [4, 2, 0] {
        even = simd.fma(even, v_square, simd.constant(RATIO[i]));
        odd = simd.fma(odd, v_square, simd.constant(RATIO[i + 1]));
    }
    (density, simd.mul(simd.fma(odd, v, even), t))
}

/// The normal distribution's tail beyond a.
#[inline(always)]
pub(crate) fn of_gelu_erf<S: Simd>(simd: S, x: S::F) -> Tail<S> {
    let a = simd.min(simd.constant(ERF_FORM_IS_ZERO), simd.abs(x));
    let ((density, power), ratio) = normal(simd, a);
    Tail { a, mantissa: simd.mul(density, ratio), power }
}

/// The tail − a · the density
#[inline(always)]
pub(crate) fn slope_of_gelu_erf<S: Simd>(simd: S, x: S::F) -> S::F {
    let a = simd.min(simd.constant(ERF_FORM_IS_ZERO), simd.abs(x));
    let ((density, power), ratio) = normal(simd, a);
    simd.scale(simd.mul(density, simd.fnma(a, simd.constant(DENSITY_AT_0), ratio)), power)
}
