//! Right factors that are packed once and used many times.

use super::{DEPTH, Matrix, PANEL};
use crate::dispatch::kernels;
use crate::memory::{AlignedBuffer, HugePageArena, Plain};
use crate::quant::{Format, bf16_to_f32, f16_to_f32};
use crate::{Kernels, Pool};

/// A matrix of weights as the innermost loop reads it, the same on every instruction set.
///
/// The depth is cut into blocks of `DEPTH`; a block consists of panels of sixteen columns, a panel
/// of its columns' elements k by k. So a product with few rows reads all of it once, in order. The
/// last panel is filled up with zeros.
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

    /// Packs weights with `inputs` columns and an output per row, so that the product gives an
    /// output per column. Halves stay halves: they take half the memory, and are exact.
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

    /// As [`PackedMatrix::from_rows`], of rows of `inputs` weights as they lie in a file, on the
    /// threads of a pool and in memory of an arena.
    ///
    /// # Panics
    /// Where `file` is no whole number of rows, or the format is none of F32, F16 and BF16.
    #[track_caller]
    pub fn from_file(pool: &Pool, arena: &mut HugePageArena, format: Format, inputs: usize, file: &[u8]) -> Self {
        let shape = [inputs, outputs(file, inputs * format.block_bytes())];
        let len = shape[1].div_ceil(PANEL) * PANEL * inputs;
        let halves = |arena: &mut HugePageArena| {
            let mut panels = arena.zeroed(len);
            fill(pool, shape, file, &mut panels, u16::from_le_bytes);
            panels
        };
        let elements = match format {
            Format::F32 => {
                let mut panels = arena.zeroed(len);
                fill(pool, shape, file, &mut panels, f32::from_le_bytes);
                Elements::F32(panels)
            }
            Format::F16 => Elements::F16(halves(arena)),
            Format::BF16 => Elements::Bf16(halves(arena)),
            other => panic!("{} has blocks: see `PackedWeights`", other.name()),
        };
        Self { rows: inputs, cols: shape[1], elements }
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

/// Copies rows of a file into panels, a panel at a time: sixteen rows are read in step, the panel is written in order.
fn fill<T: Plain + Send, const SIZE: usize>(
    pool: &Pool,
    [inputs, outputs]: [usize; 2],
    file: &[u8],
    panels: &mut [T],
    read: fn([u8; SIZE]) -> T,
) {
    let (file, _) = file.as_chunks::<SIZE>();
    let mut first = 0;
    // A block of the depth lies in one piece, panel after panel.
    for block in panels.chunks_mut((DEPTH * outputs.next_multiple_of(PANEL)).max(1)) {
        let depth = DEPTH.min(inputs - first);
        pool.run_rows(pool.threads(), block, depth * PANEL, |numbers, block| {
            for (panel, to) in numbers.zip(block.chunks_mut(depth * PANEL)) {
                let rows = panel * PANEL..outputs.min((panel + 1) * PANEL);
                for (column, row) in rows.enumerate() {
                    let from = &file[row * inputs + first..][..depth];
                    for (to, from) in to[column..].iter_mut().step_by(PANEL).zip(from) {
                        *to = read(*from);
                    }
                }
            }
        });
        first += depth;
    }
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
