//! Gradients against f64, and those against differences.

use kernels::{
    Attention, AttentionGradients, AttentionOut, AttentionShape, AttentionTape, CacheCells, CacheView, Kernels,
    Queries, Rows, RowsMut, attention_backward_scratch, attention_prefill_scratch,
};

use super::{CANARY, Noise};
use crate::effort::{rounds, sizes};

/// Gradients of inputs from −1 to 1 with cotangents from −1 to 1, relative to the largest magnitude of the exact
/// gradient, or to a tenth where that is less: then terms of that size cancel. Each is a sum of up to T · group
/// products whose factors carry a few dozen roundings.
const BOUND: f64 = 2e-5;

#[derive(Debug, Clone, Copy)]
struct Shape {
    positions: usize,
    head_dim: usize,
    group: usize,
    kv_heads: usize,
    window: Option<usize>,
}

impl Shape {
    fn heads(&self) -> usize {
        self.group * self.kv_heads
    }

    fn attention(&self) -> AttentionShape {
        let scale = 1.0 / (self.head_dim as f32).sqrt();
        AttentionShape { head_dim: self.head_dim, group: self.group, scale, window: self.window }
    }
}

/// Queries, keys, values: (position, head, head_dim).
#[derive(Clone)]
struct Tensors<T> {
    queries: Vec<T>,
    keys: Vec<T>,
    values: Vec<T>,
}

impl Tensors<f32> {
    fn wide(&self) -> Tensors<f64> {
        let wide = |values: &[f32]| values.iter().map(|value| f64::from(*value)).collect();
        Tensors { queries: wide(&self.queries), keys: wide(&self.keys), values: wide(&self.values) }
    }
}

/// The weights of one query and head.
fn weights(shape: &Shape, x: &Tensors<f64>, query: usize, head: usize) -> Vec<(usize, f64)> {
    let d = shape.head_dim;
    let start = shape.window.map_or(0, |window| (query + 1).saturating_sub(window));
    let q = &x.queries[(query * shape.heads() + head) * d..][..d];
    let score = |position: usize| {
        let k = &x.keys[(position * shape.kv_heads + head / shape.group) * d..][..d];
        q.iter().zip(k).map(|(q, k)| q * k).sum::<f64>() * f64::from(shape.attention().scale)
    };
    let scores: Vec<f64> = (start..=query).map(score).collect();
    let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = scores.iter().map(|score| (score - max).exp()).sum();
    (start..=query).zip(scores.iter().map(|score| (score - max).exp() / sum)).collect()
}

/// Σ d_out · out, whose gradient is wanted.
fn objective(shape: &Shape, x: &Tensors<f64>, d_out: &[f32]) -> f64 {
    let d = shape.head_dim;
    let mut total = 0.0;
    for query in 0..shape.positions {
        for head in 0..shape.heads() {
            let d_out = &d_out[(query * shape.heads() + head) * d..][..d];
            for (position, weight) in weights(shape, x, query, head) {
                let v = &x.values[(position * shape.kv_heads + head / shape.group) * d..][..d];
                total += weight * d_out.iter().zip(v).map(|(d_out, v)| f64::from(*d_out) * v).sum::<f64>();
            }
        }
    }
    total
}

/// The gradient in f64, by the textbook.
fn exact(shape: &Shape, x: &Tensors<f64>, d_out: &[f32]) -> Tensors<f64> {
    let (d, scale) = (shape.head_dim, f64::from(shape.attention().scale));
    let zeros = |like: &[f64]| vec![0.0; like.len()];
    let mut grad = Tensors { queries: zeros(&x.queries), keys: zeros(&x.keys), values: zeros(&x.values) };
    for query in 0..shape.positions {
        for head in 0..shape.heads() {
            let q_at = (query * shape.heads() + head) * d;
            let kv_at = |position: usize| (position * shape.kv_heads + head / shape.group) * d;
            let weights = weights(shape, x, query, head);
            let d_weight = |position: usize| -> f64 {
                (0..d).map(|i| f64::from(d_out[q_at + i]) * x.values[kv_at(position) + i]).sum()
            };
            let mean: f64 = weights.iter().map(|(position, weight)| weight * d_weight(*position)).sum();
            for (position, weight) in &weights {
                let d_score = weight * (d_weight(*position) - mean) * scale;
                for i in 0..d {
                    grad.values[kv_at(*position) + i] += weight * f64::from(d_out[q_at + i]);
                    grad.keys[kv_at(*position) + i] += d_score * x.queries[q_at + i];
                    grad.queries[q_at + i] += d_score * x.keys[kv_at(*position) + i];
                }
            }
        }
    }
    grad
}

fn inputs(shape: &Shape) -> (Tensors<f32>, Vec<f32>) {
    let mut noise = Noise(shape.positions as u64 * 7 + shape.head_dim as u64);
    let (q, kv) = (shape.heads() * shape.head_dim, shape.kv_heads * shape.head_dim);
    let mut units = |width: usize| noise.units(shape.positions * width);
    (Tensors { queries: units(q), keys: units(kv), values: units(kv) }, units(q))
}

/// Forward and backward, as a program for training would do it.
fn gradient(kernels: Kernels, shape: &Shape, x: &Tensors<f32>, d_out: &[f32]) -> Tensors<f32> {
    let (t, d) = (shape.positions, shape.head_dim);
    let (q_width, kv_width) = (shape.heads() * d, shape.kv_heads * d);
    let attention = shape.attention();
    let cache = |cells| CacheView { cells: CacheCells::F32(cells), position_stride: kv_width, head_stride: d };
    let rows = Rows::new(&x.queries, t, q_width, q_width);
    let task = Attention {
        shape: attention,
        queries: Queries { rows, first_head: 0, first_position: 0 },
        keys: cache(&x.keys),
        values: cache(&x.values),
    };
    let (mut out, mut logs) = (vec![0.0; t * q_width], vec![0.0; t * shape.heads()]);
    let to = AttentionOut {
        rows: RowsMut::new(&mut out, t, q_width, q_width),
        log_sum_exp: Some(RowsMut::new(&mut logs, t, shape.heads(), shape.heads())),
    };
    kernels.attention_prefill(&task, to, &mut vec![f32::NAN; attention_prefill_scratch(&attention)]);
    let tape = AttentionTape {
        shape: attention,
        queries: rows,
        keys: Rows::new(&x.keys, t, kv_width, kv_width),
        values: Rows::new(&x.values, t, kv_width, kv_width),
        out: Rows::new(&out, t, q_width, q_width),
        log_sum_exp: Rows::new(&logs, t, shape.heads(), shape.heads()),
        d_out: Rows::new(d_out, t, q_width, q_width),
    };
    let buffer = |width: usize| vec![CANARY; t * (width + 1)];
    let mut grad = Tensors { queries: buffer(q_width), keys: buffer(kv_width), values: buffer(kv_width) };
    let to = AttentionGradients {
        queries: RowsMut::new(&mut grad.queries, t, q_width, q_width + 1),
        keys: RowsMut::new(&mut grad.keys, t, kv_width, kv_width + 1),
        values: RowsMut::new(&mut grad.values, t, kv_width, kv_width + 1),
    };
    kernels.attention_backward(&tape, to, &mut vec![f32::NAN; attention_backward_scratch(&attention, t)]);
    for (grad, width) in [(&mut grad.queries, q_width), (&mut grad.keys, kv_width), (&mut grad.values, kv_width)] {
        assert!(grad.chunks_exact(width + 1).all(|row| row[width] == CANARY), "written beyond a row: {shape:?}");
        *grad = grad.chunks_exact(width + 1).flat_map(|row| &row[..width]).copied().collect();
    }
    grad
}

#[track_caller]
fn check(shape: Shape) {
    let (x, d_out) = inputs(&shape);
    let exact = exact(&shape, &x.wide(), &d_out);
    for kernels in Kernels::available() {
        let grad = gradient(kernels, &shape, &x, &d_out);
        for (name, exact, grad) in [
            ("queries", &exact.queries, &grad.queries),
            ("keys", &exact.keys, &grad.keys),
            ("values", &exact.values, &grad.values),
        ] {
            let largest = exact.iter().fold(0.1f64, |largest, value| largest.max(value.abs()));
            let worst = exact.iter().zip(grad).map(|(e, g)| (e - f64::from(*g)).abs()).fold(0.0, f64::max);
            assert!(!grad.iter().any(|value| value.is_nan()), "{name} of {} {shape:?}", kernels.isa());
            assert!(worst <= BOUND * largest, "{worst:e} of {largest}, {name} of {} {shape:?}", kernels.isa());
        }
    }
}

const PLAIN: Shape = Shape { positions: 20, head_dim: 16, group: 1, kv_heads: 1, window: None };

#[test]
fn every_length() {
    for positions in sizes(0..=rounds(70, 8)) {
        check(Shape { positions, ..PLAIN });
        check(Shape { positions, head_dim: 5, group: 3, kv_heads: 2, ..PLAIN });
    }
}

#[test]
#[cfg_attr(miri, ignore = "too long")]
fn every_head_dim() {
    for head_dim in 1..=66 {
        check(Shape { head_dim, positions: 35, group: 2, ..PLAIN });
    }
    for head_dim in [80, 96, 128] {
        check(Shape { head_dim, positions: 50, ..PLAIN });
    }
}

#[test]
#[cfg_attr(miri, ignore = "too long")]
fn windows() {
    for window in [0, 1, 5, 33, 48, 90] {
        check(Shape { positions: 120, window: Some(window), ..PLAIN });
    }
}

#[test]
#[cfg_attr(miri, ignore = "too long")]
fn longer() {
    check(Shape { positions: 300, head_dim: 32, group: 2, kv_heads: 2, ..PLAIN });
}

/// Of a central difference with this step the error is of the order of its square.
const STEP: f64 = 1e-4;

#[test]
#[cfg_attr(miri, ignore = "too long")]
fn the_textbook_agrees_with_differences() {
    let shape = Shape { positions: 6, head_dim: 4, group: 2, kv_heads: 2, window: Some(4) };
    let (x, d_out) = inputs(&shape);
    let x = x.wide();
    let exact = exact(&shape, &x, &d_out);
    type Pick = fn(&mut Tensors<f64>) -> &mut Vec<f64>;
    for of in [(|x| &mut x.queries) as Pick, |x| &mut x.keys, |x| &mut x.values] {
        for i in 0..of(&mut x.clone()).len() {
            let moved = |step: f64| {
                let mut x = x.clone();
                of(&mut x)[i] += step;
                objective(&shape, &x, &d_out)
            };
            let difference = (moved(STEP) - moved(-STEP)) / (2.0 * STEP);
            assert!((difference - of(&mut exact.clone())[i]).abs() < 1e-7, "{i}: {difference}");
        }
    }
}
