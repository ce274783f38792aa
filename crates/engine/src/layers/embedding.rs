//! The rows of the tokens, and of their positions where those are learned.

use super::Pass;
use crate::model::{Buffers, Embedding};
use crate::steps;

/// Fills the residual stream.
pub(crate) fn forward(pass: &Pass<'_>, buffers: &mut Buffers<'_>) {
    let (weights, width) = (&pass.model.weights, pass.model.config.width);
    let Embedding { format, row_bytes, rows } = &weights.embedding;
    hotloop::scope!(steps::EMBEDDING, bytes = pass.rows * (row_bytes + 4 * width), tokens = pass.rows);
    for (segment, first_row, first_position) in pass.segments() {
        let stream = buffers.stream[first_row * width..].chunks_exact_mut(width);
        for ((index, token), out) in segment.tokens.iter().enumerate().zip(stream) {
            pass.compute.kernels.dequantise(*format, &rows[*token as usize * row_bytes..][..*row_bytes], out);
            if let Some(positions) = &weights.positions {
                pass.compute.kernels.add_assign(out, &positions[(first_position + index) * width..][..width]);
            }
        }
    }
}
