//! Many queries: blocks of positions, unpacked once, meet a block of queries in two products by the tiles of `gemm`.
//!
//! A vector has a value of several queries, so the softmax needs no sums across lanes.

use std::ops::Range;

use super::cells::{HeadRows, padded};
use super::layout::{AHEAD, GROUP, SQUARE, copy, prefetch, touch, turn, unpack};
use super::merge::Running;
use super::product::{Left, Out, Right, Sizes, multiply};
use super::take;
use crate::attention::{Attention, AttentionOut, AttentionShape, CacheCells};
use crate::simd::Simd;
use crate::vector::exp::exp_below_overflow;
use crate::vector::gemm::tile::Tiles;

/// Rows (a query with one of its heads) that use a block of positions once it is unpacked.
const ROWS: usize = 128;
/// Positions in a block: its weights take 72 KiB, keys and values of 128 as much again twice, so that all stay in L2.
const BLOCK: usize = 128;
/// From the weights of a position to those of the next: 64 bytes more than they take, or rows would
/// share few sets of L1.
const ROW: usize = ROWS + SQUARE;

/// See [`attention_prefill_scratch`](crate::attention_prefill_scratch).
pub(crate) fn scratch(shape: &AttentionShape) -> usize {
    (3 * ROWS + 2 * BLOCK) * padded(shape) + BLOCK * ROW + 3 * ROWS
}

/// See [`Kernels::attention_prefill`](crate::Kernels::attention_prefill).
#[inline(always)]
pub(crate) fn attention_prefill<S: Tiles>(
    simd: S,
    task: &Attention<'_>,
    mut out: AttentionOut<'_>,
    scratch: &mut [f32],
) {
    let group = task.shape.group;
    if task.heads() > group && out.log_sum_exp.is_some() {
        come_near(task, &mut out);
    }
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

/// While training: touches all rows of all heads that will be read or written, in the order in
/// which they lie. Head by head a few lines are needed of each row, which come from L3 or DRAM at a
/// third of the speed.
#[inline(always)]
fn come_near(task: &Attention<'_>, out: &mut AttentionOut<'_>) {
    let (group, queries) = (task.shape.group, &task.queries);
    let kv_heads = queries.first_head / group..(queries.first_head + task.heads()).div_ceil(group);
    for row in 0..queries.rows.rows() {
        touch(queries.rows.row(row));
        for view in [&task.keys, &task.values] {
            if let CacheCells::F32(cells) = view.cells {
                let start = (queries.first_position + row) * view.position_stride;
                for head in kv_heads.clone() {
                    let first = start + head * view.head_stride;
                    touch(cells.get(first..first + task.shape.head_dim).unwrap_or_default());
                }
            }
        }
        touch(out.rows.row(row));
    }
}

/// The rows of a block: those of all queries and the heads that share a key, the heads of a query next to each other.
struct Members<'a> {
    task: &'a Attention<'a>,
    kv_head: usize,
    heads: Range<usize>,
    rows: Range<usize>,
}

impl<'a> Members<'a> {
    /// The query and the head of a row of the block.
    #[inline(always)]
    fn of(&self, row: usize) -> (usize, usize) {
        let row = self.rows.start + row;
        if self.heads.len() == 1 {
            // As a rule while training: divisions were a tenth of the time.
            return (row, self.heads.start);
        }
        (row / self.heads.len(), self.heads.start + row % self.heads.len())
    }

    /// The values of a row's query; none behind the last.
    #[inline(always)]
    fn query(&self, row: usize) -> &'a [f32] {
        if row >= self.rows.len() {
            return &[];
        }
        let ((query, head), dims) = (self.of(row), self.task.shape.head_dim);
        &self.task.queries.rows.row(query)[head * dims..][..dims]
    }

    /// Asks for what the next head of keys needs of the queries of some rows, where all lies as it
    /// does while training: rows of all heads side by side, so far apart that the CPU does not see
    /// them coming.
    #[inline(always)]
    fn ask_for_next<S: Simd>(&self, simd: S, rows: Range<usize>) {
        let (task, dims) = (self.task, self.task.shape.head_dim);
        let (CacheCells::F32(keys), CacheCells::F32(values)) = (&task.keys.cells, &task.values.cells) else { return };
        let next = self.heads.end..(self.heads.end + task.shape.group).min(task.heads());
        if next.is_empty() || task.keys.position_stride == dims {
            return;
        }
        let [keys, values] = [(keys, &task.keys), (values, &task.values)];
        let keys = HeadRows::new(keys.0, keys.1, self.kv_head + 1);
        let values = HeadRows::new(values.0, values.1, self.kv_head + 1);
        for query in self.of(rows.start).0..=self.of(rows.end - 1).0 {
            prefetch(simd, &task.queries.rows.row(query)[next.start * dims..next.end * dims]);
            for line in (0..dims).step_by(super::MAX_LANES) {
                let position = task.queries.first_position + query;
                simd.prefetch(keys.row(position).wrapping_add(line));
                simd.prefetch(values.row(position).wrapping_add(line));
            }
        }
    }

    /// The positions that a row sees.
    #[inline(always)]
    fn visible(&self, row: usize) -> Range<usize> {
        self.task.shape.visible(self.task.queries.first_position + self.of(row).0)
    }

    /// The positions that any row of a square sees, from `row` on; those of the last row where there are no more.
    #[inline(always)]
    fn visible_to_square(&self, row: usize) -> Range<usize> {
        let last = self.rows.len() - 1;
        self.visible(row.min(last)).start..self.visible((row + SQUARE - 1).min(last)).end
    }
}

struct Block<'a> {
    members: Members<'a>,
    // (group, padded head_dim, row of the group), times the scale
    queries: &'a mut [f32],
    // (position, padded head_dim)
    keys: &'a mut [f32],
    values: &'a mut [f32],
    // (position, row): scores, then weights
    weights: &'a mut [f32],
    // (row, padded head_dim)
    sums: &'a mut [f32],
    max: &'a mut [f32],
    sum: &'a mut [f32],
    fading: &'a mut [f32],
}

impl<'a> Block<'a> {
    #[inline(always)]
    fn new<S: Simd>(simd: S, members: Members<'a>, mut scratch: &'a mut [f32]) -> Self {
        let (shape, padded) = (members.task.shape, padded(&members.task.shape));
        let all = members.rows.len().next_multiple_of(GROUP);
        let rows = &mut take(&mut scratch, ROWS * padded)[..all * padded];
        for row in 0..AHEAD {
            prefetch(simd, members.query(row));
        }
        for (row, to) in rows.chunks_exact_mut(padded).enumerate() {
            prefetch(simd, members.query(row + AHEAD));
            copy(simd, members.query(row), to);
        }
        let queries = &mut take(&mut scratch, ROWS * padded)[..all * padded];
        turn(simd, (rows, padded), shape.scale, queries);
        let block = Block {
            members,
            queries,
            keys: take(&mut scratch, BLOCK * padded),
            values: take(&mut scratch, BLOCK * padded),
            weights: take(&mut scratch, BLOCK * ROW),
            sums: take(&mut scratch, ROWS * padded),
            max: take(&mut scratch, ROWS),
            sum: take(&mut scratch, ROWS),
            fading: take(&mut scratch, ROWS),
        };
        block.max.fill(f32::NEG_INFINITY);
        block.sum.fill(0.0);
        block
    }

    /// All positions that any row sees. Blocks of them begin at multiples of their length, so that the bits of a row's
    /// result do not depend on the rows beside it.
    #[inline(always)]
    fn attend<S: Tiles>(&mut self, simd: S) {
        let (first, last) = (self.members.visible(0), self.members.visible(self.members.rows.len() - 1));
        let dims = self.members.task.shape.head_dim;
        let mut start = first.start;
        if start >= last.end {
            self.sums.fill(0.0);
        }
        while start < last.end {
            let positions = start..last.end.min((start / BLOCK + 1) * BLOCK);
            start = positions.end;
            let (task, kv_head) = (self.members.task, self.members.kv_head);
            for (cache, to) in [(&task.keys, &mut *self.keys), (&task.values, &mut *self.values)] {
                unpack(simd, (cache, kv_head), positions.clone(), dims, to);
            }
            for row in (0..self.members.rows.len()).step_by(GROUP) {
                if positions.end == last.end {
                    self.members.ask_for_next(simd, row..(row + GROUP).min(self.members.rows.len()));
                }
                self.scores(simd, row, &positions);
                for half in [row, row + SQUARE] {
                    if half < self.members.rows.len() {
                        self.square(simd, half, &positions, positions.start == first.start);
                    }
                }
            }
        }
    }

    /// The scores of a group of rows: what the first half sees, the second sees too but for the
    /// beginning of its window; then comes what it alone sees.
    #[inline(always)]
    fn scores<S: Tiles>(&mut self, simd: S, row: usize, positions: &Range<usize>) {
        let (dims, stride) = (self.members.task.shape.head_dim, padded(&self.members.task.shape));
        let cols = (self.members.rows.len() - row).next_multiple_of(SQUARE).min(GROUP);
        let both = self.members.visible_to_square(row).end.clamp(positions.start, positions.end);
        let end = self.members.visible_to_square(row + SQUARE).end.clamp(both, positions.end);
        for (seen, column) in [(positions.start..both, 0), (both..end, SQUARE)] {
            if seen.is_empty() || column >= cols {
                continue;
            }
            let sizes = Sizes { rows: seen.len(), cols: cols - column, depth: dims };
            let first = seen.start - positions.start;
            let left = Left { data: &self.keys[first * stride..], row: stride, step: 1 };
            let right = Right { data: &self.queries[row * stride + column..], step: GROUP };
            let to = &mut self.weights[first * ROW + row + column..];
            assert!((sizes.rows - 1) * ROW + sizes.cols <= to.len());
            // SAFETY: the rows are there, as was just checked.
            unsafe { multiply(simd, sizes, left, right, Out { start: to.as_mut_ptr(), row: ROW, add: false }) };
        }
    }

    /// The weights of a square's rows and the sums of their values, over the positions of a block.
    #[inline(always)]
    fn square<S: Tiles>(&mut self, simd: S, row: usize, positions: &Range<usize>, begins: bool) {
        let stride = padded(&self.members.task.shape);
        let rows = SQUARE.min(self.members.rows.len() - row);
        let depth = self.members.visible_to_square(row).end.clamp(positions.start, positions.end) - positions.start;
        let seen = positions.start..positions.start + depth;
        self.mask(row..row + rows, &seen);
        for lanes in (row..row + SQUARE).step_by(S::LANES) {
            self.weigh(simd, lanes, depth);
        }
        if !begins {
            for (sums, fading) in self.sums.chunks_exact_mut(stride).zip(&*self.fading).skip(row).take(rows) {
                for sums in sums.chunks_exact_mut(S::LANES) {
                    simd.store(simd.mul(simd.load(sums), simd.splat(*fading)), sums);
                }
            }
        }
        let sizes = Sizes { rows, cols: stride, depth };
        let left = Left { data: &self.weights[row..], row: 1, step: ROW };
        let right = Right { data: self.values, step: stride };
        let out = Out { start: self.sums[row * stride..(row + rows) * stride].as_mut_ptr(), row: stride, add: !begins };
        // SAFETY: the rows of the sums are there.
        unsafe { multiply(simd, sizes, left, right, out) };
    }

    /// −∞ where a row does not see a position.
    #[inline(always)]
    fn mask(&mut self, rows: Range<usize>, seen: &Range<usize>) {
        for row in rows {
            let visible = self.members.visible(row);
            let [first, end] = [visible.start, visible.end].map(|edge| edge.clamp(seen.start, seen.end) - seen.start);
            for hidden in [0..first, end..seen.len()] {
                for position in hidden {
                    self.weights[position * ROW + row] = f32::NEG_INFINITY;
                }
            }
        }
    }

    /// From scores to weights relative to the largest score so far, for each lane by itself.
    #[inline(always)]
    fn weigh<S: Simd>(&mut self, simd: S, row: usize, positions: usize) {
        let state = row..row + S::LANES;
        let before = simd.load(&self.max[state.clone()]);
        let mut max = before;
        for position in 0..positions {
            max = simd.max(simd.load(&self.weights[position * ROW + row..]), max);
        }
        let nothing = simd.lt(max, simd.splat(f32::MIN));
        let origin = simd.select(nothing, simd.splat(0.0), max);
        let fading = exp_below_overflow(simd, simd.sub(before, origin));
        let mut sum = simd.mul(simd.load(&self.sum[state.clone()]), fading);
        for position in 0..positions {
            let scores = &mut self.weights[position * ROW + row..];
            let weights = exp_below_overflow(simd, simd.sub(simd.load(scores), origin));
            sum = simd.add(sum, weights);
            simd.store(weights, scores);
        }
        simd.store(max, &mut self.max[state.clone()]);
        simd.store(sum, &mut self.sum[state.clone()]);
        simd.store(fading, &mut self.fading[state]);
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
