//! The rows of a tensor, some at a time, on all threads.

use std::sync::{Mutex, PoisonError};

use kernels::quant::Format;
use kernels::{Kernels, Pool};

use super::plan::Plan;
use crate::{Error, Result};

/// Weights that one thread converts at a time: enough that the way to the threads costs nothing, and 1 MiB as f32.
const WEIGHTS_PER_PART: usize = 1 << 18;

/// Threads, and what each of them works in.
pub(super) struct RowConverter<'a> {
    pool: &'a Pool,
    kernels: Kernels,
    buffers: Vec<Mutex<ThreadBuffers>>,
}

/// What one thread works in.
#[derive(Default)]
struct ThreadBuffers {
    weights: Vec<f32>,
    converted: Vec<u8>,
    /// The first row with a weight that the format cannot hold.
    beyond: Option<usize>,
}

/// All that is known of a tensor while it is converted.
#[derive(Clone, Copy)]
struct Rows<'a> {
    plan: &'a Plan,
    data: &'a [u8],
    cols: usize,
    /// The bytes of a row before and after.
    row_bytes: [usize; 2],
}

impl<'a> RowConverter<'a> {
    /// Refused where the instructions asked for are not there.
    pub(super) fn new(pool: &'a Pool) -> Result<Self> {
        let buffers = (0..pool.threads()).map(|_| Mutex::default()).collect();
        Ok(Self { pool, kernels: Kernels::chosen().map_err(Error::refused)?, buffers })
    }

    /// Converts a whole tensor, and hands out its bytes in order, each piece with how much of the source is done.
    pub(super) fn convert(
        &self,
        plan: &Plan,
        data: &[u8],
        mut write: impl FnMut(&[u8], usize) -> Result<()>,
    ) -> Result<()> {
        let (cols, all) = plan.cols_and_rows();
        let bytes = |format: Format| format.row_bytes(cols).ok_or_else(|| no_blocks(plan, cols));
        let rows = Rows { plan, data, cols, row_bytes: [bytes(plan.from)?, bytes(plan.to.format)?] };
        let per_desk = (WEIGHTS_PER_PART / cols).max(1);
        let mut first = 0;
        while first < all {
            let last = all.min(first + per_desk * self.buffers.len());
            let parts = (last - first).div_ceil(per_desk);
            self.pool.run(parts, |part| {
                let start = first + part * per_desk;
                let mut buffers = self.buffers[part].lock().unwrap_or_else(PoisonError::into_inner);
                buffers.convert(self.kernels, rows, start..last.min(start + per_desk));
            });
            for (part, buffers) in self.buffers[..parts].iter().enumerate() {
                let buffers = buffers.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(row) = buffers.beyond {
                    return Err(beyond(plan, row));
                }
                write(&buffers.converted, last.min(first + (part + 1) * per_desk) * rows.row_bytes[0])?;
            }
            first = last;
        }
        Ok(())
    }
}

impl ThreadBuffers {
    fn convert(&mut self, kernels: Kernels, rows: Rows<'_>, range: std::ops::Range<usize>) {
        let Rows { plan, data, cols, row_bytes: [before, after] } = rows;
        self.converted.resize(range.len() * after, 0);
        self.weights.resize(cols, 0.0);
        self.beyond = None;
        for (row, converted) in range.zip(self.converted.chunks_exact_mut(after)) {
            let from = plan.order.source_row(row) * before;
            let bytes = &data[from..from + before];
            if plan.from == plan.to.format {
                converted.copy_from_slice(bytes);
                continue;
            }
            kernels.dequantise(plan.from, bytes, &mut self.weights);
            if exceed(&self.weights, plan.to.format.largest()) {
                self.beyond.get_or_insert(row);
            }
            kernels.quantise(plan.to.format, &self.weights, converted);
        }
    }
}

/// Whether any weight is beyond this.
fn exceed(weights: &[f32], largest: f32) -> bool {
    weights.iter().fold(false, |any, weight| any | (weight.abs() > largest))
}

fn beyond(plan: &Plan, row: usize) -> Error {
    let (format, most) = (plan.to.format, plan.to.format.largest());
    let message = format!("row {row} of the result: a weight exceeds {most}, the largest that {format} can hold");
    Error::refused(message + "; use bf16 or f32").about(plan.to.shown())
}

fn no_blocks(plan: &Plan, cols: usize) -> Error {
    Error::refused(format!("rows of {cols} cannot be converted one by one")).about(plan.to.shown())
}
