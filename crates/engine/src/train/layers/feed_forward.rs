//! The second half of a layer: the feed-forward network, added to the residual stream.

use kernels::SwigluGrads;

use super::dropout::{self, Site};
use super::linear::{self, Linear};
use super::norm::{self, Norm};
use super::{Pass, Sums};
use crate::FeedForwardKind;
use crate::layers::by_rows;
use crate::steps;
use crate::train::arena::{BackwardBuffers, FeedForwardTape};

/// Where its numbers are among the parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FeedForward {
    pub layer: usize,
    pub norm: Norm,
    /// Gate and up, one behind the other, or up alone.
    pub up: Linear,
    pub down: Linear,
}

impl FeedForward {
    /// The residual stream behind the network, from that before it.
    pub fn forward(&self, pass: &Pass<'_>, tape: &mut FeedForwardTape<'_>, out: &mut [f32]) {
        self.inner(pass, tape);
        let (rows, values) = (pass.rows(), out.len());
        hotloop::scope!(
            steps::FFN_DOWN,
            flops = self.down.flops(rows) + values,
            bytes = self.down.bytes(rows) + 8 * values,
            tokens = rows
        );
        self.down.forward(pass, tape.active, out);
        dropout::apply(pass, Site::FeedForward(self.layer), out);
        super::add(pass, out, tape.input);
    }

    /// What is kept for the backward pass.
    pub fn inner(&self, pass: &Pass<'_>, tape: &mut FeedForwardTape<'_>) {
        let (rows, values) = (pass.rows(), tape.input.len());
        {
            hotloop::scope!(steps::FFN_NORM, flops = self.norm.flops(values), bytes = 8 * values, tokens = rows);
            self.norm.forward(pass, tape.input, tape.normed);
        }
        {
            hotloop::scope!(steps::FFN_UP, flops = self.up.flops(rows), bytes = self.up.bytes(rows), tokens = rows);
            self.up.forward(pass, tape.normed, tape.up);
        }
        self.activate(pass, tape);
    }

    fn activate(&self, pass: &Pass<'_>, tape: &mut FeedForwardTape<'_>) {
        let (kernels, width, wide, values) = (pass.kernels(), self.down.inputs, self.up.outputs, tape.active.len());
        hotloop::scope!(
            steps::FFN_ACT,
            flops = values * pass.config.features().feed_forward.flops(),
            bytes = 4 * (tape.up.len() + values),
            tokens = pass.rows()
        );
        let (up, kind) = (&*tape.up, pass.config.features().feed_forward);
        by_rows(pass.pool(), tape.active, width, |rows, out| {
            let up = &up[rows.start * wide..rows.end * wide];
            match kind {
                FeedForwardKind::Gelu => kernels.gelu_tanh(up, out),
                FeedForwardKind::SwiGlu => {
                    for (row, out) in up.chunks_exact(wide).zip(out.chunks_exact_mut(width)) {
                        let (gate, up) = row.split_at(width);
                        kernels.swiglu(gate, up, out);
                    }
                }
            }
        });
    }

    /// Adds the gradients of the parameters; the gradient of the stream behind the network becomes that before it.
    pub fn backward(&self, pass: &Pass<'_>, tape: &FeedForwardTape<'_>, way: &mut BackwardBuffers<'_>) {
        self.down_backward(pass, tape, way);
        self.activate_backward(pass, tape, way);
        let (rows, values) = (pass.rows(), tape.input.len());
        {
            hotloop::scope!(
                steps::FFN_UP,
                flops = self.up.backward_flops(rows),
                bytes = self.up.backward_bytes(rows),
                tokens = rows
            );
            let dy = &way.wide[..rows * self.up.outputs];
            let sums = Sums { gradients: way.gradients, partials: way.partials };
            self.up.backward(pass, linear::Tape { x: tape.normed, dy }, way.normed, sums);
        }
        hotloop::scope!(steps::FFN_NORM, flops = self.norm.backward_flops(values), bytes = 24 * values, tokens = rows);
        let sums = Sums { gradients: way.gradients, partials: way.partials };
        let (dx, stream) = (&mut way.wide[..values], &mut *way.stream);
        self.norm.backward(pass, norm::Tape { x: tape.input, dy: way.normed, dx, stream }, sums);
    }

    fn down_backward(&self, pass: &Pass<'_>, tape: &FeedForwardTape<'_>, way: &mut BackwardBuffers<'_>) {
        let rows = pass.rows();
        hotloop::scope!(
            steps::FFN_DOWN,
            flops = self.down.backward_flops(rows),
            bytes = self.down.backward_bytes(rows),
            tokens = rows
        );
        let dy = dropout::of_copy(pass, Site::FeedForward(self.layer), way.stream, way.normed);
        let dx = &mut way.narrow[..rows * self.down.inputs];
        let sums = Sums { gradients: way.gradients, partials: way.partials };
        self.down.backward(pass, linear::Tape { x: tape.active, dy }, dx, sums);
    }

    fn activate_backward(&self, pass: &Pass<'_>, tape: &FeedForwardTape<'_>, way: &mut BackwardBuffers<'_>) {
        let (kernels, width, wide, values) = (pass.kernels(), self.down.inputs, self.up.outputs, tape.active.len());
        hotloop::scope!(
            steps::FFN_ACT,
            flops = 2 * values * pass.config.features().feed_forward.flops(),
            bytes = 4 * (2 * tape.up.len() + values),
            tokens = pass.rows()
        );
        let (up, dy, kind) = (&*tape.up, &way.narrow[..values], pass.config.features().feed_forward);
        by_rows(pass.pool(), &mut way.wide[..up.len()], wide, |rows, dx| {
            let (up, dy) = (&up[rows.start * wide..rows.end * wide], &dy[rows.start * width..rows.end * width]);
            match kind {
                FeedForwardKind::Gelu => kernels.gelu_tanh_backward(up, dy, dx),
                FeedForwardKind::SwiGlu => {
                    let rows = up.chunks_exact(wide).zip(dy.chunks_exact(width)).zip(dx.chunks_exact_mut(wide));
                    for ((row, dy), dx) in rows {
                        let ((gate, up), (d_gate, d_up)) = (row.split_at(width), dx.split_at_mut(width));
                        kernels.swiglu_backward(gate, up, dy, SwigluGrads { gate: d_gate, up: d_up });
                    }
                }
            }
        });
    }
}
