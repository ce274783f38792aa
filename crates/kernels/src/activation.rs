//! Activations, their building block `exp`, and their gradients.

use crate::dispatch::kernels;

/// Where [`Kernels::swiglu_backward`](crate::Kernels::swiglu_backward) writes.
#[derive(Debug)]
pub struct SwigluGrads<'a> {
    /// The gradient of the gate.
    pub gate: &'a mut [f32],
    /// The gradient of what the gate multiplies.
    pub up: &'a mut [f32],
}

// Distances are from the exact value, in units in the last place of f32 (ulp), over every 1999th f32 of all.
kernels! { activation:
    /// out\[i\] = e^x\[i\], at most 1.1 ulp away, down to subnormal results. Zero and infinity beyond; NaN stays NaN.
    pub fn exp(x: &[f32], out: &mut [f32]) where { x.len() == out.len() };
    /// [`Kernels::exp`](crate::Kernels::exp) of x, in its place.
    pub fn exp_in_place(x: &mut [f32]);
    /// out\[i\] = tanh x\[i\], at most 5 ulp away, also near 0.
    pub fn tanh(x: &[f32], out: &mut [f32]) where { x.len() == out.len() };
    /// [`Kernels::tanh`](crate::Kernels::tanh) of x, in its place.
    pub fn tanh_in_place(x: &mut [f32]);
    /// out\[i\] = 1 / (1 + e^−x\[i\]), at most 3 ulp away, down to subnormal results.
    pub fn sigmoid(x: &[f32], out: &mut [f32]) where { x.len() == out.len() };
    /// [`Kernels::sigmoid`](crate::Kernels::sigmoid) of x, in its place.
    pub fn sigmoid_in_place(x: &mut [f32]);
    /// out\[i\] = x\[i\] / (1 + e^−x\[i\]), at most 4 ulp away, down to subnormal results; 0 for −∞.
    pub fn silu(x: &[f32], out: &mut [f32]) where { x.len() == out.len() };
    /// [`Kernels::silu`](crate::Kernels::silu) of x, in its place.
    pub fn silu_in_place(x: &mut [f32]);
    /// GELU by its tanh form: out\[i\] = ½ x (1 + tanh(√(2/π) (x + 0.044715 x³))); 0 for −∞.
    ///
    /// At most 6 ulp away for x ≥ −1, and 8 + ¼ |x|³ ulp below: 5e-6 of the result at −5, 3e-5 at
    /// −10, where the result is 1e-38 and next to vanish.
    pub fn gelu_tanh(x: &[f32], out: &mut [f32]) where { x.len() == out.len() };
    /// [`Kernels::gelu_tanh`](crate::Kernels::gelu_tanh) of x, in its place.
    pub fn gelu_tanh_in_place(x: &mut [f32]);
    /// GELU: out\[i\] = ½ x (1 + erf(x / √2)), at most 7 ulp away, down to subnormal results; 0 for −∞.
    pub fn gelu_erf(x: &[f32], out: &mut [f32]) where { x.len() == out.len() };
    /// [`Kernels::gelu_erf`](crate::Kernels::gelu_erf) of x, in its place.
    pub fn gelu_erf_in_place(x: &mut [f32]);
    /// out\[i\] = [`silu`](crate::Kernels::silu)(gate\[i\]) · up\[i\]
    pub fn swiglu(gate: &[f32], up: &[f32], out: &mut [f32]) where { gate.len() == out.len(), up.len() == out.len() };
    /// [`Kernels::swiglu`](crate::Kernels::swiglu), in the place of the gate.
    pub fn swiglu_in_place(gate: &mut [f32], up: &[f32]) where { gate.len() == up.len() };

    /// grad_x\[i\] = grad_out\[i\] · the slope of [`Kernels::silu`](crate::Kernels::silu) at
    /// x\[i\], which is at most 4e-7 away. What was in grad_x is lost.
    pub fn silu_backward(x: &[f32], grad_out: &[f32], grad_x: &mut [f32])
        where { x.len() == grad_x.len(), grad_out.len() == grad_x.len() };
    /// As [`Kernels::silu_backward`](crate::Kernels::silu_backward), of
    /// [`Kernels::gelu_tanh`](crate::Kernels::gelu_tanh).
    pub fn gelu_tanh_backward(x: &[f32], grad_out: &[f32], grad_x: &mut [f32])
        where { x.len() == grad_x.len(), grad_out.len() == grad_x.len() };
    /// As [`Kernels::silu_backward`](crate::Kernels::silu_backward), of
    /// [`Kernels::gelu_erf`](crate::Kernels::gelu_erf).
    pub fn gelu_erf_backward(x: &[f32], grad_out: &[f32], grad_x: &mut [f32])
        where { x.len() == grad_x.len(), grad_out.len() == grad_x.len() };
    /// The gradients of [`Kernels::swiglu`](crate::Kernels::swiglu): grad_out · up · the slope of
    /// SiLU at the gate, and grad_out · the SiLU of it. What was in them is lost.
    pub fn swiglu_backward(gate: &[f32], up: &[f32], grad_out: &[f32], grads: SwigluGrads<'_>)
        where {
            gate.len() == up.len(), grad_out.len() == up.len(),
            grads.gate.len() == up.len(), grads.up.len() == up.len(),
        };
}
