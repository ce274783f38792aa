//! Sums and products, element by element.

use crate::dispatch::kernels;

kernels! { elementwise:
    /// out\[i\] = a\[i\] + b\[i\]
    pub fn add(a: &[f32], b: &[f32], out: &mut [f32]) where { a.len() == out.len(), b.len() == out.len() };
}
