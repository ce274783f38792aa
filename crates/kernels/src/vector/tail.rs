//! The lower tails of GELU: a · s(−a), for a = |x|, and the slopes there, for both forms of it.

use super::exp;
use crate::simd::Simd;

/// a · s(−a) = `mantissa` · `power`
pub(crate) struct Tail<S: Simd> {
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

/// a times the sigmoid of −y: a · e / (1 + e) with e = e^(−y)
#[inline(always)]
pub(crate) fn of_gelu_tanh<S: Simd>(simd: S, x: S::F) -> Tail<S> {
    let a = simd.min(simd.constant(TANH_FORM_IS_ZERO), simd.abs(x));
    let (e, power) = exp_of_minus_y(simd, a);
    let below = simd.div(e, simd.add_scaled(simd.constant(1.0), e, power));
    Tail { mantissa: simd.mul(a, below), power }
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

/// The normal distribution's tail over e^(−a²/2) is t · Σ `RATIO`\[i\] · (u − `U_MIDDLE`)ⁱ with t =
/// 1 / (1 + `SLOPE` · a) and u = a · t. Greatest relative error from 0 to 13.2, where results
/// become subnormal: 8.4e-8; with a slope of 0.31 or 0.3 it is about twice that. Around the middle
/// of u nothing cancels; in powers of t the rounding grew to 8 ulp.
const RATIO: [f32; 8] = [
    0.261_605_95,
    -0.123_451_754,
    0.037_502_028,
    -0.005_863_378,
    -0.000_223_444_24,
    0.000_228_507_36,
    -4.756_104_5e-7,
    -8.804_063e-6,
];
const SLOPE: f32 = 0.303_710_94;
const U_MIDDLE: f32 = 1.312_5;

/// 1 / √(2π)
const DENSITY_AT_0: f32 = 0.398_942_3;

/// What the normal distribution's tail beyond a is made of.
struct Normal<S: Simd> {
    /// e^(−a²/2), as a number and the power that is left to scale it with.
    density: (S::F, S::Power),
    /// a / (1 + `SLOPE` · a)
    u: S::F,
    /// The tail over the density, · (1 + `SLOPE` · a).
    ratio: S::F,
}

#[inline(always)]
fn normal<S: Simd>(simd: S, a: S::F) -> Normal<S> {
    let minus_half = simd.mul(simd.constant(-0.5), a);
    let exponent = simd.mul(a, minus_half);
    // The rounding of the square matters: at a = 10 it is 25 units in the last place of the result.
    let excess = simd.fnma(a, minus_half, exponent);
    let density = exp::parts_of_difference(simd, exponent, excess);
    let u = simd.div(a, simd.fma(simd.constant(SLOPE), a, simd.constant(1.0)));
    let v = simd.sub(u, simd.constant(U_MIDDLE));
    // Even and odd powers apart: two short chains instead of a long one.
    let v_square = simd.mul(v, v);
    let (mut even, mut odd) = (simd.constant(RATIO[6]), simd.constant(RATIO[7]));
    for i in [4, 2, 0] {
        even = simd.fma(even, v_square, simd.constant(RATIO[i]));
        odd = simd.fma(odd, v_square, simd.constant(RATIO[i + 1]));
    }
    Normal { density, u, ratio: simd.fma(odd, v, even) }
}

/// a times the normal distribution's tail beyond a.
#[inline(always)]
pub(crate) fn of_gelu_erf<S: Simd>(simd: S, x: S::F) -> Tail<S> {
    let a = simd.min(simd.constant(ERF_FORM_IS_ZERO), simd.abs(x));
    let Normal { density: (density, power), u, ratio } = normal(simd, a);
    Tail { mantissa: simd.mul(density, simd.mul(u, ratio)), power }
}

/// The tail − a · the density
#[inline(always)]
pub(crate) fn slope_of_gelu_erf<S: Simd>(simd: S, x: S::F) -> S::F {
    let a = simd.min(simd.constant(ERF_FORM_IS_ZERO), simd.abs(x));
    let Normal { density: (density, power), u, ratio } = normal(simd, a);
    let tail = simd.mul(ratio, simd.fnma(simd.constant(SLOPE), u, simd.constant(1.0)));
    simd.scale(simd.mul(density, simd.fnma(a, simd.constant(DENSITY_AT_0), tail)), power)
}
