//! Activations, their building block `exp`, and their gradients: formulas in f64, rounded once.

use std::f64::consts::PI;

use crate::activation::SwigluGrads;

/// Below this every activation here is less than half of the smallest subnormal f32. It stands for −∞, of which the
/// formulas would make 0 · ∞.
const LOWEST: f64 = -200.0;

/// out = f(x), rounded; NaN stays NaN.
fn map(f: fn(f64) -> f64, x: &[f32], out: &mut [f32]) {
    for (out, &x) in out.iter_mut().zip(x) {
        *out = f(f64::from(x)) as f32;
    }
}

fn map_in_place(f: fn(f64) -> f64, x: &mut [f32]) {
    for x in x {
        *x = f(f64::from(*x)) as f32;
    }
}

/// Writes a kernel and its form in place from a formula.
macro_rules! activations {
    ($($name:ident, $in_place:ident: $formula:expr;)+) => {$(
        #[doc = concat!("See [`Kernels::", stringify!($name), "`](crate::Kernels::", stringify!($name), ").")]
        pub(crate) fn $name(x: &[f32], out: &mut [f32]) {
            map($formula, x, out);
        }

        #[doc = concat!("See [`Kernels::", stringify!($in_place), "`](crate::Kernels::", stringify!($in_place), ").")]
        pub(crate) fn $in_place(x: &mut [f32]) {
            map_in_place($formula, x);
        }
    )+};
}

activations! {
    exp, exp_in_place: f64::exp;
    tanh, tanh_in_place: f64::tanh;
    sigmoid, sigmoid_in_place: sigmoid_of;
    silu, silu_in_place: |x| x.max(LOWEST) * sigmoid_of(x);
    gelu_tanh, gelu_tanh_in_place: |x| x.max(LOWEST) * sigmoid_of(sigmoid_argument(x));
    gelu_erf, gelu_erf_in_place: |x| x.max(LOWEST) * normal_distribution(x);
}

fn sigmoid_of(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// ½ (1 + tanh(√(2/π) (x + 0.044715 x³))) is the sigmoid of this.
fn sigmoid_argument(x: f64) -> f64 {
    2.0 * (2.0 / PI).sqrt() * (x + 0.044715 * x.powi(3))
}

fn normal_density(x: f64) -> f64 {
    (-0.5 * x * x).exp() / (2.0 * PI).sqrt()
}

/// ½ (1 + erf(x / √2)): by its series near 0, by its continued fraction elsewhere.
fn normal_distribution(x: f64) -> f64 {
    let a = x.abs();
    if a < 3.0 {
        // x + x³/3 + x⁵/(3 · 5) + …
        let (mut term, mut sum) = (x, x);
        for i in 1..50 {
            term *= x * x / f64::from(2 * i + 1);
            sum += term;
        }
        return 0.5 + normal_density(x) * sum;
    }
    // 1 / (a + 1 / (a + 2 / (a + 3 / …)))
    let fraction = (1..60).rev().fold(a, |below, i| a + f64::from(i) / below);
    let tail = normal_density(a) / fraction;
    if x < 0.0 { tail } else { 1.0 - tail }
}

/// See [`Kernels::swiglu`](crate::Kernels::swiglu).
pub(crate) fn swiglu(gate: &[f32], up: &[f32], out: &mut [f32]) {
    silu(gate, out);
    for (out, up) in out.iter_mut().zip(up) {
        *out *= up;
    }
}

/// See [`Kernels::swiglu_in_place`](crate::Kernels::swiglu_in_place).
pub(crate) fn swiglu_in_place(gate: &mut [f32], up: &[f32]) {
    silu_in_place(gate);
    for (gate, up) in gate.iter_mut().zip(up) {
        *gate *= up;
    }
}

/// grad_x = grad_out · slope(x)
fn backward(slope: fn(f64) -> f64, x: &[f32], grad_out: &[f32], grad_x: &mut [f32]) {
    for ((grad_x, &x), &grad_out) in grad_x.iter_mut().zip(x).zip(grad_out) {
        *grad_x = (f64::from(grad_out) * slope(f64::from(x))) as f32;
    }
}

/// See [`Kernels::silu_backward`](crate::Kernels::silu_backward).
pub(crate) fn silu_backward(x: &[f32], grad_out: &[f32], grad_x: &mut [f32]) {
    backward(silu_slope, x, grad_out, grad_x);
}

/// See [`Kernels::gelu_tanh_backward`](crate::Kernels::gelu_tanh_backward).
pub(crate) fn gelu_tanh_backward(x: &[f32], grad_out: &[f32], grad_x: &mut [f32]) {
    backward(gelu_tanh_slope, x, grad_out, grad_x);
}

/// See [`Kernels::gelu_erf_backward`](crate::Kernels::gelu_erf_backward).
pub(crate) fn gelu_erf_backward(x: &[f32], grad_out: &[f32], grad_x: &mut [f32]) {
    backward(gelu_erf_slope, x, grad_out, grad_x);
}

fn silu_slope(x: f64) -> f64 {
    let x = x.clamp(LOWEST, -LOWEST);
    sigmoid_of(x) * (1.0 + x * sigmoid_of(-x))
}

fn gelu_tanh_slope(x: f64) -> f64 {
    let x = x.clamp(LOWEST, -LOWEST);
    let y = sigmoid_argument(x);
    let y_slope = 2.0 * (2.0 / PI).sqrt() * (1.0 + 3.0 * 0.044715 * x * x);
    sigmoid_of(y) * (1.0 + x * y_slope * sigmoid_of(-y))
}

fn gelu_erf_slope(x: f64) -> f64 {
    let x = x.clamp(LOWEST, -LOWEST);
    normal_distribution(x) + x * normal_density(x)
}

/// See [`Kernels::swiglu_backward`](crate::Kernels::swiglu_backward).
pub(crate) fn swiglu_backward(gate: &[f32], up: &[f32], grad_out: &[f32], grads: SwigluGrads) {
    for i in 0..gate.len() {
        let (gate, up, grad_out) = (f64::from(gate[i]), f64::from(up[i]), f64::from(grad_out[i]));
        grads.gate[i] = (grad_out * up * silu_slope(gate)) as f32;
        grads.up[i] = (grad_out * gate.max(LOWEST) * sigmoid_of(gate)) as f32;
    }
}
