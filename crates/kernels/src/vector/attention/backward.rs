//! The gradient over a whole sequence, one head at a time.
//!
//! Weights are computed again from the logarithms that the forward computation kept. A block of positions stays while
//! all tiles of queries that see it pass: five products for each, all of them by `tile`. What is kept of the whole
//! sequence is a few values for each position and dimension.

use std::ops::Range;

use super::cells::padded;
use super::take;
use super::tile::{MAX_WIDTH, Matrix, Weights, accumulate, scores, width};
use crate::attention::{AttentionGradients, AttentionShape, AttentionTape};
use crate::rows::{Rows, RowsMut};
use crate::simd::Simd;
use crate::vector::elementwise::dot;
use crate::vector::exp::exp;

/// Positions in a block, as in `prefill`.
const BLOCK: usize = 48;

/// How many rows ahead the values of a head are asked for. Rows lie so far apart that the CPU does not see them coming: waiting for them
/// was two fifths of the time.
const AHEAD: usize = 16;

/// See [`attention_backward_scratch`](crate::attention_backward_scratch).
pub(crate) fn scratch(shape: &AttentionShape, positions: usize) -> usize {
    let queries = positions.next_multiple_of(MAX_WIDTH);
    queries * (2 * shape.head_dim + 3 * padded(shape) + 2) + 4 * BLOCK * padded(shape) + 2 * BLOCK * MAX_WIDTH + BLOCK
}

/// See [`Kernels::attention_backward`](crate::Kernels::attention_backward).
#[inline(always)]
pub(crate) fn attention_backward<S: Simd>(
    simd: S,
    tape: &AttentionTape<'_>,
    mut out: AttentionGradients<'_>,
    scratch: &mut [f32],
) {
    for head in 0..tape.kv_heads() * tape.shape.group {
        let mut work = Head::new(simd, tape, head, scratch);
        let mut start = 0;
        while start < tape.keys.rows() {
            let positions = start..tape.keys.rows().min(start + BLOCK);
            start = positions.end;
            work.block(simd, positions.clone());
            work.write(positions, &mut out);
        }
        work.write_queries(&mut out.queries);
    }
}

/// One head of queries with all it needs, in the layouts of the products.
struct Head<'a> {
    tape: &'a AttentionTape<'a>,
    head: usize,
    // Of queries, times the scale, and of the gradient of the output: (tile, head_dim, query of the tile) and (query,
    // padded head_dim)
    queries_across: &'a mut [f32],
    d_out_across: &'a mut [f32],
    queries: &'a mut [f32],
    d_out: &'a mut [f32],
    // (query, padded head_dim), still without the scale
    d_queries: &'a mut [f32],
    // d_out · out, and the logarithms
    delta: &'a mut [f32],
    logs: &'a mut [f32],
    // (position of the block, padded head_dim)
    keys: &'a mut [f32],
    values: &'a mut [f32],
    d_keys: &'a mut [f32],
    d_values: &'a mut [f32],
    // (position of the block, query of the tile)
    weights: &'a mut [f32],
    d_scores: &'a mut [f32],
    ones: &'a mut [f32],
}

/// The values of one head in a row.
#[inline(always)]
fn of_head<'a>(rows: &Rows<'a>, row: usize, head: usize, head_dim: usize) -> &'a [f32] {
    &rows.row(row)[head * head_dim..][..head_dim]
}

/// Asks for the values of one head in a row, where there is one.
#[inline(always)]
fn prefetch<S: Simd>(simd: S, rows: &Rows<'_>, row: usize, head: usize, head_dim: usize) {
    if row < rows.rows() {
        for line in of_head(rows, row, head, head_dim).chunks(super::MAX_LANES) {
            simd.prefetch(line.as_ptr());
        }
    }
}

/// The rows of a head, times a factor, padded with zeros: below each other, and across in tiles.
#[inline(always)]
fn lay_out<S: Simd>(simd: S, source: (&Rows<'_>, usize, f32), dims: usize, rows: &mut [f32], across: &mut [f32]) {
    let (source, head, factor) = source;
    let (width, stride) = (width::<S>(), dims.next_multiple_of(super::MAX_LANES));
    rows.fill(0.0);
    across.fill(0.0);
    for row in 0..source.rows() {
        prefetch(simd, source, row + AHEAD, head, dims);
        let to = &mut rows[row * stride..][..dims];
        to.iter_mut().zip(of_head(source, row, head, dims)).for_each(|(to, from)| *to = from * factor);
        let across = &mut across[row / width * width * dims + row % width..];
        across.iter_mut().step_by(width).zip(to.iter()).for_each(|(across, value)| *across = *value);
    }
}

impl<'a> Head<'a> {
    #[inline(always)]
    fn new<S: Simd>(simd: S, tape: &'a AttentionTape<'a>, head: usize, mut scratch: &'a mut [f32]) -> Self {
        let (dims, stride) = (tape.shape.head_dim, padded(&tape.shape));
        let queries = tape.keys.rows().next_multiple_of(MAX_WIDTH);
        let mut part = |len: usize| take(&mut scratch, len);
        let mut new = Head {
            tape,
            head,
            queries_across: part(queries * dims),
            d_out_across: part(queries * dims),
            queries: part(queries * stride),
            d_out: part(queries * stride),
            d_queries: part(queries * stride),
            delta: part(queries),
            logs: part(queries),
            keys: part(BLOCK * stride),
            values: part(BLOCK * stride),
            d_keys: part(BLOCK * stride),
            d_values: part(BLOCK * stride),
            weights: part(BLOCK * MAX_WIDTH),
            d_scores: part(BLOCK * MAX_WIDTH),
            ones: part(BLOCK),
        };
        new.d_queries.fill(0.0);
        new.ones.fill(1.0);
        new.lay_out(simd);
        new
    }

    #[inline(always)]
    fn lay_out<S: Simd>(&mut self, simd: S) {
        let (tape, head, dims) = (self.tape, self.head, self.tape.shape.head_dim);
        for row in 0..BLOCK {
            for rows in [&tape.keys, &tape.values] {
                prefetch(simd, rows, row, head / tape.shape.group, dims);
            }
            if row < AHEAD {
                for rows in [&tape.queries, &tape.d_out, &tape.out] {
                    prefetch(simd, rows, row, head, dims);
                }
            }
        }
        lay_out(simd, (&tape.queries, head, tape.shape.scale), dims, self.queries, self.queries_across);
        lay_out(simd, (&tape.d_out, head, 1.0), dims, self.d_out, self.d_out_across);
        self.delta.fill(0.0);
        self.logs.fill(0.0);
        for row in 0..tape.queries.rows() {
            prefetch(simd, &tape.out, row + AHEAD, head, dims);
            let (d_out, out) = (of_head(&tape.d_out, row, head, dims), of_head(&tape.out, row, head, dims));
            self.delta[row] = dot(simd, d_out, out);
            self.logs[row] = super::origin(tape.log_sum_exp.row(row)[head]);
        }
    }

    /// One block of positions with all queries that see it.
    #[inline(always)]
    fn block<S: Simd>(&mut self, simd: S, positions: Range<usize>) {
        let (tape, dims, stride) = (self.tape, self.tape.shape.head_dim, padded(&self.tape.shape));
        for (i, position) in positions.clone().enumerate() {
            let kv_head = self.head / tape.shape.group;
            for rows in [&tape.keys, &tape.values] {
                prefetch(simd, rows, position + BLOCK, kv_head, dims);
            }
            for (to, from) in [(&mut *self.keys, &tape.keys), (&mut *self.values, &tape.values)] {
                let (values, padding) = to[i * stride..][..stride].split_at_mut(dims);
                values.copy_from_slice(of_head(from, position, kv_head, dims));
                padding.fill(0.0);
            }
        }
        self.d_keys.fill(0.0);
        self.d_values.fill(0.0);
        let mut row = positions.start / width::<S>() * width::<S>();
        while row < tape.queries.rows() {
            let rows = row..tape.queries.rows().min(row + width::<S>());
            row = rows.end;
            if tape.shape.visible(rows.start).start >= positions.end {
                break;
            }
            self.tile(simd, rows, positions.clone());
        }
    }

    /// One tile of queries with one block of positions.
    #[inline(always)]
    fn tile<S: Simd>(&mut self, simd: S, rows: Range<usize>, positions: Range<usize>) {
        let (dims, stride, width) = (self.tape.shape.head_dim, padded(&self.tape.shape), width::<S>());
        let across = rows.start * dims..(rows.start + width) * dims;
        for (x, y, out) in [
            (&*self.keys, &self.queries_across[across.clone()], &mut *self.weights),
            (&*self.values, &self.d_out_across[across], &mut *self.d_scores),
        ] {
            scores(simd, Matrix { data: x, rows: positions.len(), stride }, y, out);
        }
        self.mask::<S>(rows.clone(), positions.clone());
        self.differentiate(simd, rows.start, positions.len());
        let of_block = |data| Matrix { data, rows: positions.len(), stride };
        let of_tile = |data| Matrix { data, rows: rows.len(), stride };
        let for_positions = |data| Weights { data, row_stride: width, step: 1, rows: positions.len() };
        let for_queries = |data| Weights { data, row_stride: 1, step: width, rows: rows.len() };
        let at = rows.start * stride;
        for (weights, rows, out) in [
            (for_positions(self.weights), of_tile(&self.d_out[at..]), &mut *self.d_values),
            (for_positions(self.d_scores), of_tile(&self.queries[at..]), &mut *self.d_keys),
            (for_queries(self.d_scores), of_block(self.keys), &mut self.d_queries[at..]),
        ] {
            accumulate(simd, weights, rows, self.ones, out);
        }
    }

    /// −∞ where a query does not see a position.
    #[inline(always)]
    fn mask<S: Simd>(&mut self, rows: Range<usize>, positions: Range<usize>) {
        let (first, last) = (self.tape.shape.visible(rows.start), self.tape.shape.visible(rows.end - 1));
        if first.end >= positions.end && last.start <= positions.start {
            return;
        }
        for (lane, row) in rows.enumerate() {
            let visible = self.tape.shape.visible(row);
            for (position, weights) in positions.clone().zip(self.weights.chunks_exact_mut(width::<S>())) {
                if !visible.contains(&position) {
                    weights[lane] = f32::NEG_INFINITY;
                }
            }
        }
    }

    /// From scores to weights, and from the gradients of the weights to those of the scores.
    #[inline(always)]
    fn differentiate<S: Simd>(&mut self, simd: S, row: usize, positions: usize) {
        let len = positions * width::<S>();
        let weights = self.weights[..len].chunks_exact_mut(width::<S>());
        for (weights, d_scores) in weights.zip(self.d_scores[..len].chunks_exact_mut(width::<S>())) {
            for half in [0, S::LANES] {
                let logs = simd.load(&self.logs[row + half..]);
                let weight = exp(simd, simd.sub(simd.load(&weights[half..]), logs));
                let delta = simd.load(&self.delta[row + half..]);
                let d_score = simd.mul(weight, simd.sub(simd.load(&d_scores[half..]), delta));
                simd.store(weight, &mut weights[half..]);
                simd.store(d_score, &mut d_scores[half..]);
            }
        }
    }

    /// The gradients of the block's keys and values; the heads of a group add up.
    #[inline(always)]
    fn write(&self, positions: Range<usize>, out: &mut AttentionGradients<'_>) {
        let (group, dims) = (self.tape.shape.group, self.tape.shape.head_dim);
        let columns = self.head / group * dims..(self.head / group + 1) * dims;
        let first = self.head.is_multiple_of(group);
        let stride = padded(&self.tape.shape);
        for (i, position) in positions.enumerate() {
            for (out, from) in [(&mut out.keys, &*self.d_keys), (&mut out.values, &*self.d_values)] {
                let out = &mut out.row(position)[columns.clone()];
                for (out, from) in out.iter_mut().zip(&from[i * stride..]) {
                    *out = if first { *from } else { *out + *from };
                }
            }
        }
    }

    #[inline(always)]
    fn write_queries(&self, out: &mut RowsMut<'_>) {
        let (dims, stride) = (self.tape.shape.head_dim, padded(&self.tape.shape));
        for row in 0..out.rows() {
            let out = &mut out.row(row)[self.head * dims..][..dims];
            for (out, from) in out.iter_mut().zip(&self.d_queries[row * stride..]) {
                *out = from * self.tape.shape.scale;
            }
        }
    }
}
