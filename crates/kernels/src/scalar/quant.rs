//! Rows of weights, to and from their formats; the formats themselves are defined in [`quant`](crate::quant).

use crate::quant::Format;

/// See [`Kernels::dequantise`](crate::Kernels::dequantise).
pub(crate) fn dequantise(format: Format, from: &[u8], out: &mut [f32]) {
    format.dequantise(from, out);
}

/// See [`Kernels::quantise`](crate::Kernels::quantise).
pub(crate) fn quantise(format: Format, from: &[f32], out: &mut [u8]) {
    format.quantise(from, out);
}

/// See [`Kernels::has_non_finite`](crate::Kernels::has_non_finite).
pub(crate) fn has_non_finite(values: &[f32]) -> bool {
    values.iter().any(|value| !value.is_finite())
}
