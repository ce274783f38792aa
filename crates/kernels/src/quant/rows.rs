//! Rows of weights, to and from their formats.

use super::Format;
use crate::dispatch::kernels;

kernels! { quant:
    /// The weights of whole blocks. Every instruction set gives the same bits (of a NaN: some NaN).
    pub fn dequantise(format: Format, from: &[u8], out: &mut [f32])
        where { format.row_bytes(out.len()) == Some(from.len()) };

    /// Whole blocks that stand for the weights. Every instruction set gives the same bytes.
    ///
    /// Q8_0, Q4_0, Q4_1, Q5_0 and Q5_1 are what GGML's reference gives, byte for byte, where a
    /// finite f16 holds the scale; Q4_K, Q5_K and Q6_K are searched for the smallest weighted
    /// squared error. In all of these a NaN counts as 0, and a block with a weight that is infinite
    /// or beyond what its scale can hold is still finite, yet its other weights are lost. F16 and
    /// BF16 convert as IEEE does. Ask [`Kernels::has_non_finite`](crate::Kernels::has_non_finite)
    /// where such weights should be refused.
    pub fn quantise(format: Format, from: &[f32], out: &mut [u8])
        where { format.row_bytes(from.len()) == Some(out.len()) };

    /// Whether any of the values is infinite or NaN.
    pub fn has_non_finite(values: &[f32]) -> bool;
}
