//! From the residual stream to logits.

use kernels::quant::Outputs;

use super::linear::{self, Input, Projection, Projections, project};
use super::{Pass, norm};
use crate::model::Buffers;
use crate::steps;

/// The logits of the tokens that ask for them.
pub(crate) fn forward(pass: &Pass<'_>, buffers: &mut Buffers<'_>) {
    let rows = gather(pass, buffers);
    if rows == 0 {
        return;
    }
    let (model, width) = (pass.model, pass.model.config.width);
    {
        let (norm, values) = (&model.weights.final_norm, rows * width);
        hotloop::scope!(steps::FINAL_NORM, flops = norm::flops(norm, values), bytes = 8 * values, tokens = rows);
        norm::forward(
            pass.compute,
            norm,
            model.config.norm_eps,
            &buffers.stream[..values],
            &mut buffers.normed[..values],
        );
    }
    let head = &model.weights.head;
    hotloop::scope!(steps::HEAD, flops = linear::flops(head, rows), bytes = linear::bytes(head, rows), tokens = rows);
    let vocab = model.config.vocab;
    let input = Input { rows: &buffers.normed[..rows * width], width, bytes: buffers.quantised.width.as_mut() };
    let out = Outputs::new(&mut buffers.logits[..rows * vocab], vocab, vocab);
    project(pass.compute, input, Projections::from_iter([Projection { layer: head, out }]));
}

/// Moves the rows that ask for logits to the front of the stream; how many they are.
fn gather(pass: &Pass<'_>, buffers: &mut Buffers<'_>) -> usize {
    let width = pass.model.config.width;
    let mut to = 0;
    for (segment, first_row, _) in pass.segments() {
        let end = first_row + segment.tokens.len();
        buffers.stream.copy_within((end - segment.logits) * width..end * width, to * width);
        to += segment.logits;
    }
    to
}
