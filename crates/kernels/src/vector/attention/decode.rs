//! One query at a time, with all heads that share its keys and values.
//!
//! Positions are read in blocks: the scores of a block are dot products of several rows at once, the weighted values of
//! a block are summed in registers. Up to four heads use a row while it is there. Cells that are no f32 are converted
//! in passing; to unpack a block first took half as long again for four heads. Only rows that are no whole vectors are
//! unpacked.

use std::ops::Range;

use super::cells::{Cell, HeadRows, padded};
use super::layout::unpack;
use super::merge::Running;
use super::{exp_one, origin, take};
use crate::attention::{ATTENTION_PART, Attention, AttentionOut, AttentionShape, CacheCells, FewOut};
use crate::simd::Simd;
use crate::vector::exp::exp_below_overflow;

/// Positions in a block: its scores stay in the L1 cache, and the sums are brought up and put back rarely.
const BLOCK: usize = 64;
/// Positions in a block that is unpacked first: 128 values each are half of an L1 cache of 32 KiB.
const UNPACKED: usize = 32;

/// See [`attention_decode_scratch`](crate::attention_decode_scratch).
pub(crate) fn scratch(shape: &AttentionShape) -> usize {
    shape.group * (3 * padded(shape) + BLOCK + 5) + UNPACKED * padded(shape)
}

/// The heads of one query that share a head of keys and values, and their sums over some positions.
struct Group<'a> {
    kv_head: usize,
    heads: Range<usize>,
    // (head, padded head_dim), times the scale
    queries: &'a mut [f32],
    // (head, padded head_dim)
    values: &'a mut [f32],
    // (head, BLOCK): scores, then weights
    weights: &'a mut [f32],
    max: &'a mut [f32],
    sum: &'a mut [f32],
    // What the values have to be multiplied with before the next block is added.
    fading: &'a mut [f32],
    // The parts merged so far: values as above, the largest score and the sum of weights for each head.
    merged: &'a mut [f32],
    merged_states: &'a mut [f32],
    // (position of the block, padded head_dim), where keys and then values are unpacked
    unpacked: &'a mut [f32],
}

impl<'a> Group<'a> {
    /// The scaled queries of the heads from `first` on, as many as share keys.
    #[inline(always)]
    fn new(task: &Attention<'_>, query: usize, first: usize, mut scratch: &'a mut [f32]) -> Self {
        let (shape, padded) = (&task.shape, padded(&task.shape));
        let kv_head = (task.queries.first_head + first) / shape.group;
        let end = ((kv_head + 1) * shape.group - task.queries.first_head).min(task.heads());
        let count = end - first;
        let queries = take(&mut scratch, count * padded);
        let source = &task.queries.rows.row(query)[first * shape.head_dim..end * shape.head_dim];
        for (to, from) in queries.chunks_exact_mut(padded).zip(source.chunks_exact(shape.head_dim)) {
            let (values, padding) = to.split_at_mut(shape.head_dim);
            values.iter_mut().zip(from).for_each(|(to, from)| *to = from * shape.scale);
            padding.fill(0.0);
        }
        Group {
            kv_head,
            heads: first..end,
            queries,
            values: take(&mut scratch, count * padded),
            weights: take(&mut scratch, count * BLOCK),
            max: take(&mut scratch, count),
            sum: take(&mut scratch, count),
            fading: take(&mut scratch, count),
            merged: take(&mut scratch, count * padded),
            merged_states: take(&mut scratch, count * 2),
            unpacked: take(&mut scratch, UNPACKED * padded),
        }
    }

    /// All positions of a range, in parts.
    #[inline(always)]
    fn attend_all<S: Simd>(&mut self, simd: S, task: &Attention<'_>, positions: Range<usize>, part_len: usize) {
        self.merged.fill(0.0);
        for state in self.merged_states.chunks_exact_mut(2) {
            state.copy_from_slice(&[f32::NEG_INFINITY, 0.0]);
        }
        let padded = padded(&task.shape);
        let mut start = positions.start;
        while start < positions.end {
            let part = start..positions.end.min((start / part_len + 1).saturating_mul(part_len));
            start = part.end;
            self.attend(simd, task, part);
            for (head, state) in self.merged_states.chunks_exact_mut(2).enumerate() {
                let values = &mut self.merged[head * padded..][..padded];
                let mut running = Running { max: state[0], sum: state[1], values };
                running.merge(simd, (self.max[head], self.sum[head]), &self.values[head * padded..][..padded]);
                state.copy_from_slice(&[running.max, running.sum]);
            }
        }
    }

    /// Writes the sums as they are.
    #[inline(always)]
    fn write_part(&self, task: &Attention<'_>, query: usize, part: &mut [f32]) {
        let (dims, padded) = (task.shape.head_dim, padded(&task.shape));
        for (i, head) in self.heads.clone().enumerate() {
            let (state, values) = part[(query * task.heads() + head) * (2 + dims)..][..2 + dims].split_at_mut(2);
            state.copy_from_slice(&self.merged_states[2 * i..][..2]);
            values.copy_from_slice(&self.merged[i * padded..][..dims]);
        }
    }

    /// Divides the merged sums and writes them.
    #[inline(always)]
    fn finish(&self, dims: usize, query: usize, out: &mut AttentionOut<'_>) {
        let padded = self.merged.len() / self.heads.len();
        for (head, (merged, state)) in
            self.heads.clone().zip(self.merged.chunks_exact(padded).zip(self.merged_states.chunks_exact(2)))
        {
            let values = &mut out.rows.row(query)[head * dims..][..dims];
            values.copy_from_slice(&merged[..dims]);
            let log = Running { max: state[0], sum: state[1], values }.finish();
            if let Some(logs) = &mut out.log_sum_exp {
                logs.row(query)[head] = log;
            }
        }
    }

    /// Sums over the positions of a range, from nothing.
    #[inline(always)]
    fn attend<S: Simd>(&mut self, simd: S, task: &Attention<'_>, positions: Range<usize>) {
        self.values.fill(0.0);
        self.max.fill(f32::NEG_INFINITY);
        self.sum.fill(0.0);
        let len = if task.shape.head_dim.is_multiple_of(S::LANES) { BLOCK } else { UNPACKED };
        let mut start = positions.start;
        while start < positions.end {
            let block = start..positions.end.min(start + len);
            start = block.end;
            self.score(simd, task, block.clone());
            for head in 0..self.heads.len() {
                self.weigh(simd, head, block.len());
            }
            self.accumulate(simd, task, block);
        }
    }

    #[inline(always)]
    fn score<S: Simd>(&mut self, simd: S, task: &Attention<'_>, block: Range<usize>) {
        let (view, kv_head, dims) = (&task.keys, self.kv_head, task.shape.head_dim);
        let whole = dims.is_multiple_of(S::LANES);
        let (rows, block) = match view.cells {
            CacheCells::F32(cells) if whole => (HeadRows::new(cells, view, kv_head), block),
            CacheCells::F16(cells) if whole => {
                return self.score_rows(simd, HeadRows::new(cells, view, kv_head), block, dims);
            }
            CacheCells::Q8_0(cells) if whole => {
                let rows = HeadRows::new(cells, view, kv_head);
                if task.shape.group > 1 {
                    return self.score_rows(simd, rows.shared(), block, dims);
                }
                let (queries, padded) = (self.queries.as_ptr(), padded(&task.shape));
                Dots { queries, padded, rows, block, dims }.all::<S, 1, 8>(simd, self.weights);
                return;
            }
            _ => {
                unpack(simd, (view, kv_head), block.clone(), dims, self.unpacked);
                (HeadRows::in_scratch(self.unpacked, padded(&task.shape)), 0..block.len())
            }
        };
        self.score_rows(simd, rows, block, dims.next_multiple_of(S::LANES));
    }

    /// In tiles of eight dot products: the more heads, the fewer positions.
    #[inline(always)]
    fn score_rows<S: Simd, C: Cell>(&mut self, simd: S, rows: HeadRows<C>, block: Range<usize>, dims: usize) {
        let padded = self.queries.len() / self.heads.len();
        let mut head = 0;
        while head < self.heads.len() {
            let queries = self.queries[head * padded..].as_ptr();
            let weights = &mut self.weights[head * BLOCK..];
            let tile = Dots { queries, padded, rows, block: block.clone(), dims };
            head += match self.heads.len() - head {
                4.. => tile.all::<S, 4, 2>(simd, weights),
                2.. => tile.all::<S, 2, 4>(simd, weights),
                _ => tile.all::<S, 1, 8>(simd, weights),
            };
        }
    }

    /// From the scores of a block to weights relative to the largest score so far.
    #[inline(always)]
    fn weigh<S: Simd>(&mut self, simd: S, head: usize, len: usize) {
        let row = &mut self.weights[head * BLOCK..][..len.next_multiple_of(S::LANES)];
        row[len..].fill(f32::NEG_INFINITY);
        let mut max = simd.splat(f32::NEG_INFINITY);
        for scores in row.chunks_exact(S::LANES) {
            max = simd.max(simd.load(scores), max);
        }
        let (before, max) = (self.max[head], simd.reduce_max(max));
        let max = if max > before { max } else { before };
        let zero = simd.splat(origin(max));
        let mut sum = simd.splat(0.0);
        for scores in row.chunks_exact_mut(S::LANES) {
            let weights = exp_below_overflow(simd, simd.sub(simd.load(scores), zero));
            sum = simd.add(sum, weights);
            simd.store(weights, scores);
        }
        self.fading[head] = exp_one(simd, before - origin(max));
        self.sum[head] = self.sum[head] * self.fading[head] + simd.reduce_add(sum);
        self.max[head] = max;
    }

    #[inline(always)]
    fn accumulate<S: Simd>(&mut self, simd: S, task: &Attention<'_>, block: Range<usize>) {
        let (view, kv_head, dims) = (&task.values, self.kv_head, task.shape.head_dim);
        let whole = dims.is_multiple_of(S::LANES);
        let (rows, block) = match view.cells {
            CacheCells::F32(cells) if whole => (HeadRows::new(cells, view, kv_head), block),
            CacheCells::F16(cells) if whole => {
                return self.accumulate_rows(simd, HeadRows::new(cells, view, kv_head), block, dims);
            }
            CacheCells::Q8_0(cells) if whole => {
                let rows = HeadRows::new(cells, view, kv_head);
                if task.shape.group > 1 {
                    return self.accumulate_rows(simd, rows.shared(), block, dims);
                }
                let (weights, padded) = (self.weights.as_ptr(), padded(&task.shape));
                Sums { weights, fading: self.fading, rows, block, padded }.all::<S, 1>(simd, self.values, dims);
                return;
            }
            _ => {
                unpack(simd, (view, kv_head), block.clone(), dims, self.unpacked);
                (HeadRows::in_scratch(self.unpacked, padded(&task.shape)), 0..block.len())
            }
        };
        self.accumulate_rows(simd, rows, block, dims.next_multiple_of(S::LANES));
    }

    /// In tiles of eight vectors of sums: the more heads, the fewer vectors.
    #[inline(always)]
    fn accumulate_rows<S: Simd, C: Cell>(&mut self, simd: S, rows: HeadRows<C>, block: Range<usize>, dims: usize) {
        let padded = self.values.len() / self.heads.len();
        let mut head = 0;
        while head < self.heads.len() {
            let weights = self.weights[head * BLOCK..].as_ptr();
            let tile = Sums { weights, fading: &self.fading[head..], rows, block: block.clone(), padded };
            let values = &mut self.values[head * padded..];
            head += match self.heads.len() - head {
                4.. => tile.all::<S, 4>(simd, values, dims),
                2.. => tile.all::<S, 2>(simd, values, dims),
                _ => tile.all::<S, 1>(simd, values, dims),
            };
        }
    }
}

/// Dot products of some heads' queries with the keys of a block.
struct Dots<C> {
    queries: *const f32,
    padded: usize,
    rows: HeadRows<C>,
    block: Range<usize>,
    dims: usize,
}

impl<C: Cell> Dots<C> {
    /// `HEADS` heads, `WIDE` positions at a time; gives back how many heads that were. Where fewer positions are left,
    /// the last one is taken several times: what is written behind the block is not used.
    #[inline(always)]
    fn all<S: Simd, const HEADS: usize, const WIDE: usize>(&self, simd: S, weights: &mut [f32]) -> usize {
        for first in (0..self.block.len()).step_by(WIDE) {
            let rows = std::array::from_fn(|p| self.rows.row((self.block.start + first + p).min(self.block.end - 1)));
            for (head, scores) in self.tile::<S, HEADS, WIDE>(simd, rows).into_iter().enumerate() {
                weights[head * BLOCK + first..][..WIDE].copy_from_slice(&scores);
            }
        }
        HEADS
    }

    #[inline(always)]
    fn tile<S: Simd, const HEADS: usize, const WIDE: usize>(
        &self,
        simd: S,
        rows: [*const C; WIDE],
    ) -> [[f32; WIDE]; HEADS] {
        let mut sums = [[simd.splat(0.0); HEADS]; WIDE];
        let mut dim = 0;
        // SAFETY: the door made sure that the cache has these rows; they and the queries have `dims` values, whole
        // vectors.
        unsafe {
            while dim + 4 * S::LANES <= self.dims {
                self.step::<S, HEADS, WIDE, 4>(simd, &rows, dim, &mut sums);
                dim += 4 * S::LANES;
            }
            while dim < self.dims {
                self.step::<S, HEADS, WIDE, 1>(simd, &rows, dim, &mut sums);
                dim += S::LANES;
            }
        }
        let mut scores = [[0.0; WIDE]; HEADS];
        for (head, scores) in scores.iter_mut().enumerate() {
            for (first, scores) in scores.chunks_mut(4).enumerate() {
                let four = std::array::from_fn(|p| sums[(4 * first + p).min(WIDE - 1)][head]);
                scores.copy_from_slice(&simd.reduce_add_four(four)[..scores.len()]);
            }
        }
        scores
    }

    /// # Safety
    /// `N` vectors from `dim` on lie within the rows.
    #[inline(always)]
    unsafe fn step<S: Simd, const HEADS: usize, const WIDE: usize, const N: usize>(
        &self,
        simd: S,
        rows: &[*const C; WIDE],
        dim: usize,
        sums: &mut [[S::F; HEADS]; WIDE],
    ) {
        for (row, sums) in rows.iter().copied().zip(sums) {
            if HEADS == 1 {
                // SAFETY: as the caller promises; the queries have as many values as the rows.
                sums[0] = unsafe { C::add_products::<S, N>(simd, row, dim, self.queries, sums[0]) };
                continue;
            }
            // SAFETY: as the caller promises.
            let keys: [S::F; N] = unsafe { C::load(simd, row, dim) };
            for (j, key) in keys.into_iter().enumerate() {
                for (head, sum) in sums.iter_mut().enumerate() {
                    // SAFETY: the queries have as many values as the rows.
                    let query = unsafe { simd.load_ptr(self.queries.add(head * self.padded + dim + j * S::LANES)) };
                    *sum = simd.fma(query, key, *sum);
                }
            }
        }
    }
}

/// Weighted sums of the values of a block for some heads.
struct Sums<'a, C> {
    weights: *const f32,
    fading: &'a [f32],
    rows: HeadRows<C>,
    block: Range<usize>,
    padded: usize,
}

impl<C: Cell> Sums<'_, C> {
    /// All values of `HEADS` heads; gives back how many heads that were.
    #[inline(always)]
    fn all<S: Simd, const HEADS: usize>(&self, simd: S, values: &mut [f32], dims: usize) -> usize {
        let values = &mut values[..HEADS * self.padded];
        let mut dim = 0;
        if HEADS == 1 {
            self.run::<S, HEADS, 8>(simd, values, &mut dim, dims);
        }
        if HEADS <= 2 {
            self.run::<S, HEADS, 4>(simd, values, &mut dim, dims);
        }
        if HEADS == 4 {
            self.run::<S, HEADS, 2>(simd, values, &mut dim, dims);
        }
        self.run::<S, HEADS, 1>(simd, values, &mut dim, dims);
        HEADS
    }

    /// Passes of `N` vectors while there are so many.
    #[inline(always)]
    fn run<S: Simd, const HEADS: usize, const N: usize>(
        &self,
        simd: S,
        values: &mut [f32],
        dim: &mut usize,
        dims: usize,
    ) {
        while *dim + N * S::LANES <= dims {
            let mut sums = [[simd.splat(0.0); N]; HEADS];
            for (head, sums) in sums.iter_mut().enumerate() {
                let fading = simd.splat(self.fading[head]);
                for (j, sum) in sums.iter_mut().enumerate() {
                    *sum = simd.mul(simd.load(&values[head * self.padded + *dim + j * S::LANES..]), fading);
                }
            }
            for (p, position) in self.block.clone().enumerate() {
                let row = self.rows.row(position);
                if HEADS == 1 {
                    // SAFETY: the door made sure that the cache has these rows, and `dim` goes by whole vectors within
                    // them.
                    unsafe { C::add_weighted(simd, row, *dim, self.weight(simd, 0, p), &mut sums[0]) }
                    continue;
                }
                // SAFETY: as above.
                let row: [S::F; N] = unsafe { C::load(simd, row, *dim) };
                for (head, sums) in sums.iter_mut().enumerate() {
                    let weight = self.weight(simd, head, p);
                    for (sum, value) in sums.iter_mut().zip(row) {
                        *sum = simd.fma(weight, value, *sum);
                    }
                }
            }
            for (head, sums) in sums.iter().enumerate() {
                for (j, sum) in sums.iter().enumerate() {
                    simd.store(*sum, &mut values[head * self.padded + *dim + j * S::LANES..]);
                }
            }
            *dim += N * S::LANES;
        }
    }

    #[inline(always)]
    fn weight<S: Simd>(&self, simd: S, head: usize, p: usize) -> S::F {
        // SAFETY: there is a row of weights for each head, as long as the block.
        simd.splat(unsafe { *self.weights.add(head * BLOCK + p) })
    }
}

/// See [`Kernels::attention_decode`](crate::Kernels::attention_decode) and
/// [`Kernels::attention_part`](crate::Kernels::attention_part).
#[inline(always)]
pub(crate) fn attention_few<S: Simd>(simd: S, task: &Attention<'_>, mut out: FewOut<'_>, scratch: &mut [f32]) {
    for query in 0..task.queries.rows.rows() {
        let visible = task.shape.visible(task.queries.first_position + query);
        let (seen, part_len) = match &out {
            FewOut::Whole(_) => (visible, ATTENTION_PART),
            FewOut::Part(positions, _) => {
                (visible.start.max(positions.start)..visible.end.min(positions.end), usize::MAX)
            }
        };
        let mut first = 0;
        while first < task.heads() {
            let mut group = Group::new(task, query, first, scratch);
            group.attend_all(simd, task, seen.clone(), part_len);
            first = group.heads.end;
            match &mut out {
                FewOut::Whole(out) => group.finish(task.shape.head_dim, query, out),
                FewOut::Part(_, part) => group.write_part(task, query, part),
            }
        }
    }
}
