//! The first half of a layer: attention over the positions of each sequence, added to the residual stream.
//!
//! A unit of work is one or several heads of keys of one sequence with the heads of queries that
//! share them. Threads take units as they are free; no bit depends on who took which, nor on how
//! many heads it has.

use std::sync::{Mutex, PoisonError};

use kernels::{
    Attention, AttentionGradients, AttentionOut, AttentionShape, AttentionTape as KernelTape, CacheCells, CacheView,
    Queries, RopeRows, RopeTable, Rows, RowsMut, attention_backward_scratch, attention_prefill_scratch,
};

use super::dropout::{self, Site};
use super::linear::{self, Linear};
use super::norm::{self, Norm};
use super::{Pass, Sums};
use crate::layers::by_rows;
use crate::model::attention_shape;
use crate::train::arena::{AttentionTape, BackwardBuffers};
use crate::{Config, steps};

/// Where its numbers are among the parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SelfAttention {
    pub layer: usize,
    pub norm: Norm,
    /// Queries, keys and values, one behind the other.
    pub qkv: Linear,
    pub out: Linear,
}

/// What one thread does per nanosecond, for deciding whether others are worth waking.
const FLOPS_PER_NS: f64 = 40.0;

/// What a unit reads and writes in the backward pass takes no more bytes than this, unless a single
/// head does: L2, about. Heads lie side by side in each row, so that the more of them are in a
/// unit, the longer are the runs that come from memory. With all eight heads of 32 of 128 positions
/// attention was a fifth faster than head by head.
const NEAR: usize = 1 << 20;
/// Units of each thread, where there are several: fewer would leave threads waiting for the last one.
const UNITS_PER_THREAD: usize = 4;

/// f32 of scratch for one thread.
pub(crate) fn scratch_of_one(config: &Config, length: usize) -> usize {
    let shape = attention_shape(config);
    // Whole cache lines, so that threads do not share one.
    attention_prefill_scratch(&shape).max(attention_backward_scratch(&shape, length)).next_multiple_of(16)
}

impl SelfAttention {
    /// The residual stream behind attention, from that before it.
    pub fn forward(&self, pass: &Pass<'_>, tape: &mut AttentionTape<'_>, out: &mut [f32], scratch: &mut [f32]) {
        let (rows, values) = (pass.rows(), tape.input.len());
        {
            hotloop::scope!(steps::ATTENTION_NORM, flops = self.norm.flops(values), bytes = 8 * values, tokens = rows);
            self.norm.forward(pass, tape.input, tape.normed);
        }
        {
            hotloop::scope!(steps::QKV, flops = self.qkv.flops(rows), bytes = self.qkv.bytes(rows), tokens = rows);
            self.qkv.forward(pass, tape.normed, tape.qkv);
        }
        turn(pass, tape.qkv, |rows, shape, table| pass.kernels().rope(rows, shape, table));
        attend(pass, tape, scratch);
        hotloop::scope!(
            steps::ATTENTION_OUT,
            flops = self.out.flops(rows) + values,
            bytes = self.out.bytes(rows) + 8 * values,
            tokens = rows
        );
        self.out.forward(pass, tape.attended, out);
        dropout::apply(pass, Site::Attention(self.layer), out);
        super::add(pass, out, tape.input);
    }

    /// Adds the gradients of the parameters; the gradient of the stream behind attention becomes that before it.
    pub fn backward(&self, pass: &Pass<'_>, tape: &AttentionTape<'_>, way: &mut BackwardBuffers<'_>) {
        self.out_backward(pass, tape, way);
        attend_backward(pass, tape, way);
        let (rows, values) = (pass.rows(), tape.input.len());
        let wide = rows * self.qkv.outputs;
        turn(pass, &mut way.wide[..wide], |rows, shape, table| pass.kernels().rope_backward(rows, shape, table));
        {
            hotloop::scope!(
                steps::QKV,
                flops = self.qkv.backward_flops(rows),
                bytes = self.qkv.backward_bytes(rows),
                tokens = rows
            );
            let sums = Sums { gradients: way.gradients, partials: way.partials };
            self.qkv.backward(pass, linear::Tape { x: tape.normed, dy: &way.wide[..wide] }, way.normed, sums);
        }
        hotloop::scope!(
            steps::ATTENTION_NORM,
            flops = self.norm.backward_flops(values),
            bytes = 24 * values,
            tokens = rows
        );
        let sums = Sums { gradients: way.gradients, partials: way.partials };
        let (dx, stream) = (&mut way.wide[..values], &mut *way.stream);
        self.norm.backward(pass, norm::Tape { x: tape.input, dy: way.normed, dx, stream }, sums);
    }

    fn out_backward(&self, pass: &Pass<'_>, tape: &AttentionTape<'_>, way: &mut BackwardBuffers<'_>) {
        let rows = pass.rows();
        hotloop::scope!(
            steps::ATTENTION_OUT,
            flops = self.out.backward_flops(rows),
            bytes = self.out.backward_bytes(rows),
            tokens = rows
        );
        let dy = dropout::of_copy(pass, Site::Attention(self.layer), way.stream, way.normed);
        let dx = &mut way.narrow[..rows * self.out.inputs];
        let sums = Sums { gradients: way.gradients, partials: way.partials };
        self.out.backward(pass, linear::Tape { x: tape.attended, dy }, dx, sums);
    }
}

/// The width of a row of queries, keys and values, and how many of it are queries and keys.
fn widths(config: &Config) -> (usize, usize, usize) {
    let (queries, keys) = (config.queries(), config.keys());
    (queries + 2 * keys, queries, keys)
}

/// Turns queries and keys, which lie side by side, or their gradients, by their positions.
fn turn(pass: &Pass<'_>, qkv: &mut [f32], turn: impl Fn(&mut [f32], RopeRows, &RopeTable) + Sync) {
    let (Some(table), config) = (pass.rope, pass.config) else { return };
    let ((stride, ..), heads, length) = (widths(config), config.heads + config.kv_heads, pass.length);
    let turned = pass.rows() * heads * table.dims();
    hotloop::scope!(steps::ROPE, flops = 3 * turned, bytes = 8 * turned, tokens = pass.rows());
    by_rows(pass.pool(), qkv, stride, |range, mut rest| {
        let mut first = range.start;
        while first < range.end {
            let end = ((first / length + 1) * length).min(range.end);
            let (rows, after) = rest.split_at_mut((end - first) * stride);
            let shape = RopeRows {
                first_position: first % length,
                rows: end - first,
                stride,
                heads,
                head_dim: config.head_dim,
            };
            turn(rows, shape, table);
            (first, rest) = (end, after);
        }
    });
}

/// The heads of every sequence, `columns` values each: those of the first sequence, then those of the next.
struct Heads<'a> {
    /// Sequences that have not begun.
    rest: Option<RowsMut<'a>>,
    /// Heads of the one that has.
    begun: Option<RowsMut<'a>>,
    length: usize,
    columns: usize,
}

impl<'a> Heads<'a> {
    fn new(rows: RowsMut<'a>, length: usize, columns: usize) -> Self {
        Self { rest: Some(rows), begun: None, length, columns }
    }
}

impl<'a> Iterator for Heads<'a> {
    type Item = RowsMut<'a>;

    fn next(&mut self) -> Option<RowsMut<'a>> {
        if self.begun.as_ref().is_none_or(|heads| heads.width() == 0) {
            let (sequence, after) = self.rest.take().filter(|rows| rows.rows() > 0)?.split_at_row(self.length);
            (self.begun, self.rest) = (Some(sequence), Some(after));
        }
        let (head, after) = self.begun.take()?.split_at_column(self.columns);
        self.begun = Some(after);
        Some(head)
    }
}

/// How attention is divided.
#[derive(Clone, Copy)]
struct Division {
    /// Threads that work.
    threads: usize,
    /// Heads of keys of a unit; all units of a sequence have as many.
    heads: usize,
}

impl Division {
    /// For so many operations, and scratch for so many threads.
    fn new(pass: &Pass<'_>, flops: usize, scratch: &[f32]) -> Self {
        let one = scratch_of_one(pass.config, pass.length);
        let threads = pass.pool().parts(flops as f64 / FLOPS_PER_NS).min((scratch.len() / one).max(1));
        let (config, all) = (pass.config, pass.config.kv_heads);
        // Queries, keys, values, what they gave, and the gradients of all of them.
        let bytes = size_of::<f32>() * pass.length * config.head_dim * (4 * config.group() + 4);
        let near = NEAR / bytes.max(1);
        let even = pass.rows() / pass.length * all / (UNITS_PER_THREAD * threads);
        let most = if threads > 1 { near.min(even) } else { near };
        let heads = (1..=all).rev().find(|heads| all.is_multiple_of(*heads) && *heads <= most).unwrap_or(1);
        Self { threads, heads }
    }
}

/// What some heads of keys of one sequence are made of.
struct Unit<'a> {
    shape: AttentionShape,
    /// The number of the first head of keys, and how many there are.
    head: usize,
    heads: usize,
    /// Rows of the sequence: (position, queries, keys and values of all heads)
    qkv: Rows<'a>,
    /// Where the sequence begins.
    data: &'a [f32],
}

impl<'a> Unit<'a> {
    fn new(pass: &Pass<'_>, qkv: &'a [f32], (heads, number): (usize, usize)) -> Self {
        let ((stride, ..), length, head) = (widths(pass.config), pass.length, heads * number);
        let data = &qkv[head / pass.config.kv_heads * length * stride..];
        let qkv = Rows::new(data, length, stride, stride);
        Self { shape: attention_shape(pass.config), head: head % pass.config.kv_heads, heads, qkv, data }
    }

    /// The columns of the queries.
    fn queries(&self) -> std::ops::Range<usize> {
        let width = self.shape.group * self.shape.head_dim;
        self.head * width..(self.head + self.heads) * width
    }

    /// The columns of the keys or values, which begin at `first`.
    fn keys(&self, first: usize) -> std::ops::Range<usize> {
        let start = first + self.head * self.shape.head_dim;
        start..start + self.heads * self.shape.head_dim
    }

    fn cache(&self, first: usize, stride: usize) -> CacheView<'a> {
        let cells = CacheCells::F32(&self.data[first..]);
        CacheView { cells, position_stride: stride, head_stride: self.shape.head_dim }
    }
}

/// Runs `work` on every unit; each thread has its part of the scratch.
fn run_units<T: Send>(
    pass: &Pass<'_>,
    threads: usize,
    scratch: &mut [f32],
    units: impl Iterator<Item = T> + Send,
    work: impl Fn(usize, T, &mut [f32]) + Sync,
) {
    let one = scratch_of_one(pass.config, pass.length);
    let units = Mutex::new(units.enumerate());
    pass.pool().run_rows(threads, &mut scratch[..threads * one], one, |_, scratch| {
        loop {
            let next = units.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((number, unit)) = next else { break };
            work(number, unit, &mut scratch[..one]);
        }
    });
}

fn attend(pass: &Pass<'_>, tape: &mut AttentionTape<'_>, scratch: &mut [f32]) {
    let (config, (stride, width, keys), rows) = (pass.config, widths(pass.config), pass.rows());
    let flops = 4 * width * pass.pairs();
    hotloop::scope!(steps::ATTENTION, flops = flops, bytes = 4 * rows * (stride + width), tokens = rows);
    let (group, length, qkv) = (config.group(), pass.length, &*tape.qkv);
    let out = RowsMut::new(tape.attended, rows, width, width);
    let logs = RowsMut::new(tape.logs, rows, config.heads, config.heads);
    let Division { threads, heads } = Division::new(pass, flops, scratch);
    let units = Heads::new(out, length, heads * group * config.head_dim).zip(Heads::new(logs, length, heads * group));
    run_units(pass, threads, scratch, units, |number, (out, logs), scratch| {
        let unit = Unit::new(pass, qkv, (heads, number));
        let queries = unit.qkv.columns(unit.queries());
        let task = Attention {
            shape: unit.shape,
            queries: Queries { rows: queries, first_head: unit.head * group, first_position: 0 },
            keys: unit.cache(width, stride),
            values: unit.cache(width + keys, stride),
        };
        pass.kernels().attention_prefill(&task, AttentionOut { rows: out, log_sum_exp: Some(logs) }, scratch);
    });
}

fn attend_backward(pass: &Pass<'_>, tape: &AttentionTape<'_>, way: &mut BackwardBuffers<'_>) {
    let (config, (stride, width, keys), rows) = (pass.config, widths(pass.config), pass.rows());
    // Five products instead of two: scores again, and one for the gradient of each factor.
    let flops = 10 * width * pass.pairs();
    hotloop::scope!(steps::ATTENTION, flops = flops, bytes = 4 * rows * (2 * stride + 2 * width), tokens = rows);
    let (group, length, head_dim) = (config.group(), pass.length, config.head_dim);
    let (d_queries, rest) = RowsMut::new(&mut way.wide[..rows * stride], rows, stride, stride).split_at_column(width);
    let (d_keys, d_values) = rest.split_at_column(keys);
    let Division { threads, heads } = Division::new(pass, flops, way.scratch);
    let columns = heads * head_dim;
    let units = Heads::new(d_queries, length, group * columns);
    let units = units.zip(Heads::new(d_keys, length, columns).zip(Heads::new(d_values, length, columns)));
    let d_out = &way.narrow[..rows * width];
    run_units(pass, threads, way.scratch, units, |number, (d_queries, (d_keys, d_values)), scratch| {
        let unit = Unit::new(pass, tape.qkv, (heads, number));
        let first = heads * number / config.kv_heads * length;
        let of = |data| Rows::new(data, length, width, width).columns(unit.queries());
        let logs = Rows::new(&tape.logs[first * config.heads..], length, config.heads, config.heads);
        let tape = KernelTape {
            shape: unit.shape,
            queries: unit.qkv.columns(unit.queries()),
            keys: unit.qkv.columns(unit.keys(width)),
            values: unit.qkv.columns(unit.keys(width + keys)),
            out: of(&tape.attended[first * width..]),
            log_sum_exp: logs.columns(unit.head * group..(unit.head + unit.heads) * group),
            d_out: of(&d_out[first * width..]),
        };
        let out = AttentionGradients { queries: d_queries, keys: d_keys, values: d_values };
        pass.kernels().attention_backward(&tape, out, scratch);
    });
}
