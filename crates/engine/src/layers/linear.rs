//! Matrices that have the same input.

use arrayvec::ArrayVec;
use kernels::quant::{Activations, Outputs};
use kernels::{Linear, LinearInput};

use crate::Compute;
use crate::model::LinearLayer;

/// What matrices are multiplied with.
pub(crate) struct Input<'a> {
    pub rows: &'a [f32],
    pub width: usize,
    /// Where the rows go in bytes, if a matrix needs them so.
    pub bytes: Option<&'a mut Activations>,
}

/// A matrix, and where its results go.
pub(crate) struct Projection<'a> {
    pub layer: &'a LinearLayer,
    pub out: Outputs<'a>,
}

/// As many matrices as have the same input.
pub(crate) type Projections<'a> = ArrayVec<Projection<'a>, 3>;

/// Multiplies the input with all of them, in one parallel region.
pub(crate) fn project(compute: &Compute, input: Input<'_>, projections: Projections<'_>) {
    let Compute { kernels, pool } = compute;
    let quantised = projections.iter().any(|projection| projection.layer.is_quantised());
    let bytes = input.bytes.filter(|_| quantised).map(|bytes| {
        kernels.quantise_activations_on(pool, input.rows, bytes);
        &*bytes
    });
    let mut layers: ArrayVec<_, 3> = projections.into_iter().map(linear).collect();
    kernels.linear_on(pool, &LinearInput { values: input.rows, width: input.width, bytes }, &mut layers);
}

fn linear(projection: Projection<'_>) -> Linear<'_> {
    let Projection { layer, out } = projection;
    Linear { weights: layer.weights(), bias: layer.bias.as_deref(), out }
}

/// The floating-point operations of a matrix for so many rows.
#[inline]
pub(crate) fn flops(layer: &LinearLayer, rows: usize) -> usize {
    layer.work.flops * rows
}

/// The bytes that it reads and writes.
#[inline]
pub(crate) fn bytes(layer: &LinearLayer, rows: usize) -> usize {
    layer.work.weight_bytes + layer.work.row_bytes * rows
}
