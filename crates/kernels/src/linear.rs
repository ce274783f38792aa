//! Linear layers: rows of activations times weights that are packed for it, several layers in one region of a pool.
//!
//! What a decoder computes from one input (queries, keys and values; gate and up) is divided among
//! the threads together: one region instead of three, and one end to wait for.

use std::cell::RefCell;
use std::ops::Range;

use crate::gemm::job::{Job, Right};
use crate::gemm::{Matrix, PANEL, PackedMatrix};
use crate::quant::{Activations, Format, GROUP, Outputs, PackedWeights};
use crate::{Kernels, Pool};

/// What one thread does per nanosecond at best; for deciding whether other threads are worth waking.
const FLOPS_PER_NS: f64 = 100.0;
const PRODUCTS_PER_NS: f64 = 100.0;
const BYTES_PER_NS: f64 = 90.0;

/// Rows of a file that stay in the cache while all activations meet them.
const ROWS_TOGETHER: usize = GROUP;
/// From so many activations on, rows of a file are packed in passing: a product of packed rows is so much faster.
const PACKED_FROM: usize = 4;
/// Weights that are made f32 at a time.
const UNPACKED: usize = 512;

thread_local! {
    /// A group for each format and width that a thread has packed in passing: few, since a model has few.
    static PACKED: RefCell<Vec<PackedWeights>> = const { RefCell::new(Vec::new()) };
}

/// Weights with an output per row.
#[derive(Debug, Clone, Copy)]
pub enum LinearWeights<'a> {
    /// As they lie in a file: nothing has to be packed before the first product, and every product is slower for it.
    Rows(WeightsInFile<'a>),
    /// Times activations in bytes.
    Quantised(&'a PackedWeights),
    /// Times activations in f32.
    Floats(&'a PackedMatrix),
}

/// Rows of weights, one behind the other, in the format of a file.
#[derive(Debug, Clone, Copy)]
pub struct WeightsInFile<'a> {
    format: Format,
    inputs: usize,
    row_bytes: usize,
    bytes: &'a [u8],
}

impl<'a> WeightsInFile<'a> {
    /// # Panics
    /// Where `inputs` are no whole blocks of the format, or `bytes` no whole rows.
    #[track_caller]
    pub fn new(format: Format, inputs: usize, bytes: &'a [u8]) -> Self {
        let row_bytes = format.row_bytes(inputs).expect("whole blocks");
        assert!(row_bytes > 0 && bytes.len().is_multiple_of(row_bytes), "{} bytes in rows of {row_bytes}", bytes.len());
        Self { format, inputs, row_bytes, bytes }
    }
}

impl LinearWeights<'_> {
    /// How many outputs there are.
    pub fn outputs(self) -> usize {
        match self {
            LinearWeights::Rows(weights) => weights.bytes.len() / weights.row_bytes,
            LinearWeights::Quantised(weights) => weights.rows(),
            LinearWeights::Floats(weights) => weights.cols(),
        }
    }

    /// How many inputs.
    pub fn inputs(self) -> usize {
        match self {
            LinearWeights::Rows(weights) => weights.inputs,
            LinearWeights::Quantised(weights) => weights.columns(),
            LinearWeights::Floats(weights) => weights.rows(),
        }
    }

    /// The memory they take.
    pub fn bytes(self) -> usize {
        match self {
            LinearWeights::Rows(weights) => weights.bytes.len(),
            LinearWeights::Quantised(weights) => weights.bytes(),
            LinearWeights::Floats(weights) => weights.bytes(),
        }
    }

    /// Whether they are multiplied with activations in bytes.
    pub fn take_bytes(self) -> bool {
        match self {
            LinearWeights::Rows(weights) => PackedWeights::supports(weights.format),
            LinearWeights::Quantised(_) => true,
            LinearWeights::Floats(_) => false,
        }
    }

    /// Outputs that are computed together, and never by two threads.
    fn unit(self) -> usize {
        match self {
            LinearWeights::Rows(_) => ROWS_TOGETHER,
            LinearWeights::Quantised(_) => GROUP,
            LinearWeights::Floats(_) => PANEL,
        }
    }

    /// What one thread takes for so many rows, in nanoseconds, at best.
    fn nanoseconds(self, rows: usize) -> f64 {
        let products = self.outputs() as f64 * self.inputs() as f64 * rows as f64;
        let per_ns = if self.take_bytes() { PRODUCTS_PER_NS } else { FLOPS_PER_NS / 2.0 };
        let arithmetic = products / per_ns;
        arithmetic.max(self.bytes() as f64 / BYTES_PER_NS)
    }
}

/// The input of linear layers, in the forms that their weights need.
#[derive(Debug, Clone, Copy)]
pub struct LinearInput<'a> {
    /// Rows, one behind the other.
    pub values: &'a [f32],
    /// The length of a row.
    pub width: usize,
    /// The same rows in bytes; needed where weights are quantised.
    pub bytes: Option<&'a Activations>,
}

impl<'a> LinearInput<'a> {
    fn rows(&self) -> usize {
        self.values.len().checked_div(self.width).unwrap_or(0)
    }

    fn row(&self, row: usize) -> &'a [f32] {
        &self.values[row * self.width..][..self.width]
    }
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
        let (rows, columns) = (input.rows(), input.width);
        assert!(rows * columns == input.values.len(), "{} values in rows of {columns}", input.values.len());
        assert!(columns == inputs, "{columns} values in a row for {inputs} inputs");
        assert!(self.out.columns() == outputs, "{} columns for {outputs} outputs", self.out.columns());
        assert!(rows <= self.out.rows(), "{rows} rows do not fit into {}", self.out.rows());
        assert!(self.bias.is_none_or(|bias| bias.len() == outputs), "a bias for each of {outputs} outputs");
        if self.weights.take_bytes() {
            let bytes = input.bytes.expect("activations in bytes, for weights that are quantised");
            assert!((bytes.rows(), bytes.columns()) == (rows, columns), "the same activations in both forms");
        }
    }
}

impl Kernels {
    /// Computes layers that have the same input, on the threads of a pool where there is enough to do. The bits do not
    /// depend on the threads, nor on which layers are computed together.
    #[track_caller]
    pub fn linear_on(self, pool: &Pool, input: &LinearInput<'_>, layers: &mut [Linear<'_>]) {
        // Borrowed for ourselves alone, though all threads read what to do: nobody else may write
        // to these places meanwhile.
        let layers = &*layers;
        layers.iter().for_each(|layer| layer.check(input));
        let rows = input.rows();
        if rows == 0 {
            return;
        }
        let parts = pool.parts(layers.iter().map(|layer| layer.weights.nanoseconds(rows)).sum());
        pool.run(parts, |part| {
            for layer in layers {
                // SAFETY: `layers` are borrowed uniquely until all parts have run, each stands for
                // a unique borrow of its output, and parts have no column in common.
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
            LinearWeights::Rows(weights) => self.rows_part(input, weights, (columns, bias), &mut out),
            LinearWeights::Quantised(weights) => {
                let activations = input.bytes.expect("checked on entry");
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
                a: Matrix::new(input.values, input.rows(), input.width),
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
    /// The outputs of some rows of a file.
    fn rows_part(
        self,
        input: &LinearInput<'_>,
        weights: WeightsInFile<'_>,
        (outputs, bias): (Range<usize>, Option<&[f32]>),
        out: &mut Outputs<'_>,
    ) {
        let WeightsInFile { format, row_bytes, .. } = weights;
        let activations = input.bytes.filter(|_| PackedWeights::supports(format));
        let bytes = &weights.bytes[outputs.start * row_bytes..outputs.end * row_bytes];
        // One row of activations meets all at once, so that they are read as it is best.
        let together = if input.rows() == 1 { outputs.len() } else { ROWS_TOGETHER };
        for (block, bytes) in bytes.chunks(together * row_bytes).enumerate() {
            let first = block * together;
            let places = first..first + bytes.len() / row_bytes;
            if let Some(activations) = activations.filter(|all| all.rows() >= PACKED_FROM && places.len() == GROUP) {
                // SAFETY: this part has these columns for itself.
                let mut out = unsafe { out.part(places.clone()) };
                self.packed_in_passing(weights, bytes, activations, &mut out);
                if let Some(bias) = bias {
                    (0..activations.rows()).for_each(|row| self.add_assign(out.row_mut(row), &bias[places.clone()]));
                }
                continue;
            }
            for row in 0..input.rows() {
                let out = &mut out.row_mut(row)[places.clone()];
                match activations {
                    Some(activations) => self.matvec_blocks(format, bytes, activations.row(row), out),
                    None => self.float_rows(weights, bytes, input.row(row), out),
                }
                if let Some(bias) = bias {
                    self.add_assign(out, &bias[places.clone()]);
                }
            }
        }
    }

    /// One group of rows, packed into memory that its thread keeps.
    fn packed_in_passing(self, weights: WeightsInFile<'_>, bytes: &[u8], x: &Activations, out: &mut Outputs<'_>) {
        let WeightsInFile { format, inputs, .. } = weights;
        PACKED.with_borrow_mut(|kept| {
            let fits = |packed: &PackedWeights| (packed.format(), packed.columns()) == (format, inputs);
            let place = kept.iter().position(fits).unwrap_or_else(|| {
                kept.push(PackedWeights::zeroed(format, GROUP, inputs));
                kept.len() - 1
            });
            let packed = &mut kept[place];
            packed.groups_mut().for_each(|group| group.pack(bytes));
            self.matmul_packed(packed.whole(), x, out);
        });
    }

    /// Rows of floats in any precision, times f32.
    fn float_rows(self, weights: WeightsInFile<'_>, bytes: &[u8], x: &[f32], out: &mut [f32]) {
        let WeightsInFile { format, row_bytes, .. } = weights;
        // SAFETY: every pattern of bits is an f32.
        let (before, whole, after) = unsafe { bytes.align_to::<f32>() };
        if format == Format::F32 && before.is_empty() && after.is_empty() && cfg!(target_endian = "little") {
            return self.gemv(whole, x, out);
        }
        let mut unpacked = [0.0; UNPACKED];
        for (out, row) in out.iter_mut().zip(bytes.chunks_exact(row_bytes)) {
            let parts = row.chunks(UNPACKED * format.block_bytes()).zip(x.chunks(UNPACKED));
            *out = parts.fold(0.0, |sum, (bytes, x)| {
                let weights = &mut unpacked[..x.len()];
                self.dequantise(format, bytes, weights);
                sum + self.dot(weights, x)
            });
        }
    }
}
