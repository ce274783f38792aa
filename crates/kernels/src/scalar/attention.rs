//! Attention: the largest score first, then the weights relative to it.

use std::ops::Range;

use crate::attention::{Attention, AttentionGradients, AttentionOut, AttentionTape, CacheCells, CacheView, FewOut};
use crate::quant::{Block, BlockQ8_0, f16_to_f32};
use crate::rows::Rows;

/// See [`Kernels::attention_decode`](crate::Kernels::attention_decode) and
/// [`Kernels::attention_part`](crate::Kernels::attention_part).
pub(crate) fn attention_few(task: &Attention<'_>, out: FewOut<'_>, _scratch: &mut [f32]) {
    match out {
        FewOut::Whole(out) => attention_prefill(task, out, &mut []),
        FewOut::Part(positions, part) => {
            for (i, row) in part.chunks_exact_mut(2 + task.shape.head_dim).enumerate() {
                let (state, values) = row.split_at_mut(2);
                (state[0], state[1]) = attend(task, i / task.heads(), i % task.heads(), positions.clone(), values);
            }
        }
    }
}

/// See [`Kernels::attention_prefill`](crate::Kernels::attention_prefill).
pub(crate) fn attention_prefill(task: &Attention<'_>, mut out: AttentionOut<'_>, _scratch: &mut [f32]) {
    for query in 0..task.queries.rows.rows() {
        for head in 0..task.heads() {
            let head_out = &mut out.rows.row(query)[head * task.shape.head_dim..][..task.shape.head_dim];
            let (max, sum) = attend(task, query, head, 0..usize::MAX, head_out);
            divide(head_out, sum);
            if let Some(logs) = &mut out.log_sum_exp {
                logs.row(query)[head] = max + sum.ln();
            }
        }
    }
}

/// See [`Kernels::attention_merge`](crate::Kernels::attention_merge).
pub(crate) fn attention_merge(parts: &[f32], head_dim: usize, mut out: AttentionOut<'_>) {
    let heads = out.rows.width() / head_dim;
    let part_len = out.rows.rows() * heads * (2 + head_dim);
    for query in 0..out.rows.rows() {
        for head in 0..heads {
            let start = (query * heads + head) * (2 + head_dim);
            let rows = || parts.chunks_exact(part_len).map(|part| &part[start..][..2 + head_dim]);
            let max = rows().map(|row| row[0]).fold(f32::NEG_INFINITY, f32::max);
            let sum = rows().map(|row| row[1] * weight(row[0], max)).sum();
            for dim in 0..head_dim {
                let value: f32 = rows().map(|row| row[2 + dim] * weight(row[0], max)).sum();
                out.rows.row(query)[head * head_dim + dim] = value;
            }
            divide(&mut out.rows.row(query)[head * head_dim..][..head_dim], sum);
            if let Some(logs) = &mut out.log_sum_exp {
                logs.row(query)[head] = max + sum.ln();
            }
        }
    }
}

/// The weighted values of one query and head over some positions, with the largest score and the sum of the weights.
fn attend(task: &Attention<'_>, query: usize, head: usize, positions: Range<usize>, out: &mut [f32]) -> (f32, f32) {
    let shape = &task.shape;
    let kv_head = (task.queries.first_head + head) / shape.group;
    let visible = shape.visible(task.queries.first_position + query);
    let seen = visible.start.max(positions.start)..visible.end.min(positions.end);
    let q = &task.queries.rows.row(query)[head * shape.head_dim..][..shape.head_dim];
    let score = |position: usize| {
        let products = q.iter().enumerate().map(|(dim, q)| q * cell(&task.keys, position, kv_head, dim));
        shape.scale * products.sum::<f32>()
    };
    // `f32::max` passes over NaN; the weight of a NaN is NaN.
    let max = seen.clone().map(score).fold(f32::NEG_INFINITY, f32::max);
    out.fill(0.0);
    let mut sum = 0.0;
    for position in seen {
        let weight = weight(score(position), max);
        sum += weight;
        for (dim, out) in out.iter_mut().enumerate() {
            *out += weight * cell(&task.values, position, kv_head, dim);
        }
    }
    (max, sum)
}

/// e^(`score` − `max`), where nothing but −∞ was seen: 0.
fn weight(score: f32, max: f32) -> f32 {
    if score == f32::NEG_INFINITY { 0.0 } else { (score - max).exp() }
}

fn divide(values: &mut [f32], sum: f32) {
    for value in values {
        *value = if sum == 0.0 { 0.0 } else { *value / sum };
    }
}

fn cell(cache: &CacheView<'_>, position: usize, head: usize, dim: usize) -> f32 {
    let start = position * cache.position_stride + head * cache.head_stride;
    match cache.cells {
        CacheCells::F32(cells) => cells[start + dim],
        CacheCells::F16(cells) => f16_to_f32(cells[start + dim]),
        CacheCells::Q8_0(cells) => {
            let block = &cells[start + dim / BlockQ8_0::LEN];
            block.d() * f32::from(block.codes()[dim % BlockQ8_0::LEN])
        }
    }
}

/// See [`Kernels::attention_backward`](crate::Kernels::attention_backward).
///
/// With the weights p (divided by their sum): dvᵢ = Σ p dout; dp = dout · v; ds = p (dp − dout · out); dq = scale Σ ds
/// k; dk = scale Σ ds q.
pub(crate) fn attention_backward(tape: &AttentionTape<'_>, mut out: AttentionGradients<'_>, _scratch: &mut [f32]) {
    let (shape, head_dim) = (&tape.shape, tape.shape.head_dim);
    for position in 0..tape.keys.rows() {
        out.queries.row(position).fill(0.0);
        out.keys.row(position).fill(0.0);
        out.values.row(position).fill(0.0);
    }
    for head in 0..tape.kv_heads() * shape.group {
        let kv_head = head / shape.group;
        for query in 0..tape.keys.rows() {
            let (q, d_out) =
                (of_head(&tape.queries, query, head, head_dim), of_head(&tape.d_out, query, head, head_dim));
            let delta = dot(d_out, of_head(&tape.out, query, head, head_dim));
            for position in shape.visible(query) {
                let k = of_head(&tape.keys, position, kv_head, head_dim);
                let p = weight(shape.scale * dot(q, k), tape.log_sum_exp.row(query)[head]);
                let ds = shape.scale * p * (dot(d_out, of_head(&tape.values, position, kv_head, head_dim)) - delta);
                add_scaled(&mut out.values.row(position)[kv_head * head_dim..], p, d_out);
                add_scaled(&mut out.keys.row(position)[kv_head * head_dim..], ds, q);
                add_scaled(&mut out.queries.row(query)[head * head_dim..], ds, k);
            }
        }
    }
}

fn of_head<'a>(rows: &Rows<'a>, row: usize, head: usize, head_dim: usize) -> &'a [f32] {
    &rows.row(row)[head * head_dim..][..head_dim]
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn add_scaled(to: &mut [f32], factor: f32, values: &[f32]) {
    for (to, value) in to.iter_mut().zip(values) {
        *to += factor * value;
    }
}
