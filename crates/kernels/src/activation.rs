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

kernels! { activation:
    /// out\[i\] = e^x\[i\], at most 1 ulp away, down to subnormal results.
    pub fn exp(x: &[f32], out: &mut [f32]) where { x.len() == out.len() };
    /// [`Kernels::exp`](crate::Kernels::exp) of x, in its place.
    pub fn exp_in_place(x: &mut [f32]);
    /// out\[i\] = tanh x\[i\]
    pub fn tanh(x: &[f32], out: &mut [f32]) where { x.len() == out.len() };
    /// [`Kernels::tanh`](crate::Kernels::tanh) of x, in its place.
    pub fn tanh_in_place(x: &mut [f32]);
    /// out\[i\] = 1 / (1 + e^−x\[i\])
    pub fn sigmoid(x: &[f32], out: &mut [f32]) where { x.len() == out.len() };
    /// [`Kernels::sigmoid`](crate::Kernels::sigmoid) of x, in its place.
    pub fn sigmoid_in_place(x: &mut [f32]);
    /// out\[i\] = x\[i\] / (1 + e^−x\[i\])
    pub fn silu(x: &[f32], out: &mut [f32]) where { x.len() == out.len() };
    /// [`Kernels::silu`](crate::Kernels::silu) of x, in its place.
    pub fn silu_in_place(x: &mut [f32]);
    /// GELU
    pub fn gelu_tanh(x: &[f32], out: &mut [f32]) where { x.len() == out.len() };
    /// [`Kernels::gelu_tanh`](crate::Kernels::gelu_tanh) of x, in its place.
    pub fn gelu_tanh_in_place(x: &mut [f32]);
    /// GELU
    pub fn gelu_erf(x: &[f32], out: &mut [f32]) where { x.len() == out.len() };
    /// [`Kernels::gelu_erf`](crate::Kernels::gelu_erf) of x, in its place.
    pub fn gelu_erf_in_place(x: &mut [f32]);
    /// out\[i\] = silu(gate\[i\]) · up\[i\]
    pub fn swiglu(gate: &[f32], up: &[f32], out: &mut [f32]) where { gate.len() == out.len(), up.len() == out.len() };
    /// [`Kernels::swiglu`](crate::Kernels::swiglu), in the place of the gate.
    pub fn swiglu_in_place(gate: &mut [f32], up: &[f32]) where { gate.len() == up.len() };

    /// grad_x\[i\] = grad_out\[i\] · the slope of [`Kernels::silu`](crate::Kernels::silu) at x\[i\]
    pub fn silu_backward(x: &[f32], grad_out: &[f32], grad_x: &mut [f32])
        where { x.len() == grad_x.len(), grad_out.len() == grad_x.len() };
    /// grad_x
    pub fn gelu_tanh_backward(x: &[f32], grad_out: &[f32], grad_x: &mut [f32])
        where { x.len() == grad_x.len(), grad_out.len() == grad_x.len() };
    /// grad_x
    pub fn gelu_erf_backward(x: &[f32], grad_out: &[f32], grad_x: &mut [f32])
        where { x.len() == grad_x.len(), grad_out.len() == grad_x.len() };
    /// grad_x
    pub fn swiglu_backward(gate: &[f32], up: &[f32], grad_out: &[f32], grads: SwigluGrads<'_>)
        where { gate.len() == up.len(), grad_out.len() == up.len(), grads.gate.len() == up.len(), grads.up.len() == up.len() };
}
