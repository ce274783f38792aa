//! Activations, their building block `exp`, and their gradients.
//!
//! GELU and SiLU are x · s(x) with an s that rises from 0 to 1 and has s(−x) = 1 − s(x). So with a
//! = |x| each is max(x, 0) − a · s(−a), where s(−a) = e^(−…) · (something smooth): the exponential
//! gives the tails their right relative size, the subtraction loses nothing because s(−a) ≤ ½, and
//! there is no case distinction. The power of two of the exponential comes in last, so that a
//! product is right even where the exponential alone is subnormal already.

use super::exp;
use super::map::{Formula, map, map_in_place, map_onto, map_to_two};
use super::tail::{self, Tail};
use crate::activation::SwigluGrads;
use crate::simd::Simd;

/// From here on tanh is 1, to the last place.
const TANH_IS_ONE: f32 = 10.0;
/// From here down the sigmoid and its product with x are zero: 110 · e⁻¹¹⁰ is less than half of the
/// smallest subnormal number.
const SIGMOID_IS_ZERO: f32 = 110.0;

/// Writes the formulas of one input, and of each the kernel and its form in place.
macro_rules! activations {
    ($($formula:ident, $name:ident, $in_place:ident: |$simd:ident, $x:ident| $value:expr;)+) => {$(
        #[derive(Clone, Copy)]
        struct $formula;

        impl Formula<1, 1> for $formula {
            #[inline(always)]
            fn apply<S: Simd>(self, $simd: S, [$x]: [S::F; 1]) -> [S::F; 1] {
                [$value]
            }
        }

        #[doc = concat!("See [`Kernels::", stringify!($name), "`](crate::Kernels::", stringify!($name), ").")]
        #[inline(always)]
        pub(crate) fn $name<S: Simd>(simd: S, x: &[f32], out: &mut [f32]) {
            map(simd, $formula, [x], out);
        }

        #[doc = concat!("See [`Kernels::", stringify!($in_place), "`](crate::Kernels::", stringify!($in_place), ").")]
        #[inline(always)]
        pub(crate) fn $in_place<S: Simd>(simd: S, x: &mut [f32]) {
            map_in_place(simd, $formula, x);
        }
    )+};
}

activations! {
    Exp, exp, exp_in_place: |simd, x| exp::exp(simd, x);
    Tanh, tanh, tanh_in_place: |simd, x| tanh_of(simd, x);
    Sigmoid, sigmoid, sigmoid_in_place: |simd, x| sigmoid_of(simd, x);
    Silu, silu, silu_in_place: |simd, x| silu_of(simd, x);
    GeluTanh, gelu_tanh, gelu_tanh_in_place: |simd, x| gelu_of(simd, x, tail::of_gelu_tanh(simd, x));
    GeluErf, gelu_erf, gelu_erf_in_place: |simd, x| gelu_of(simd, x, tail::of_gelu_erf(simd, x));
}

/// −m / (2 + m) with m = e^(−2|x|) − 1, which keeps its relative precision near 0; then the sign of x.
#[inline(always)]
fn tanh_of<S: Simd>(simd: S, x: S::F) -> S::F {
    let a = simd.min(simd.constant(TANH_IS_ONE), simd.abs(x));
    let m = exp::exp2_m1(simd, simd.mul(simd.constant(-2.0 * std::f32::consts::LOG2_E), a));
    simd.copy_sign(simd.div(m, simd.add(simd.constant(2.0), m)), x)
}

/// e / (1 + e) for negative x and 1 / (1 + e) for others, with e = e^(−|x|).
#[inline(always)]
fn sigmoid_of<S: Simd>(simd: S, x: S::F) -> S::F {
    let Halves { e, inverse, .. } = halves(simd, x);
    let numerator = simd.select(simd.lt(x, simd.constant(0.0)), e, simd.constant(1.0));
    simd.mul(numerator, inverse)
}

/// What the sigmoid and its relatives have in common.
struct Halves<S: Simd> {
    /// |x|, where larger ones make no difference cut off.
    a: S::F,
    /// e^(−|x|)
    e: S::F,
    /// 1 / (1 + e): the sigmoid of |x|.
    inverse: S::F,
}

#[inline(always)]
fn halves<S: Simd>(simd: S, x: S::F) -> Halves<S> {
    let one = simd.constant(1.0);
    let a = simd.min(simd.constant(SIGMOID_IS_ZERO), simd.abs(x));
    let (e, power) = exp::parts(simd, simd.neg(a));
    let inverse = simd.div(one, simd.add_scaled(one, e, power));
    Halves { a, e: simd.scale(e, power), inverse }
}

/// max(x, 0) − a · e / (1 + e)
#[inline(always)]
fn silu_of<S: Simd>(simd: S, x: S::F) -> S::F {
    let a = simd.min(simd.constant(SIGMOID_IS_ZERO), simd.abs(x));
    let (e, power) = exp::parts(simd, simd.neg(a));
    let below = simd.div(simd.mul(a, e), simd.add_scaled(simd.constant(1.0), e, power));
    simd.sub_scaled(simd.max(simd.constant(0.0), x), below, power)
}

/// max(x, 0) − a · s(−a)
#[inline(always)]
fn gelu_of<S: Simd>(simd: S, x: S::F, tail: Tail<S>) -> S::F {
    simd.sub_scaled(simd.max(simd.constant(0.0), x), tail.mantissa, tail.power)
}

#[derive(Clone, Copy)]
struct Swiglu;

impl Formula<2, 1> for Swiglu {
    #[inline(always)]
    fn apply<S: Simd>(self, simd: S, [gate, up]: [S::F; 2]) -> [S::F; 1] {
        [simd.mul(silu_of(simd, gate), up)]
    }
}

/// See [`Kernels::swiglu`](crate::Kernels::swiglu).
#[inline(always)]
pub(crate) fn swiglu<S: Simd>(simd: S, gate: &[f32], up: &[f32], out: &mut [f32]) {
    map(simd, Swiglu, [gate, up], out);
}

/// See [`Kernels::swiglu_in_place`](crate::Kernels::swiglu_in_place).
#[inline(always)]
pub(crate) fn swiglu_in_place<S: Simd>(simd: S, gate: &mut [f32], up: &[f32]) {
    map_onto(simd, Swiglu, gate, up);
}

/// Writes the gradients of formulas of one input.
macro_rules! gradients {
    ($($formula:ident, $name:ident: |$simd:ident, $x:ident| $slope:expr;)+) => {$(
        #[derive(Clone, Copy)]
        struct $formula;

        impl Formula<2, 1> for $formula {
            #[inline(always)]
            fn apply<S: Simd>(self, $simd: S, [$x, grad_out]: [S::F; 2]) -> [S::F; 1] {
                [$simd.mul(grad_out, $slope)]
            }
        }

        #[doc = concat!("See [`Kernels::", stringify!($name), "`](crate::Kernels::", stringify!($name), ").")]
        #[inline(always)]
        pub(crate) fn $name<S: Simd>(simd: S, x: &[f32], grad_out: &[f32], grad_x: &mut [f32]) {
            map(simd, $formula, [x, grad_out], grad_x);
        }
    )+};
}

gradients! {
    SiluSlope, silu_backward: |simd, x| silu_slope(simd, x, halves(simd, x));
    GeluTanhSlope, gelu_tanh_backward: |simd, x| mirrored(simd, x, tail::slope_of_gelu_tanh(simd, x));
    GeluErfSlope, gelu_erf_backward: |simd, x| mirrored(simd, x, tail::slope_of_gelu_erf(simd, x));
}

/// A slope t that is known for −|x|, where that of |x| is 1 − t.
#[inline(always)]
fn mirrored<S: Simd>(simd: S, x: S::F, t: S::F) -> S::F {
    simd.select(simd.lt(x, simd.constant(0.0)), t, simd.sub(simd.constant(1.0), t))
}

/// e / (1 + e) · (1 − a / (1 + e)) for negative x
#[inline(always)]
fn silu_slope<S: Simd>(simd: S, x: S::F, Halves { a, e, inverse }: Halves<S>) -> S::F {
    let t = simd.mul(simd.mul(e, inverse), simd.fnma(a, inverse, simd.constant(1.0)));
    mirrored(simd, x, t)
}

#[derive(Clone, Copy)]
struct SwigluSlopes;

impl Formula<3, 2> for SwigluSlopes {
    #[inline(always)]
    fn apply<S: Simd>(self, simd: S, [gate, up, grad_out]: [S::F; 3]) -> [S::F; 2] {
        let halves = halves(simd, gate);
        let below = simd.mul(simd.mul(halves.a, halves.e), halves.inverse);
        let silu = simd.sub(simd.max(simd.constant(0.0), gate), below);
        let slope = silu_slope(simd, gate, halves);
        [simd.mul(simd.mul(grad_out, up), slope), simd.mul(grad_out, silu)]
    }
}

/// See [`Kernels::swiglu_backward`](crate::Kernels::swiglu_backward).
#[inline(always)]
pub(crate) fn swiglu_backward<S: Simd>(simd: S, gate: &[f32], up: &[f32], grad_out: &[f32], grads: SwigluGrads) {
    map_to_two(simd, SwigluSlopes, [gate, up, grad_out], [grads.gate, grads.up]);
}
