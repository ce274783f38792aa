//! The first half of a layer: queries over the cache, added to the residual stream.

use arrayvec::ArrayVec;
use kernels::quant::Outputs;
use kernels::{Attention, AttentionJob, Queries, RopeRows, Rows, RowsMut};

use super::linear::{self, Input, Projection, Projections, project};
use super::{Layer, Pass, by_rows, norm};
use crate::kv_cache::{KvCache, NewRows};
use crate::model::{Buffers, attention_shape};
use crate::steps;

/// Sequences whose attention is computed in one parallel region.
const TOGETHER: usize = 16;

/// Adds the attention of a layer to the residual stream.
pub(crate) fn forward(pass: &Pass<'_>, layer: Layer<'_>, buffers: &mut Buffers<'_>, cache: &mut KvCache) {
    normalise(pass, layer, buffers);
    qkv(pass, layer, buffers);
    qk_norm(pass, layer, buffers);
    rope(pass, buffers);
    store(pass, layer, buffers, cache);
    attend(pass, layer, buffers, cache);
    out(pass, layer, buffers);
}

fn normalise(pass: &Pass<'_>, layer: Layer<'_>, buffers: &mut Buffers<'_>) {
    let norm = &layer.weights.attention_norm;
    let values = buffers.stream.len();
    hotloop::scope!(steps::ATTENTION_NORM, flops = norm::flops(norm, values), bytes = 8 * values, tokens = pass.rows);
    norm::forward(pass.compute, norm, pass.model.config.norm_eps, buffers.stream, buffers.normed);
}

fn qkv(pass: &Pass<'_>, layer: Layer<'_>, buffers: &mut Buffers<'_>) {
    let (config, matrices) = (&pass.model.config, &layer.weights.qkv);
    hotloop::scope!(
        steps::QKV,
        flops = matrices.iter().map(|matrix| linear::flops(matrix, pass.rows)).sum::<usize>(),
        bytes = matrices.iter().map(|matrix| linear::bytes(matrix, pass.rows)).sum::<usize>(),
        tokens = pass.rows
    );
    let stride = config.queries() + 2 * config.keys();
    let mut rest = Outputs::new(buffers.qkv, stride, stride);
    let mut projections = Projections::new();
    for layer in matrices {
        let (out, after) = rest.split_at(layer.weights().outputs());
        projections.push(Projection { layer, out });
        rest = after;
    }
    let input = Input { rows: buffers.normed, width: config.width, bytes: buffers.quantised.width.as_mut() };
    project(pass.compute, input, projections);
}

/// The norm of each head of queries and keys, where the architecture has one.
fn qk_norm(pass: &Pass<'_>, layer: Layer<'_>, buffers: &mut Buffers<'_>) {
    let (Some([of_queries, of_keys]), config) = (&layer.weights.qk_norm, &pass.model.config) else { return };
    let (queries, keys) = (config.queries(), config.keys());
    let values = pass.rows * (queries + keys);
    // Read and written, and once more from the memory of what attention will give.
    hotloop::scope!(steps::QK_NORM, flops = norm::flops(of_queries, values), bytes = 16 * values, tokens = pass.rows);
    let stride = queries + 2 * keys;
    for (norm, offset, width) in [(of_queries, 0, queries), (of_keys, queries, keys)] {
        let qkv = &*buffers.qkv;
        by_rows(pass.pool(), buffers.attended, queries, |rows, out| {
            for (row, out) in rows.zip(out.chunks_exact_mut(queries)) {
                let heads = &qkv[row * stride + offset..][..width];
                norm::rows(pass.compute, norm, config.norm_eps, heads, &mut out[..width]);
            }
        });
        let normed = &*buffers.attended;
        by_rows(pass.pool(), buffers.qkv, stride, |rows, qkv| {
            for (row, qkv) in rows.zip(qkv.chunks_exact_mut(stride)) {
                qkv[offset..offset + width].copy_from_slice(&normed[row * queries..][..width]);
            }
        });
    }
}

/// Turns queries and keys, which lie side by side.
fn rope(pass: &Pass<'_>, buffers: &mut Buffers<'_>) {
    let (Some(table), config) = (pass.rope, &pass.model.config) else { return };
    let (stride, heads) = (config.queries() + 2 * config.keys(), config.heads + config.kv_heads);
    let turned = pass.rows * heads * table.dims();
    hotloop::scope!(steps::ROPE, flops = 3 * turned, bytes = 8 * turned, tokens = pass.rows);
    for (segment, first_row, first_position) in pass.segments() {
        let rows = &mut buffers.qkv[first_row * stride..(first_row + segment.tokens.len()) * stride];
        by_rows(pass.pool(), rows, stride, |part, rows| {
            let first_position = first_position + part.start;
            let shape = RopeRows { first_position, rows: part.len(), stride, heads, head_dim: config.head_dim };
            pass.compute.kernels.rope(rows, shape, table);
        });
    }
}

fn store(pass: &Pass<'_>, layer: Layer<'_>, buffers: &Buffers<'_>, cache: &mut KvCache) {
    let config = &pass.model.config;
    let (queries, keys) = (config.queries(), config.keys());
    let stride = queries + 2 * keys;
    // What is read as f32, and what is written.
    let written = cache.shape().bytes_per_position() / config.layers;
    hotloop::scope!(steps::CACHE, bytes = pass.rows * (8 * keys + written), tokens = pass.rows);
    for (segment, first_row, first_position) in pass.segments() {
        let of = |offset: usize| NewRows {
            rows: &buffers.qkv[first_row * stride + offset..],
            stride,
            count: segment.tokens.len(),
            layer: layer.index,
            sequence: segment.sequence,
            first_position,
        };
        cache.store_keys(pass.compute, &of(queries));
        cache.store_values(pass.compute, &of(queries + keys));
    }
}

fn attend(pass: &Pass<'_>, layer: Layer<'_>, buffers: &mut Buffers<'_>, cache: &KvCache) {
    let (config, shape) = (&pass.model.config, attention_shape(&pass.model.config));
    let (width, stride) = (config.queries(), config.queries() + 2 * config.keys());
    hotloop::scope!(
        steps::ATTENTION,
        flops = 4 * width * pass.span.pairs,
        bytes = pass.span.positions * cache.shape().bytes_per_position() / config.layers + 8 * width * pass.rows,
        tokens = pass.rows
    );
    let mut rest = RowsMut::new(buffers.attended, pass.rows, width, width);
    let mut segments = pass.segments().peekable();
    while segments.peek().is_some() {
        let mut jobs = ArrayVec::<_, TOGETHER>::new();
        for (segment, first_row, first_position) in segments.by_ref().take(TOGETHER) {
            let count = segment.tokens.len();
            let (out, after) = rest.split_at_row(count);
            rest = after;
            let (keys, values) = cache.views(layer.index, segment.sequence);
            let rows = Rows::new(&buffers.qkv[first_row * stride..], count, width, stride);
            let queries = Queries { rows, first_head: 0, first_position };
            jobs.push(AttentionJob { task: Attention { shape, queries, keys, values }, out });
        }
        pass.compute.kernels.attention_on(pass.pool(), &mut jobs, buffers.attention);
    }
}

fn out(pass: &Pass<'_>, layer: Layer<'_>, buffers: &mut Buffers<'_>) {
    let (config, matrix) = (&pass.model.config, &layer.weights.attention_out);
    hotloop::scope!(
        steps::ATTENTION_OUT,
        flops = linear::flops(matrix, pass.rows) + buffers.stream.len(),
        bytes = linear::bytes(matrix, pass.rows) + 8 * buffers.stream.len(),
        tokens = pass.rows
    );
    let input = Input { rows: buffers.attended, width: config.queries(), bytes: buffers.quantised.queries.as_mut() };
    let out = Outputs::new(buffers.normed, config.width, config.width);
    project(pass.compute, input, Projections::from_iter([Projection { layer: matrix, out }]));
    add(pass, buffers);
}

/// Adds what was projected to the residual stream.
pub(crate) fn add(pass: &Pass<'_>, buffers: &mut Buffers<'_>) {
    let (width, added) = (pass.model.config.width, &*buffers.normed);
    by_rows(pass.pool(), buffers.stream, width, |rows, stream| {
        pass.compute.kernels.add_assign(stream, &added[rows.start * width..rows.end * width]);
    });
}
