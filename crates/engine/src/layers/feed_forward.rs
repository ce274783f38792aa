//! The second half of a layer: the feed-forward network, added to the residual stream.

use kernels::quant::Outputs;

use super::linear::{self, Input, Projection, Projections, project};
use super::{Pass, attention, by_rows, norm};
use crate::FeedForwardKind;
use crate::model::{Buffers, LayerWeights};
use crate::steps;

/// Adds the network of a layer to the residual stream.
pub(crate) fn forward(pass: &Pass<'_>, layer: &LayerWeights, buffers: &mut Buffers<'_>) {
    normalise(pass, layer, buffers);
    up(pass, layer, buffers);
    activate(pass, buffers);
    down(pass, layer, buffers);
}

fn normalise(pass: &Pass<'_>, layer: &LayerWeights, buffers: &mut Buffers<'_>) {
    let (norm, values) = (&layer.ffn_norm, buffers.stream.len());
    hotloop::scope!(steps::FFN_NORM, flops = norm::flops(norm, values), bytes = 8 * values, tokens = pass.rows);
    norm::forward(pass.compute, norm, pass.model.config.norm_eps, buffers.stream, buffers.normed);
}

fn up(pass: &Pass<'_>, layer: &LayerWeights, buffers: &mut Buffers<'_>) {
    let (config, matrices) = (&pass.model.config, || layer.gate.iter().chain([&layer.up]));
    hotloop::scope!(
        steps::FFN_UP,
        flops = matrices().map(|matrix| linear::flops(matrix, pass.rows)).sum::<usize>(),
        bytes = matrices().map(|matrix| linear::bytes(matrix, pass.rows)).sum::<usize>(),
        tokens = pass.rows
    );
    let mut projections = Projections::new();
    if let Some(layer) = &layer.gate {
        projections.push(Projection { layer, out: Outputs::new(buffers.gate, config.ffn, config.ffn) });
    }
    projections.push(Projection { layer: &layer.up, out: Outputs::new(buffers.up, config.ffn, config.ffn) });
    let input = Input { rows: buffers.normed, width: config.width, bytes: buffers.quantised.width.as_mut() };
    project(pass.compute, input, projections);
}

/// The activation, in place: the input of the last matrix is in `gate` where there is a gate, else in `up`.
fn activate(pass: &Pass<'_>, buffers: &mut Buffers<'_>) {
    let (kernels, width, values) = (pass.compute.kernels, pass.model.config.ffn, buffers.up.len());
    let kind = pass.model.config.features().feed_forward;
    hotloop::scope!(
        steps::FFN_ACT,
        flops = values * kind.flops(),
        bytes = values * if kind == FeedForwardKind::SwiGlu { 12 } else { 8 },
        tokens = pass.rows
    );
    let gate = &mut *buffers.gate;
    match kind {
        FeedForwardKind::SwiGlu => {
            let up = &*buffers.up;
            by_rows(pass.pool(), gate, width, |rows, gate| {
                kernels.swiglu_in_place(gate, &up[rows.start * width..rows.end * width]);
            });
        }
        FeedForwardKind::Gelu => by_rows(pass.pool(), buffers.up, width, |_, up| kernels.gelu_tanh_in_place(up)),
    }
}

fn down(pass: &Pass<'_>, layer: &LayerWeights, buffers: &mut Buffers<'_>) {
    let (config, matrix) = (&pass.model.config, &layer.down);
    hotloop::scope!(
        steps::FFN_DOWN,
        flops = linear::flops(matrix, pass.rows) + buffers.stream.len(),
        bytes = linear::bytes(matrix, pass.rows) + 8 * buffers.stream.len(),
        tokens = pass.rows
    );
    let rows = if layer.gate.is_some() { &*buffers.gate } else { &*buffers.up };
    let input = Input { rows, width: config.ffn, bytes: buffers.quantised.ffn.as_mut() };
    let out = Outputs::new(buffers.normed, config.width, config.width);
    project(pass.compute, input, Projections::from_iter([Projection { layer: matrix, out }]));
    attention::add(pass, buffers);
}
