//! Partial results of one query and head over neighbouring positions become one.

use super::{exp_one, origin};
use crate::attention::AttentionOut;
use crate::simd::Simd;

/// The largest score, the sum of the weights relative to it, and the weighted values.
pub(super) struct Running<'a> {
    pub max: f32,
    pub sum: f32,
    pub values: &'a mut [f32],
}

impl<'a> Running<'a> {
    /// Nothing seen so far.
    #[inline(always)]
    pub(super) fn empty(values: &'a mut [f32]) -> Self {
        values.fill(0.0);
        Self { max: f32::NEG_INFINITY, sum: 0.0, values }
    }

    /// Takes up the part that comes next.
    #[inline(always)]
    pub(super) fn merge<S: Simd>(&mut self, simd: S, (max, sum): (f32, f32), values: &[f32]) {
        let larger = if max > self.max { max } else { self.max };
        let before = exp_one(simd, self.max - origin(larger));
        let now = exp_one(simd, max - origin(larger));
        self.max = larger;
        self.sum = sum.mul_add(now, self.sum * before);
        let (before, now) = (simd.splat(before), simd.splat(now));
        let (mut mine, mut part) = (self.values.chunks_exact_mut(S::LANES), values.chunks_exact(S::LANES));
        for (mine, part) in (&mut mine).zip(&mut part) {
            simd.store(simd.fma(simd.load(part), now, simd.mul(simd.load(mine), before)), mine);
        }
        let mine = mine.into_remainder();
        simd.store_part(simd.fma(simd.load_part(part.remainder()), now, simd.mul(simd.load_part(mine), before)), mine);
    }

    /// Divides by the sum and gives the logarithm of the sum of exponentials.
    #[inline(always)]
    pub(super) fn finish(self) -> f32 {
        divide(self.values, self.sum);
        self.max + self.sum.ln()
    }
}

/// Zeros where nothing was seen.
#[inline(always)]
pub(super) fn divide(values: &mut [f32], sum: f32) {
    let inverse = if sum == 0.0 { 0.0 } else { 1.0 / sum };
    for value in values {
        *value *= inverse;
    }
}

/// See [`Kernels::attention_merge`](crate::Kernels::attention_merge).
#[inline(always)]
pub(crate) fn attention_merge<S: Simd>(simd: S, parts: &[f32], head_dim: usize, mut out: AttentionOut<'_>) {
    let heads = out.rows.width() / head_dim;
    let part_len = out.rows.rows() * heads * (2 + head_dim);
    for query in 0..out.rows.rows() {
        for head in 0..heads {
            let mut running = Running::empty(&mut out.rows.row(query)[head * head_dim..][..head_dim]);
            for part in parts.chunks_exact(part_len) {
                let (state, values) = part[(query * heads + head) * (2 + head_dim)..][..2 + head_dim].split_at(2);
                running.merge(simd, (state[0], state[1]), values);
            }
            let log = running.finish();
            if let Some(logs) = &mut out.log_sum_exp {
                logs.row(query)[head] = log;
            }
        }
    }
}
