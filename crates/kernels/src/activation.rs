//! Activations, their building block `exp`, and their gradients.

use crate::dispatch::kernels;

kernels! { activation:
    /// out\[i\] = e^x\[i\], at most 1 ulp away, down to subnormal results.
    pub fn exp(x: &[f32], out: &mut [f32]) where { x.len() == out.len() };
    /// x\[i\] = e^x\[i\], as [`Kernels::exp`](crate::Kernels::exp).
    pub fn exp_in_place(x: &mut [f32]);
}
