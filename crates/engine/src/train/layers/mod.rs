//! The layers of a network, forward and backward side by side, one file each. Every step opens its
//! scope by its name in `steps`, the same one in the forward and in the backward pass, and declares
//! its work.
//!
//! Sums over rows are made in blocks whose number follows from the number of rows alone, so that no
//! bit depends on the threads.

pub(crate) mod attention;
pub(crate) mod dropout;
pub(crate) mod embedding;
pub(crate) mod feed_forward;
pub(crate) mod head;
pub(crate) mod linear;
pub(crate) mod norm;
#[cfg(test)]
mod tests;

use kernels::{Kernels, Pool, RopeTable};

use super::Examples;
use crate::layers::by_rows;
use crate::{Compute, Config};
use dropout::Dropout;

/// What a pass computes, and with what.
#[derive(Clone, Copy)]
pub(crate) struct Pass<'a> {
    pub compute: &'a Compute,
    pub config: &'a Config,
    /// All parameters.
    pub values: &'a [f32],
    pub examples: Examples<'a>,
    /// Tokens of a sequence.
    pub length: usize,
    /// Nothing where nothing is dropped.
    pub dropout: Option<Dropout>,
    pub rope: Option<&'a RopeTable>,
    /// Whether gradients of parameters are written where they would be added to what is there.
    pub fresh: bool,
}

impl<'a> Pass<'a> {
    /// Tokens of all sequences.
    pub fn rows(&self) -> usize {
        self.examples.tokens.len()
    }

    pub fn pool(&self) -> &'a Pool {
        &self.compute.pool
    }

    pub fn kernels(&self) -> Kernels {
        self.compute.kernels
    }

    /// Pairs of a query and a position that it sees, of all sequences.
    pub fn pairs(&self) -> usize {
        self.rows() / self.length * pairs(self.config, self.length)
    }
}

/// Pairs of a query and a position that it sees, in one sequence.
pub(crate) fn pairs(config: &Config, length: usize) -> usize {
    let window = config.window.unwrap_or(usize::MAX);
    (1..=length).map(|seen| seen.min(window)).sum()
}

/// Where the gradients of parameters go.
pub(crate) struct Sums<'a> {
    /// Of all parameters; added to.
    pub gradients: &'a mut [f32],
    /// A row for each block of rows.
    pub partials: &'a mut [f32],
}

/// The most blocks that a sum over rows is divided into.
pub(crate) const MOST_BLOCKS: usize = 64;
/// Fewer rows than this are not worth a block.
const LEAST_ROWS: usize = 32;

/// How many rows each block has.
pub(crate) fn rows_of_block(rows: usize) -> usize {
    rows.div_ceil(MOST_BLOCKS).max(LEAST_ROWS)
}

/// The blocks that a thread sums go through its cache about so fast.
const VALUES_PER_NS: f64 = 3.0;

/// Adds the sum of every column of `rows` to `sums`, or writes it there: the gradient of a bias.
pub(crate) fn add_columns(pass: &Pass<'_>, rows: &[f32], sums: &mut [f32], partials: &mut [f32]) {
    let (kernels, width) = (pass.kernels(), sums.len());
    let block = rows_of_block(rows.len() / width) * width;
    let partials = &mut partials[..rows.len().div_ceil(block) * width];
    let parts = pass.pool().parts(rows.len() as f64 / VALUES_PER_NS);
    pass.pool().run_rows(parts, partials, width, |blocks, partials| {
        let rows = rows.chunks(block).skip(blocks.start);
        for (partial, rows) in partials.chunks_exact_mut(width).zip(rows) {
            partial.fill(0.0);
            kernels.sum_rows(rows, partial);
        }
    });
    if pass.fresh {
        sums.fill(0.0);
    }
    kernels.sum_rows(partials, sums);
}

/// Adds the residual stream to what is to be added to it, in the place of the latter.
fn add(pass: &Pass<'_>, rows: &mut [f32], stream: &[f32]) {
    let width = pass.config.width;
    by_rows(pass.pool(), rows, width, |range, rows| {
        pass.kernels().add_assign(rows, &stream[range.start * width..range.end * width]);
    });
}
