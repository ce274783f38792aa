//! Linear layers: rows of activations times weights that are packed for it, several layers in one region of a pool.
//!
//! What a decoder computes from one input (queries, keys and values; gate and up) is divided among the threads together: one
//! region instead of three, and one end to wait for.

use crate::gemm::job::{Job, Right};
use crate::gemm::{Matrix, PANEL, PackedMatrix};
use crate::quant::{Activations, GROUP, Outputs, PackedWeights};
use crate::{Kernels, Pool};

/// What one thread does per nanosecond at best; for deciding whether other threads are worth waking.
const FLOPS_PER_NS: f64 = 100.0;
const PRODUCTS_PER_NS: f64 = 100.0;
const BYTES_PER_NS: f64 = 45.0;

/// Weights with an output per row, packed.
#[derive(Debug, Clone, Copy)]
pub enum LinearWeights<'a> {
    /// Times activations in bytes.
    Quantised(&'a PackedWeights),
    /// Times activations in f32.
    Floats(&'a PackedMatrix),
}

impl LinearWeights<'_> {
    /// How many outputs there are.
    pub fn outputs(self) -> usize {
        match self {
            LinearWeights::Quantised(weights) => weights.rows(),
            LinearWeights::Floats(weights) => weights.cols(),
        }
    }

    /// How many inputs.
    pub fn inputs(self) -> usize {
        match self {
            LinearWeights::Quantised(weights) => weights.columns(),
            LinearWeights::Floats(weights) => weights.rows(),
        }
    }

    /// The memory they take.
    pub fn bytes(self) -> usize {
        match self {
            LinearWeights::Quantised(weights) => weights.bytes(),
            LinearWeights::Floats(weights) => weights.bytes(),
        }
    }

    /// Outputs that are computed together, and never by two threads.
    fn unit(self) -> usize {
        match self {
            LinearWeights::Quantised(_) => GROUP,
            LinearWeights::Floats(_) => PANEL,
        }
    }

    /// What one thread takes for so many rows, in nanoseconds, at best.
    fn nanoseconds(self, rows: usize) -> f64 {
        let products = self.outputs() as f64 * self.inputs() as f64 * rows as f64;
        let arithmetic = match self {
            LinearWeights::Quantised(_) => products / PRODUCTS_PER_NS,
            LinearWeights::Floats(_) => 2.0 * products / FLOPS_PER_NS,
        };
        arithmetic.max(self.bytes() as f64 / BYTES_PER_NS)
    }
}

/// The input of linear layers, in the forms that their weights need.
#[derive(Debug, Clone, Copy)]
pub struct LinearInput<'a> {
    /// A row per token.
    pub rows: Matrix<'a>,
    /// The same rows in bytes; needed where weights are quantised.
    pub bytes: Option<&'a Activations>,
}

/// One linear layer: out = input · weightsᵀ + bias.
#[derive(Debug)]
pub struct Linear<'a> {
    /// An output per row.
    pub weights: LinearWeights<'a>,
    /// Added to each row of the result.
    pub bias: Option<&'a [f32]>,
    /// A row per row of the input, a column per output.
    pub out: Outputs<'a>,
}

impl Linear<'_> {
    #[track_caller]
    fn check(&self, input: &LinearInput<'_>) {
        let (inputs, outputs) = (self.weights.inputs(), self.weights.outputs());
        let (rows, columns) = (input.rows.rows(), input.rows.cols());
        assert!(columns == inputs, "{columns} values in a row for {inputs} inputs");
        assert!(self.out.columns() == outputs, "{} columns for {outputs} outputs", self.out.columns());
        assert!(rows <= self.out.rows(), "{rows} rows do not fit into {}", self.out.rows());
        assert!(self.bias.is_none_or(|bias| bias.len() == outputs), "a bias for each of {outputs} outputs");
        if matches!(self.weights, LinearWeights::Quantised(_)) {
            let bytes = input.bytes.expect("activations in bytes, for weights that are quantised");
            assert!((bytes.rows(), bytes.columns()) == (rows, columns), "the same activations in both forms");
        }
    }
}

impl Kernels {
    /// Computes layers that have the same input, on the threads of a pool where there is enough to do. The bits do not
    /// depend on the threads, nor on which layers are computed together.
    #[track_caller]
    pub fn linear_on(self, pool: &Pool, input: &LinearInput<'_>, layers: &[Linear<'_>]) {
        layers.iter().for_each(|layer| layer.check(input));
        let rows = input.rows.rows();
        if rows == 0 {
            return;
        }
        let parts = pool.parts(layers.iter().map(|layer| layer.weights.nanoseconds(rows)).sum());
        pool.run(parts, |part| {
            for layer in layers {
                // SAFETY: `layers` are borrowed until all parts have run, each stands for a unique borrow of its output, and parts
                // have no column in common.
                unsafe { self.linear_part(input, layer, [part, parts]) };
            }
        });
    }

    /// # Safety
    /// No other part with the same columns runs at the same time, and `layer.out` is not used otherwise.
    unsafe fn linear_part(self, input: &LinearInput<'_>, layer: &Linear<'_>, [part, parts]: [usize; 2]) {
        let (outputs, unit) = (layer.weights.outputs(), layer.weights.unit());
        let units = outputs.div_ceil(unit);
        let (first, end) = (units * part / parts, units * (part + 1) / parts);
        let columns = (first * unit).min(outputs)..(end * unit).min(outputs);
        if columns.is_empty() {
            return;
        }
        let bias = layer.bias.map(|bias| &bias[columns.clone()]);
        // SAFETY: as the caller promises.
        let mut out = unsafe { layer.out.part(columns.clone()) };
        match layer.weights {
            LinearWeights::Quantised(weights) => {
                let activations = input.bytes.expect("checked at the door");
                if activations.rows() == 1 {
                    self.matvec_packed(weights.part(first..end), activations.row(0), out.row_mut(0));
                } else {
                    self.matmul_packed(weights.part(first..end), activations, &mut out);
                }
                if let Some(bias) = bias {
                    (0..activations.rows()).for_each(|row| self.add_assign(out.row_mut(row), bias));
                }
            }
            LinearWeights::Floats(weights) => self.gemm_job(&Job {
                a: input.rows,
                b: Right::Packed(weights),
                first_col: columns.start,
                cols: columns.len(),
                bias,
                accumulate: false,
                c: out.start(),
                c_row: out.stride(),
            }),
        }
    }
}
