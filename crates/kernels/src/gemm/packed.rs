//! Right factors that are packed once and used many times.

use super::{DEPTH, Matrix, PANEL};
use crate::Kernels;
use crate::dispatch::kernels;
use crate::memory::AlignedBuffer;
use crate::quant::{bf16_to_f32, f16_to_f32};

/// A matrix of weights as the innermost loop reads it, the same on every instruction set.
///
/// The depth is cut into blocks of `DEPTH`; a block consists of panels of sixteen columns, a panel of its columns' elements
/// k by k. So a product with few rows reads all of it once, in order. The last panel is filled up with zeros.
#[derive(Debug, Clone)]
pub struct PackedMatrix {
    rows: usize,
    cols: usize,
    elements: Elements,
}

/// The numbers that weights are stored as; they become f32 as they are loaded.
#[derive(Debug, Clone)]
pub(crate) enum Elements {
    F32(AlignedBuffer<f32>),
    F16(AlignedBuffer<u16>),
    Bf16(AlignedBuffer<u16>),
}

/// Weights as files have them: an output's weights one behind the other.
#[derive(Debug, Clone, Copy)]
pub enum WeightRows<'a> {
    /// Single precision.
    F32(&'a [f32]),
    /// The bits of half-precision numbers.
    F16(&'a [u16]),
    /// The bits of bfloat16 numbers.
    Bf16(&'a [u16]),
}

impl PackedMatrix {
    /// Packs the right factor `b`.
    pub fn new(b: Matrix<'_>) -> Self {
        let mut panels = AlignedBuffer::zeroed(b.cols.div_ceil(PANEL) * PANEL * b.rows);
        Kernels::best().pack(b, &mut panels);
        Self { rows: b.rows, cols: b.cols, elements: Elements::F32(panels) }
    }

    /// Packs weights with `inputs` columns and an output per row, so that the product gives an output per column. Halves
    /// stay halves: they take half the memory, and are exact.
    #[track_caller]
    pub fn from_rows(weights: WeightRows<'_>, inputs: usize) -> Self {
        match weights {
            WeightRows::F32(weights) => Self::new(Matrix::new(weights, outputs(weights, inputs), inputs).transposed()),
            WeightRows::F16(weights) => Self::from_halves(weights, inputs, Elements::F16),
            WeightRows::Bf16(weights) => Self::from_halves(weights, inputs, Elements::Bf16),
        }
    }

    fn from_halves(weights: &[u16], inputs: usize, elements: fn(AlignedBuffer<u16>) -> Elements) -> Self {
        let cols = outputs(weights, inputs);
        let mut panels = AlignedBuffer::zeroed(cols.div_ceil(PANEL) * PANEL * inputs);
        for (col, weights) in weights.chunks_exact(inputs.max(1)).enumerate() {
            for (first, block) in weights.chunks(DEPTH).enumerate() {
                let start = panel_start([inputs, cols], first * DEPTH, col / PANEL) + col % PANEL;
                for (to, weight) in panels[start..].iter_mut().step_by(PANEL).zip(block) {
                    *to = *weight;
                }
            }
        }
        Self { rows: inputs, cols, elements: elements(panels) }
    }

    /// K: how many rows it has.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// N: how many columns it has.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// How much memory its numbers take.
    pub fn bytes(&self) -> usize {
        match &self.elements {
            Elements::F32(panels) => size_of_val(&panels[..]),
            Elements::F16(panels) | Elements::Bf16(panels) => size_of_val(&panels[..]),
        }
    }

    pub(crate) fn elements(&self) -> &Elements {
        &self.elements
    }

    /// Where the block of the depth that begins with row `row` begins in panel `panel`.
    pub(crate) fn start(&self, row: usize, panel: usize) -> usize {
        panel_start([self.rows, self.cols], row, panel)
    }

    /// One element.
    pub(crate) fn at(&self, row: usize, col: usize) -> f32 {
        let place = self.start(row / DEPTH * DEPTH, col / PANEL) + row % DEPTH * PANEL + col % PANEL;
        match &self.elements {
            Elements::F32(panels) => panels[place],
            Elements::F16(panels) => f16_to_f32(panels[place]),
            Elements::Bf16(panels) => bf16_to_f32(panels[place]),
        }
    }
}

/// Where the block that begins with row `row`, a multiple of [`DEPTH`], begins in a panel.
pub(crate) fn panel_start([rows, cols]: [usize; 2], row: usize, panel: usize) -> usize {
    let depth = DEPTH.min(rows - row);
    row * cols.next_multiple_of(PANEL) + panel * depth * PANEL
}

#[track_caller]
fn outputs<T>(weights: &[T], inputs: usize) -> usize {
    let outputs = weights.len().checked_div(inputs).unwrap_or(0);
    assert!(outputs * inputs == weights.len(), "{} weights are no whole rows of {inputs}", weights.len());
    outputs
}

kernels! { gemm:
    /// Copies `b` into panels.
    fn pack(b: Matrix<'_>, panels: &mut [f32])
        where { panels.len() == b.cols.div_ceil(PANEL) * PANEL * b.rows };
}
