//! The rows of the tokens, and of their positions where those are learned.

use std::ops::Range;

use arrayvec::ArrayVec;
use kernels::RowsMut;

use super::Pass;
use super::dropout::{self, Site};
use crate::layers::by_rows;
use crate::steps;

/// Where its numbers are among the parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Embedding {
    /// A row per token.
    pub tokens: Range<usize>,
    /// A row per position, where positions are learned.
    pub positions: Option<Range<usize>>,
    /// Whether the tokens' rows are the head's too, whose gradients are there before theirs.
    pub tied: bool,
}

/// The most threads that share the columns of the tokens' gradients.
const MOST_PARTS: usize = 64;
/// Columns of a cache line, which threads do not share.
const LINE: usize = 16;

impl Embedding {
    /// Fills the residual stream.
    pub fn forward(&self, pass: &Pass<'_>, stream: &mut [f32]) {
        let (width, values) = (pass.config.width, stream.len());
        hotloop::scope!(steps::EMBEDDING, bytes = 8 * values, tokens = pass.rows());
        let table = &pass.values[self.tokens.clone()];
        let positions = self.positions.clone().map(|range| &pass.values[range]);
        by_rows(pass.pool(), stream, width, |rows, stream| {
            for (row, out) in rows.zip(stream.chunks_exact_mut(width)) {
                let token = &table[pass.examples.tokens[row] as usize * width..][..width];
                match positions {
                    Some(positions) => {
                        pass.kernels().add(token, &positions[row % pass.length * width..][..width], out);
                    }
                    None => out.copy_from_slice(token),
                }
            }
        });
        dropout::apply(pass, Site::Embedding, stream);
    }

    /// Adds the gradients of the rows to those of their tokens and positions; the gradient of the stream is used up.
    pub fn backward(&self, pass: &Pass<'_>, stream: &mut [f32], gradients: &mut [f32]) {
        hotloop::scope!(steps::EMBEDDING, flops = stream.len(), bytes = 12 * stream.len(), tokens = pass.rows());
        dropout::apply(pass, Site::Embedding, stream);
        if pass.fresh && !self.tied {
            by_rows(pass.pool(), &mut gradients[self.tokens.clone()], pass.config.width, |_, rows| rows.fill(0.0));
        }
        self.tokens_backward(pass, stream, &mut gradients[self.tokens.clone()]);
        let Some(positions) = self.positions.clone() else { return };
        if pass.fresh {
            gradients[positions.clone()].fill(0.0);
        }
        let (width, length) = (pass.config.width, pass.length);
        let gradients = &mut gradients[positions][..length * width];
        by_rows(pass.pool(), gradients, width, |rows, gradients| {
            for sequence in stream.chunks_exact(length * width) {
                pass.kernels().add_assign(gradients, &sequence[rows.start * width..rows.end * width]);
            }
        });
    }

    /// A token may be in many rows: threads share the columns, so that each sum has one order.
    fn tokens_backward(&self, pass: &Pass<'_>, stream: &[f32], gradients: &mut [f32]) {
        let (width, kernels) = (pass.config.width, pass.kernels());
        let parts = pass.pool().parts(stream.len() as f64).min(width.div_ceil(LINE)).min(MOST_PARTS);
        let columns = (width.div_ceil(LINE).div_ceil(parts) * LINE).min(width);
        let mut rest = Some(RowsMut::new(gradients, pass.config.vocab, width, width));
        let mut first = 0;
        let mut shares: ArrayVec<_, MOST_PARTS> = ArrayVec::new();
        while let Some(rows) = rest.take().filter(|rows| rows.width() > 0) {
            let (share, after) = rows.split_at_column(columns.min(width - first));
            shares.push((first, share));
            first += columns;
            rest = Some(after);
        }
        pass.pool().run_each(&mut shares, |(first, share)| {
            let count = share.width();
            for (token, row) in pass.examples.tokens.iter().zip(stream.chunks_exact(width)) {
                kernels.add_assign(share.row(*token as usize), &row[*first..*first + count]);
            }
        });
    }
}
