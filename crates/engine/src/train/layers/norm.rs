//! RMS norm and layer norm.

use std::ops::Range;

use arrayvec::ArrayVec;
use kernels::{LayerNorm, LayerNormGrads, RmsNorm, RmsNormGrads};

use super::{MOST_BLOCKS, Pass, Sums, VALUES_PER_NS, rows_of_block};
use crate::layers::by_rows;

/// Where its numbers are among the parameters; with a bias it is a layer norm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Norm {
    pub weight: Range<usize>,
    pub bias: Option<Range<usize>>,
}

/// What the gradients of a norm follow from.
pub(crate) struct Tape<'a> {
    /// Its input.
    pub x: &'a [f32],
    /// The gradient of what it gave.
    pub dy: &'a [f32],
    /// Where the gradient of the input is written first, of the same length.
    pub dx: &'a mut [f32],
    /// What the gradient of the input is added to: that of the residual stream.
    pub stream: &'a mut [f32],
}

/// The rows that are summed together.
struct Block<'a> {
    tape: Tape<'a>,
    weight: &'a mut [f32],
    bias: Option<&'a mut [f32]>,
}

impl Norm {
    /// The norm of every row of x.
    pub fn forward(&self, pass: &Pass<'_>, x: &[f32], out: &mut [f32]) {
        let (weight, eps, width) = (&pass.values[self.weight.clone()], pass.config.norm_eps, self.weight.len());
        by_rows(pass.pool(), out, width, |rows, out| {
            let x = &x[rows.start * width..rows.end * width];
            match &self.bias {
                Some(bias) => {
                    let bias = &pass.values[bias.clone()];
                    pass.kernels().layer_norm_rows(x, LayerNorm { weight, bias, eps }, out);
                }
                None => pass.kernels().rms_norm_rows(x, RmsNorm { weight, eps }, out),
            }
        });
    }

    /// Adds to the gradients of weight, bias and residual stream.
    pub fn backward(&self, pass: &Pass<'_>, tape: Tape<'_>, sums: Sums<'_>) {
        let (width, values) = (self.weight.len(), tape.x.len());
        let block = rows_of_block(values / width) * width;
        let count = values.div_ceil(block);
        let (weights, biases) = sums.partials.split_at_mut(count * width);
        let biases = &mut biases[..if self.bias.is_some() { count * width } else { 0 }];
        weights.fill(0.0);
        biases.fill(0.0);
        let mut biases_of_blocks = biases.chunks_exact_mut(width);
        let mut blocks: ArrayVec<Block<'_>, MOST_BLOCKS> = tape
            .blocks(block)
            .zip(weights.chunks_exact_mut(width))
            .map(|(tape, weight)| Block { tape, weight, bias: biases_of_blocks.next() })
            .collect();
        if pass.pool().parts(values as f64 / VALUES_PER_NS) > 1 {
            pass.pool().run_each(&mut blocks, |block| self.block_backward(pass, block));
        } else {
            blocks.iter_mut().for_each(|block| self.block_backward(pass, block));
        }
        drop(blocks);
        let mut add = |range: &Range<usize>, partials: &[f32]| {
            let gradients = &mut sums.gradients[range.clone()];
            if pass.fresh {
                gradients.fill(0.0);
            }
            pass.kernels().sum_rows(partials, gradients);
        };
        add(&self.weight, weights);
        if let Some(bias) = &self.bias {
            add(bias, biases);
        }
    }

    fn block_backward(&self, pass: &Pass<'_>, block: &mut Block<'_>) {
        let Block { tape: Tape { x, dy, dx, stream }, weight: d_weight, bias: d_bias } = block;
        let (weight, eps, kernels) = (&pass.values[self.weight.clone()], pass.config.norm_eps, pass.kernels());
        match (&self.bias, d_bias) {
            (Some(bias), Some(d_bias)) => {
                let norm = LayerNorm { weight, bias: &pass.values[bias.clone()], eps };
                kernels.layer_norm_backward_rows(x, norm, dy, LayerNormGrads { x: dx, weight: d_weight, bias: d_bias });
            }
            _ => {
                let norm = RmsNorm { weight, eps };
                kernels.rms_norm_backward_rows(x, norm, dy, RmsNormGrads { x: dx, weight: d_weight });
            }
        }
        kernels.add_assign(stream, dx);
    }

    /// The floating-point operations over so many values: a square, a sum, two products and, with a mean, three more.
    pub fn flops(&self, values: usize) -> usize {
        values * if self.bias.is_some() { 7 } else { 4 }
    }

    /// Those of the backward pass: the norm once more, and as much again for the gradients and
    /// their sums, added to the stream.
    pub fn backward_flops(&self, values: usize) -> usize {
        2 * self.flops(values) + 3 * values
    }
}

impl<'a> Tape<'a> {
    /// In pieces of so many values.
    fn blocks(self, values: usize) -> impl Iterator<Item = Tape<'a>> {
        let read = self.x.chunks(values).zip(self.dy.chunks(values));
        let written = self.dx.chunks_mut(values).zip(self.stream.chunks_mut(values));
        read.zip(written).map(|((x, dy), (dx, stream))| Tape { x, dy, dx, stream })
    }
}
