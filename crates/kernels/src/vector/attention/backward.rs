//! The gradient over a whole sequence, one head at a time.
//!
//! Weights are computed again from the logarithms that the forward computation kept: to keep them
//! would be slower than the product they come from. A block of positions meets a block of queries:
//! five products by the tiles of `gemm`, which skip what no query sees but for the rest of squares
//! of sixteen. What is kept of the whole sequence is a few values for each position and dimension.

use std::ops::Range;

use super::cells::padded;
use super::layout::{AHEAD, GROUP, SQUARE, copy, prefetch, touch, turn};
use super::product::{Left, Out, Right, Sizes, multiply};
use super::take;
use crate::attention::{AttentionGradients, AttentionShape, AttentionTape};
use crate::rows::{Rows, RowsMut};
use crate::simd::Simd;
use crate::vector::elementwise::dot;
use crate::vector::exp::exp_below_overflow;
use crate::vector::gemm::tile::Tiles;

/// Positions in a block, and queries: the weights of both take 72 KiB, and as much the gradients of the scores.
const BLOCK: usize = 128;
/// From the weights of a position to those of the next: 64 bytes more than they take, or rows would
/// share few sets of L1.
const ROW: usize = BLOCK + SQUARE;
/// See [`attention_backward_scratch`](crate::attention_backward_scratch).
pub(crate) fn scratch(shape: &AttentionShape, positions: usize) -> usize {
    positions.next_multiple_of(GROUP) * (6 * padded(shape) + 2) + 2 * BLOCK * ROW
}

/// See [`Kernels::attention_backward`](crate::Kernels::attention_backward).
#[inline(always)]
pub(crate) fn attention_backward<S: Tiles>(
    simd: S,
    tape: &AttentionTape<'_>,
    mut out: AttentionGradients<'_>,
    scratch: &mut [f32],
) {
    let positions = tape.keys.rows();
    if tape.kv_heads() > 1 {
        come_near(tape, &mut out);
    }
    for head in 0..tape.kv_heads() * tape.shape.group {
        let mut work = Head::new(simd, tape, head, scratch);
        for first in (0..positions).step_by(BLOCK) {
            let block = first..positions.min(first + BLOCK);
            for first in (first..positions).step_by(BLOCK) {
                let queries = first..positions.min(first + BLOCK);
                if first > block.start && tape.shape.visible(first).start >= block.end {
                    break;
                }
                work.pair(simd, &Pair { positions: block.clone(), queries }, &mut out);
            }
        }
    }
}

/// Touches all rows of all heads that will be read or written, in the order in which they lie. Head
/// by head a few lines are needed of each row, which come from L3 or DRAM at a third of the speed.
#[inline(always)]
fn come_near(tape: &AttentionTape<'_>, out: &mut AttentionGradients<'_>) {
    for row in 0..tape.keys.rows() {
        for rows in [&tape.queries, &tape.keys, &tape.values, &tape.out, &tape.d_out] {
            touch(rows.row(row));
        }
        for rows in [&mut out.queries, &mut out.keys, &mut out.values] {
            touch(rows.row(row));
        }
    }
}

/// One head of queries with all it needs, in the layouts of the products.
struct Head<'a> {
    tape: &'a AttentionTape<'a>,
    head: usize,
    // (position, padded head_dim)
    keys: &'a mut [f32],
    values: &'a mut [f32],
    queries: &'a mut [f32],
    d_out: &'a mut [f32],
    // (group of queries, padded head_dim, query of the group); queries times the scale
    queries_across: &'a mut [f32],
    d_out_across: &'a mut [f32],
    // d_out · out, and the logarithms
    delta: &'a mut [f32],
    logs: &'a mut [f32],
    // (position of the block, query of the block)
    weights: &'a mut [f32],
    d_scores: &'a mut [f32],
}

/// A block of positions and one of queries, the same or a later one.
struct Pair {
    positions: Range<usize>,
    queries: Range<usize>,
}

impl Pair {
    /// The first position that the queries from `first` to the end of their square do not see, or the end of the block.
    #[inline(always)]
    fn end(&self, first: usize) -> usize {
        self.positions.end.min(first + SQUARE)
    }

    /// Where the weight of a position for a query is.
    #[inline(always)]
    fn place(&self, position: usize, query: usize) -> usize {
        (position - self.positions.start) * ROW + query - self.queries.start
    }
}

/// The values of one head in a row.
#[inline(always)]
fn of_head<'a>(rows: &Rows<'a>, row: usize, head: usize, head_dim: usize) -> &'a [f32] {
    &rows.row(row)[head * head_dim..][..head_dim]
}

/// Asks for the values of one head in a row, where there is one.
#[inline(always)]
fn ask_for<S: Simd>(simd: S, rows: &Rows<'_>, row: usize, head: usize, head_dim: usize) {
    if row < rows.rows() {
        prefetch(simd, of_head(rows, row, head, head_dim));
    }
}

/// The rows of a head one behind the other, padded with zeros; as many more rows of zeros as fit.
#[inline(always)]
fn gather<S: Simd>(simd: S, (source, head): (&Rows<'_>, usize), dims: usize, to: &mut [f32]) {
    let stride = dims.next_multiple_of(super::MAX_LANES);
    for row in 0..AHEAD {
        ask_for(simd, source, row, head, dims);
    }
    for row in 0..source.rows() {
        ask_for(simd, source, row + AHEAD, head, dims);
        copy(simd, of_head(source, row, head, dims), &mut to[row * stride..][..stride]);
    }
    to[source.rows() * stride..].fill(0.0);
}

impl<'a> Head<'a> {
    #[inline(always)]
    fn new<S: Simd>(simd: S, tape: &'a AttentionTape<'a>, head: usize, mut scratch: &'a mut [f32]) -> Self {
        let rows = tape.keys.rows().next_multiple_of(GROUP);
        let all = rows * padded(&tape.shape);
        let mut part = |len: usize| take(&mut scratch, len);
        let mut new = Head {
            tape,
            head,
            keys: part(all),
            values: part(all),
            queries: part(all),
            d_out: part(all),
            queries_across: part(all),
            d_out_across: part(all),
            delta: part(rows),
            logs: part(rows),
            weights: part(BLOCK * ROW),
            d_scores: part(BLOCK * ROW),
        };
        new.lay_out(simd);
        new
    }

    #[inline(always)]
    fn lay_out<S: Simd>(&mut self, simd: S) {
        let (tape, head, dims, stride) = (self.tape, self.head, self.tape.shape.head_dim, padded(&self.tape.shape));
        let kv_head = head / tape.shape.group;
        for (rows, head, to) in [
            (&tape.queries, head, &mut *self.queries),
            (&tape.keys, kv_head, &mut *self.keys),
            (&tape.values, kv_head, &mut *self.values),
            (&tape.d_out, head, &mut *self.d_out),
        ] {
            gather(simd, (rows, head), dims, to);
        }
        turn(simd, (self.queries, stride), tape.shape.scale, self.queries_across);
        turn(simd, (self.d_out, stride), 1.0, self.d_out_across);
        for row in 0..AHEAD {
            ask_for(simd, &tape.out, row, head, dims);
        }
        for row in 0..tape.queries.rows() {
            ask_for(simd, &tape.out, row + AHEAD, head, dims);
            let d_out = &self.d_out[row * stride..][..dims];
            self.delta[row] = dot(simd, d_out, of_head(&tape.out, row, head, dims));
            self.logs[row] = super::origin(tape.log_sum_exp.row(row)[head]);
        }
        self.delta[tape.queries.rows()..].fill(0.0);
        self.logs[tape.queries.rows()..].fill(0.0);
    }

    /// All that a pair of blocks contributes.
    #[inline(always)]
    fn pair<S: Tiles>(&mut self, simd: S, pair: &Pair, out: &mut AttentionGradients<'_>) {
        for first in pair.queries.clone().step_by(GROUP) {
            self.scores(simd, pair, first);
            for half in [first, first + SQUARE] {
                if half < pair.queries.end {
                    if pair.positions.start == pair.queries.start {
                        self.ask_for_next_head(simd, half..pair.queries.end.min(half + SQUARE), out);
                    }
                    self.differentiate(simd, pair, half);
                    self.queries_of(simd, pair, half, &mut out.queries);
                }
            }
        }
        for first in pair.positions.clone().step_by(SQUARE) {
            self.keys_and_values_of(simd, pair, first, out);
        }
    }

    /// Asks for some rows of the head that comes next.
    #[inline(always)]
    fn ask_for_next_head<S: Simd>(&self, simd: S, rows: Range<usize>, out: &mut AttentionGradients<'_>) {
        let (tape, next) = (self.tape, self.head + 1);
        if next == tape.kv_heads() * tape.shape.group {
            return;
        }
        let (dims, kv_head) = (tape.shape.head_dim, next / tape.shape.group);
        for row in rows {
            for of_queries in [&tape.queries, &tape.d_out, &tape.out] {
                ask_for(simd, of_queries, row, next, dims);
            }
            for of_keys in [&tape.keys, &tape.values] {
                ask_for(simd, of_keys, row, kv_head, dims);
            }
            for (rows, head) in [(&mut out.queries, next), (&mut out.keys, kv_head), (&mut out.values, kv_head)] {
                for line in rows.row(row)[head * dims..][..dims].chunks_mut(super::MAX_LANES) {
                    simd.prefetch_write(line.as_mut_ptr());
                }
            }
        }
    }

    /// The scores of a group of queries, and the gradients of their weights.
    #[inline(always)]
    fn scores<S: Tiles>(&mut self, simd: S, pair: &Pair, first: usize) {
        let stride = padded(&self.tape.shape);
        // What the first half of the group sees, the second sees too; then comes what it alone sees.
        let (both, end) = (pair.end(first), pair.end(first + SQUARE));
        let cols = (pair.queries.end - first).next_multiple_of(SQUARE).min(GROUP);
        for (rows, across, to) in [
            (&*self.keys, &*self.queries_across, &mut *self.weights),
            (&*self.values, &*self.d_out_across, &mut *self.d_scores),
        ] {
            for (seen, column) in [(pair.positions.start..both, 0), (both..end, SQUARE)] {
                if seen.is_empty() || column >= cols {
                    continue;
                }
                let sizes = Sizes { rows: seen.len(), cols: cols - column, depth: self.tape.shape.head_dim };
                let left = Left { data: &rows[seen.start * stride..], row: stride, step: 1 };
                let right = Right { data: &across[first * stride + column..], step: GROUP };
                let to = &mut to[pair.place(seen.start, first + column)..];
                assert!((sizes.rows - 1) * ROW + sizes.cols <= to.len());
                // SAFETY: the rows are there, as was just checked.
                unsafe { multiply(simd, sizes, left, right, Out { start: to.as_mut_ptr(), row: ROW, add: false }) };
            }
        }
    }

    /// From scores to weights, and from the gradients of weights to those of scores, for a square's
    /// queries and all positions up to theirs.
    #[inline(always)]
    fn differentiate<S: Simd>(&mut self, simd: S, pair: &Pair, first: usize) {
        let AttentionShape { scale, window, .. } = self.tape.shape;
        let (scale, end) = (simd.splat(scale), pair.end(first));
        for query in (first..first + SQUARE).step_by(S::LANES) {
            let (logs, delta) = (simd.load(&self.logs[query..]), simd.load(&self.delta[query..]));
            // All of these queries see the positions up to the first of them.
            let plain = if window.is_some() { pair.positions.start } else { end.min(query + 1) };
            let mut place = pair.place(pair.positions.start, query);
            for position in pair.positions.start..end {
                let (weights, d_scores) = (&mut self.weights[place..], &mut self.d_scores[place..]);
                place += ROW;
                let mut weight = exp_below_overflow(simd, simd.sub(simd.load(weights), logs));
                if position >= plain {
                    weight = visible(simd, window, weight, [position, query]);
                }
                let d_score = simd.mul(simd.mul(weight, scale), simd.sub(simd.load(d_scores), delta));
                simd.store(weight, weights);
                simd.store(d_score, d_scores);
            }
        }
    }

    /// The gradients of a square's queries.
    #[inline(always)]
    fn queries_of<S: Tiles>(&mut self, simd: S, pair: &Pair, first: usize, out: &mut RowsMut<'_>) {
        let (dims, stride, start) = (self.tape.shape.head_dim, padded(&self.tape.shape), pair.positions.start);
        let rows = SQUARE.min(pair.queries.end - first);
        let sizes = Sizes { rows, cols: dims, depth: pair.end(first) - start };
        let left = Left { data: &self.d_scores[pair.place(start, first)..], row: 1, step: ROW };
        let right = Right { data: &self.keys[start * stride..], step: stride };
        // The first block of positions that these queries meet.
        let seen = self.tape.shape.visible(pair.queries.start).start.min(pair.queries.start) / BLOCK * BLOCK;
        // SAFETY: the rows and columns of this head, which nobody else writes.
        unsafe { multiply(simd, sizes, left, right, place(out, first, self.head * dims, start > seen)) };
    }

    /// The gradients of a square's keys and values; the heads of a group add up.
    #[inline(always)]
    fn keys_and_values_of<S: Tiles>(&mut self, simd: S, pair: &Pair, row: usize, out: &mut AttentionGradients<'_>) {
        let (group, dims, stride) = (self.tape.shape.group, self.tape.shape.head_dim, padded(&self.tape.shape));
        let first = row.max(pair.queries.start);
        let add = !self.head.is_multiple_of(group) || pair.queries.start > pair.positions.start;
        let sizes = Sizes { rows: SQUARE.min(pair.positions.end - row), cols: dims, depth: pair.queries.end - first };
        for (factors, summands, out) in
            [(&*self.weights, &*self.d_out, &mut out.values), (&*self.d_scores, &*self.queries, &mut out.keys)]
        {
            let left = Left { data: &factors[pair.place(row, first)..], row: ROW, step: 1 };
            let right = Right { data: &summands[first * stride..], step: stride };
            // SAFETY: the rows and columns of this head, which nobody else writes.
            unsafe { multiply(simd, sizes, left, right, place(out, row, self.head / group * dims, add)) };
        }
    }
}

/// The weights of a position for the queries from `query` on: zero where a query does not see it.
#[inline(always)]
fn visible<S: Simd>(simd: S, window: Option<usize>, weight: S::F, [position, query]: [usize; 2]) -> S::F {
    const NUMBERS: [f32; super::MAX_LANES] = [0., 1., 2., 3., 4., 5., 6., 7., 8., 9., 10., 11., 12., 13., 14., 15.];
    let (lanes, nothing) = (simd.load(&NUMBERS), simd.splat(0.0));
    // Numbers of lanes: those before this one are before the position, those from the other on are beyond its window.
    let before = position.saturating_sub(query);
    let weight = simd.select(simd.lt(lanes, simd.splat(before as f32)), nothing, weight);
    let Some(window) = window else { return weight };
    let seen = position.saturating_add(window).saturating_sub(query);
    simd.select(simd.lt(lanes, simd.splat(seen as f32)), weight, nothing)
}

/// The place of a head in the rows from `row` on.
#[inline(always)]
fn place(out: &mut RowsMut<'_>, row: usize, column: usize, add: bool) -> Out {
    let stride = out.stride();
    Out { start: out.row(row)[column..].as_mut_ptr(), row: stride, add }
}
