//! Many queries: blocks of positions, unpacked once, meet the tiles of a block of queries.

use std::ops::Range;

use super::cells::padded;
use super::merge::Running;
use super::take;
use super::tile::{MAX_WIDTH, Matrix, Weights, accumulate, scores, unpack, width};
use crate::attention::{Attention, AttentionOut, AttentionShape};
use crate::simd::Simd;
use crate::vector::exp::exp_below_overflow;

/// Rows (a query with one of its heads) that use a block of positions once it is unpacked.
const ROWS: usize = 64;
/// Positions in a block: a multiple of the six rows of a product, few enough for keys or values of 128 to stay in the
/// L1 cache.
const BLOCK: usize = 48;

/// See [`attention_prefill_scratch`](crate::attention_prefill_scratch).
pub(crate) fn scratch(shape: &AttentionShape) -> usize {
    ROWS * shape.head_dim + (ROWS + 2 * BLOCK) * padded(shape) + BLOCK * MAX_WIDTH + 3 * ROWS
}

/// See [`Kernels::attention_prefill`](crate::Kernels::attention_prefill).
#[inline(always)]
pub(crate) fn attention_prefill<S: Simd>(
    simd: S,
    task: &Attention<'_>,
    mut out: AttentionOut<'_>,
    scratch: &mut [f32],
) {
    let group = task.shape.group;
    let mut head = 0;
    while head < task.heads() {
        let kv_head = (task.queries.first_head + head) / group;
        let end = ((kv_head + 1) * group - task.queries.first_head).min(task.heads());
        let all = task.queries.rows.rows() * (end - head);
        let mut row = 0;
        while row < all {
            let rows = row..all.min(row + ROWS);
            row = rows.end;
            let mut block = Block::new(simd, Members { task, kv_head, heads: head..end, rows }, scratch);
            block.attend(simd);
            block.finish(&mut out);
        }
        head = end;
    }
}

/// The rows of a block: those of all queries and the heads that share a key, the heads of a query next to each other.
struct Members<'a> {
    task: &'a Attention<'a>,
    kv_head: usize,
    heads: Range<usize>,
    rows: Range<usize>,
}

impl Members<'_> {
    /// The query and the head of a row of the block.
    #[inline(always)]
    fn of(&self, row: usize) -> (usize, usize) {
        let row = self.rows.start + row;
        (row / self.heads.len(), self.heads.start + row % self.heads.len())
    }

    /// The positions that a row sees.
    #[inline(always)]
    fn visible(&self, row: usize) -> Range<usize> {
        self.task.shape.visible(self.task.queries.first_position + self.of(row).0)
    }
}

struct Block<'a> {
    members: Members<'a>,
    // (tile, head_dim, query of the tile), times the scale
    queries: &'a mut [f32],
    // (position, padded head_dim)
    keys: &'a mut [f32],
    values: &'a mut [f32],
    // (position, query of the tile): scores, then weights
    weights: &'a mut [f32],
    // (row, padded head_dim)
    sums: &'a mut [f32],
    max: &'a mut [f32],
    sum: &'a mut [f32],
    fading: &'a mut [f32],
}

impl<'a> Block<'a> {
    #[inline(always)]
    fn new<S: Simd>(_simd: S, members: Members<'a>, mut scratch: &'a mut [f32]) -> Self {
        let (shape, padded) = (members.task.shape, padded(&members.task.shape));
        let queries = take(&mut scratch, ROWS * shape.head_dim);
        let width = width::<S>();
        for (t, tile) in queries.chunks_exact_mut(shape.head_dim * width).enumerate() {
            for lane in 0..width {
                let row = t * width + lane;
                if row < members.rows.len() {
                    let (query, head) = members.of(row);
                    let from = &members.task.queries.rows.row(query)[head * shape.head_dim..][..shape.head_dim];
                    tile[lane..].iter_mut().step_by(width).zip(from).for_each(|(to, from)| *to = from * shape.scale);
                } else {
                    tile[lane..].iter_mut().step_by(width).for_each(|to| *to = 0.0);
                }
            }
        }
        let block = Block {
            members,
            queries,
            keys: take(&mut scratch, BLOCK * padded),
            values: take(&mut scratch, BLOCK * padded),
            weights: take(&mut scratch, BLOCK * MAX_WIDTH),
            sums: take(&mut scratch, ROWS * padded),
            max: take(&mut scratch, ROWS),
            sum: take(&mut scratch, ROWS),
            fading: take(&mut scratch, ROWS),
        };
        block.sums.fill(0.0);
        block.max.fill(f32::NEG_INFINITY);
        block.sum.fill(0.0);
        block
    }

    /// All positions that any row sees. Blocks of them begin at multiples of their length, so that the bits of a row's
    /// result do not depend on the rows beside it.
    #[inline(always)]
    fn attend<S: Simd>(&mut self, simd: S) {
        let (first, last) = (self.members.visible(0), self.members.visible(self.members.rows.len() - 1));
        let dims = self.members.task.shape.head_dim;
        let mut start = first.start;
        while start < last.end {
            let positions = start..last.end.min((start / BLOCK + 1) * BLOCK);
            start = positions.end;
            let (task, kv_head) = (self.members.task, self.members.kv_head);
            for (cache, to) in [(&task.keys, &mut *self.keys), (&task.values, &mut *self.values)] {
                unpack(simd, (cache, kv_head), positions.clone(), dims, to);
            }
            let mut row = 0;
            while row < self.members.rows.len() {
                let rows = row..self.members.rows.len().min(row + width::<S>());
                row = rows.end;
                self.tile(simd, rows, positions.clone());
            }
        }
    }

    /// One tile of queries with one block of positions.
    #[inline(always)]
    fn tile<S: Simd>(&mut self, simd: S, rows: Range<usize>, positions: Range<usize>) {
        let (first, last) = (self.members.visible(rows.start), self.members.visible(rows.end - 1));
        if last.end <= positions.start || first.start >= positions.end {
            return;
        }
        let (dims, stride) = (self.members.task.shape.head_dim, padded(&self.members.task.shape));
        let queries = &self.queries[rows.start * dims..][..width::<S>() * dims];
        let keys = Matrix { data: self.keys, rows: positions.len(), stride };
        scores(simd, keys, queries, self.weights);
        if first.end < positions.end || last.start > positions.start {
            self.mask::<S>(rows.clone(), positions.clone());
        }
        self.weigh(simd, rows.start, positions.len());
        let weights = Weights { data: self.weights, row_stride: 1, step: width::<S>(), rows: rows.len() };
        let values = Matrix { data: self.values, rows: positions.len(), stride };
        accumulate(simd, weights, values, &self.fading[rows.start..], &mut self.sums[rows.start * stride..]);
    }

    /// −∞ where a row does not see a position.
    #[inline(always)]
    fn mask<S: Simd>(&mut self, rows: Range<usize>, positions: Range<usize>) {
        for (lane, row) in rows.enumerate() {
            let visible = self.members.visible(row);
            for (position, weights) in positions.clone().zip(self.weights.chunks_exact_mut(width::<S>())) {
                if !visible.contains(&position) {
                    weights[lane] = f32::NEG_INFINITY;
                }
            }
        }
    }

    /// From scores to weights relative to the largest score so far, for each lane by itself.
    #[inline(always)]
    fn weigh<S: Simd>(&mut self, simd: S, row: usize, positions: usize) {
        let weights = &mut self.weights[..positions * width::<S>()];
        for half in [0, S::LANES] {
            let state = row + half..row + half + S::LANES;
            let before = simd.load(&self.max[state.clone()]);
            let mut max = before;
            for scores in weights.chunks_exact(width::<S>()) {
                max = simd.max(simd.load(&scores[half..]), max);
            }
            let nothing = simd.lt(max, simd.splat(f32::MIN));
            let origin = simd.select(nothing, simd.splat(0.0), max);
            let fading = exp_below_overflow(simd, simd.sub(before, origin));
            let mut sum = simd.mul(simd.load(&self.sum[state.clone()]), fading);
            for scores in weights.chunks_exact_mut(width::<S>()) {
                let weights = exp_below_overflow(simd, simd.sub(simd.load(&scores[half..]), origin));
                sum = simd.add(sum, weights);
                simd.store(weights, &mut scores[half..]);
            }
            simd.store(max, &mut self.max[state.clone()]);
            simd.store(sum, &mut self.sum[state.clone()]);
            simd.store(fading, &mut self.fading[state]);
        }
    }

    /// Divides and writes the rows.
    #[inline(always)]
    fn finish(self, out: &mut AttentionOut<'_>) {
        let (dims, stride) = (self.members.task.shape.head_dim, padded(&self.members.task.shape));
        for (row, sums) in self.sums.chunks_exact(stride).take(self.members.rows.len()).enumerate() {
            let (query, head) = self.members.of(row);
            let values = &mut out.rows.row(query)[head * dims..][..dims];
            values.copy_from_slice(&sums[..dims]);
            let log = Running { max: self.max[row], sum: self.sum[row], values }.finish();
            if let Some(logs) = &mut out.log_sum_exp {
                logs.row(query)[head] = log;
            }
        }
    }
}
