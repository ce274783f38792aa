//! From the residual stream to logits, their loss and its gradient.
//!
//! Logits are computed for some rows at a time, so that they take little memory however large the
//! vocabulary. Where all rows fit at once, their gradient waits in their place for the backward
//! pass; otherwise the head's gradients are made at once, in the forward pass, while the logits are
//! there: to compute them again would cost a third more.

use arrayvec::ArrayVec;

use super::linear::{self, Linear};
use super::norm::{self, Norm};
use super::{Pass, Sums};
use crate::steps;
use crate::train::arena::{BackwardBuffers, HeadTape};

/// The final norm and the matrix of the logits: where its numbers are among the parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    pub norm: Norm,
    pub logits: Linear,
}

/// The most parts that a loss is divided into.
const MOST_PARTS: usize = 64;

/// Some rows of logits, with what is to be predicted and where the losses go.
type LossRows<'a> = (&'a mut [f32], &'a [u32], &'a mut [f32]);

impl Head {
    /// Losses of all rows; where there is a scale, gradients so scaled, for the backward pass.
    pub fn forward(&self, pass: &Pass<'_>, tape: &mut HeadTape<'_>, scale: Option<f32>, way: &mut BackwardBuffers<'_>) {
        let (rows, values) = (pass.rows(), tape.input.len());
        {
            hotloop::scope!(steps::FINAL_NORM, flops = self.norm.flops(values), bytes = 8 * values, tokens = rows);
            self.norm.forward(pass, tape.input, tape.normed);
        }
        let (vocab, width, at_once) = (self.logits.outputs, self.logits.inputs, self.rows_at_once(tape));
        for first in (0..rows).step_by(at_once) {
            let count = at_once.min(rows - first);
            let x = &tape.normed[first * width..(first + count) * width];
            let logits = &mut tape.logits[..count * vocab];
            {
                hotloop::scope!(
                    steps::HEAD,
                    flops = self.logits.flops(count),
                    bytes = self.logits.bytes(count),
                    tokens = count
                );
                self.logits.forward(pass, x, logits);
            }
            let (targets, losses) = (&pass.examples.targets[first..][..count], &mut tape.losses[first..][..count]);
            loss(pass, (logits, targets, losses), scale);
            if scale.is_some() && at_once < rows {
                let dx = &mut way.normed[first * width..(first + count) * width];
                let sums = Sums { gradients: way.gradients, partials: way.partials };
                let pass = Pass { fresh: pass.fresh && first == 0, ..*pass };
                self.logits_backward(&pass, linear::Tape { x, dy: logits }, dx, sums);
            }
        }
    }

    /// For how many rows there is room for logits.
    fn rows_at_once(&self, tape: &HeadTape<'_>) -> usize {
        tape.logits.len() / self.logits.outputs
    }

    fn logits_backward(&self, pass: &Pass<'_>, tape: linear::Tape<'_>, dx: &mut [f32], sums: Sums<'_>) {
        let rows = tape.x.len() / self.logits.inputs;
        hotloop::scope!(
            steps::HEAD_GRADIENT,
            flops = self.logits.backward_flops(rows),
            bytes = self.logits.backward_bytes(rows),
            tokens = rows
        );
        self.logits.backward(pass, tape, dx, sums);
    }

    /// Adds the gradients of the parameters, and begins that of the residual stream.
    pub fn backward(&self, pass: &Pass<'_>, tape: &HeadTape<'_>, way: &mut BackwardBuffers<'_>) {
        let (rows, values) = (pass.rows(), tape.input.len());
        if self.rows_at_once(tape) >= rows {
            let dy = &tape.logits[..rows * self.logits.outputs];
            let sums = Sums { gradients: way.gradients, partials: way.partials };
            self.logits_backward(pass, linear::Tape { x: tape.normed, dy }, way.normed, sums);
        }
        hotloop::scope!(
            steps::FINAL_NORM,
            flops = self.norm.backward_flops(values),
            bytes = 24 * values,
            tokens = rows
        );
        way.stream.fill(0.0);
        let sums = Sums { gradients: way.gradients, partials: way.partials };
        let (dx, stream) = (&mut way.wide[..values], &mut *way.stream);
        self.norm.backward(pass, norm::Tape { x: tape.input, dy: way.normed, dx, stream }, sums);
    }
}

/// The loss of every row and, where there is a scale, its gradient in the place of the logits.
fn loss(pass: &Pass<'_>, (logits, targets, losses): LossRows<'_>, scale: Option<f32>) {
    let (rows, values, kernels) = (targets.len(), logits.len(), pass.kernels());
    let written = if scale.is_some() { 8 } else { 4 };
    hotloop::scope!(steps::LOSS, flops = 4 * values, bytes = written * values, tokens = rows);
    let of = |logits: &mut [f32], targets: &[u32], losses: &mut [f32]| match scale {
        Some(scale) => kernels.cross_entropy_backward_rows(logits, targets, scale, losses),
        None => kernels.cross_entropy_rows(logits, targets, losses),
    };
    let parts = pass.pool().parts(values as f64).min(MOST_PARTS).min(rows);
    if parts <= 1 {
        return of(logits, targets, losses);
    }
    let share = rows.div_ceil(parts);
    let chunks = logits.chunks_mut(share * (values / rows)).zip(targets.chunks(share)).zip(losses.chunks_mut(share));
    let mut parts: ArrayVec<LossRows<'_>, MOST_PARTS> =
        chunks.map(|((logits, targets), losses)| (logits, targets, losses)).collect();
    pass.pool().run_each(&mut parts, |(logits, targets, losses)| of(logits, targets, losses));
}
