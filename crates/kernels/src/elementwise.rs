//! Sums and products, element by element and over whole slices.

use crate::dispatch::kernels;

kernels! { elementwise:
    /// out\[i\] = a\[i\] + b\[i\]
    pub fn add(a: &[f32], b: &[f32], out: &mut [f32]) where { a.len() == out.len(), b.len() == out.len() };
    /// out\[i\] = a\[i\] − b\[i\]
    pub fn sub(a: &[f32], b: &[f32], out: &mut [f32]) where { a.len() == out.len(), b.len() == out.len() };
    /// out\[i\] = a\[i\] · b\[i\]
    pub fn mul(a: &[f32], b: &[f32], out: &mut [f32]) where { a.len() == out.len(), b.len() == out.len() };
    /// x\[i\] += y\[i\]
    pub fn add_assign(x: &mut [f32], y: &[f32]) where { x.len() == y.len() };
    /// x\[i\] *= y\[i\]
    pub fn mul_assign(x: &mut [f32], y: &[f32]) where { x.len() == y.len() };
    /// x\[i\] *= factor
    pub fn scale(x: &mut [f32], factor: f32);
    /// y\[i\] += factor · x\[i\]; whether the product is rounded before the sum depends on the instruction set.
    pub fn axpy(factor: f32, x: &[f32], y: &mut [f32]) where { x.len() == y.len() };

    /// Adds a row to every row of a matrix: x\[r, c\] += row\[c\].
    pub fn add_rows(x: &mut [f32], row: &[f32]) where { x.len().is_multiple_of(row.len()) };
    /// Multiplies every row of a matrix with a row: x\[r, c\] *= row\[c\].
    pub fn mul_rows(x: &mut [f32], row: &[f32]) where { x.len().is_multiple_of(row.len()) };
    /// Adds the sum of every column of a matrix: sums\[c\] += Σ x\[r, c\]. The gradient of a bias.
    pub fn sum_rows(x: &[f32], sums: &mut [f32]) where { x.len().is_multiple_of(sums.len()) };

    /// Σ x\[i\], in a few dozen partial sums: with n values, away by at most (n / 16 + 8) · 2⁻²⁴ · Σ |x\[i\]|.
    pub fn sum(x: &[f32]) -> f32;
    /// Σ x\[i\]², as precise as [`Kernels::sum`](crate::Kernels::sum).
    pub fn sum_of_squares(x: &[f32]) -> f32;
    /// Σ a\[i\] · b\[i\], away by at most (n / 16 + 8) · 2⁻²⁴ · Σ |a\[i\] · b\[i\]|.
    pub fn dot(a: &[f32], b: &[f32]) -> f32 where { a.len() == b.len() };
    /// The largest value; NaN is passed over, and of nothing it is −∞.
    pub fn max(x: &[f32]) -> f32;
}
