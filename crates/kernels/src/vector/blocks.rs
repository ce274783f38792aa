//! Weights as they lie in a file, times activations.

use crate::quant::Format;
use crate::quant::activations::ActivationRow;
use crate::quant::byte_simd::ByteSimd;
use crate::scalar;

/// See [`Kernels::matvec_blocks`](crate::Kernels::matvec_blocks).
#[inline(always)]
pub(crate) fn matvec_blocks<S: ByteSimd>(_: S, format: Format, weights: &[u8], x: ActivationRow<'_>, out: &mut [f32]) {
    scalar::blocks::matvec_blocks(format, weights, x, out);
}
