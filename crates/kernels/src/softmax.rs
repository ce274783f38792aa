//! Softmax over rows, and the logarithm of its denominator.

use crate::dispatch::kernels;

kernels! { softmax:
    /// Softmax over every row of a matrix, in place: e^(x − max) / Σ e^(x − max). In rows of n
    /// values at most 6 + n / 8 ulp away, and |x − max| · 2⁻²⁴ of the value more where that
    /// difference is no f32.
    ///
    /// −∞ is a masked value and becomes 0; a row of −∞ alone becomes zeros, so that a query that may look at nothing
    /// sees nothing. A row with NaN or +∞ becomes NaN throughout.
    pub fn softmax_rows(x: &mut [f32], cols: usize) where { cols > 0, x.len().is_multiple_of(cols) };
    /// ln Σ e^x\[i\], without overflow: −∞ of nothing and of −∞ alone, NaN where one value is NaN, +∞ where one is +∞.
    pub fn log_sum_exp(x: &[f32]) -> f32;
    /// The gradient of [`Kernels::softmax_rows`](crate::Kernels::softmax_rows) from its outcome y, row by row:
    /// grad_x = y · (grad_out − Σ y · grad_out). What was in grad_x is lost.
    pub fn softmax_backward_rows(y: &[f32], grad_out: &[f32], grad_x: &mut [f32], cols: usize)
        where { cols > 0, y.len().is_multiple_of(cols), grad_out.len() == y.len(), grad_x.len() == y.len() };
}
