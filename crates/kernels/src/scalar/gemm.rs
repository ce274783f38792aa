//! Matrix products.

use crate::gemm::job::{Job, Right};
use crate::gemm::{DEPTH, Matrix, PANEL, panel_start};

/// See [`Kernels::gemm`](crate::Kernels::gemm).
pub(crate) fn multiply(job: &Job<'_>) {
    for row in 0..job.a.rows {
        for col in 0..job.cols {
            // SAFETY: within the rectangle that is this job's alone.
            let c = unsafe { &mut *job.c.add(row * job.c_row + col) };
            let start = if job.accumulate { *c } else { 0.0 };
            let start = job.bias.map_or(start, |bias| start + bias[col]);
            *c = (0..job.a.cols).fold(start, |sum, k| job.a.at(row, k).mul_add(right(job, k, col), sum));
        }
    }
}

fn right(job: &Job<'_>, row: usize, col: usize) -> f32 {
    match job.b {
        Right::Plain(matrix) => matrix.at(row, job.first_col + col),
        Right::Packed(packed) => packed.at(row, job.first_col + col),
    }
}

/// See [`PackedMatrix`](crate::PackedMatrix).
pub(crate) fn pack(b: Matrix<'_>, panels: &mut [f32]) {
    for col in 0..b.cols {
        for row in 0..b.rows {
            let start = panel_start([b.rows, b.cols], row / DEPTH * DEPTH, col / PANEL);
            panels[start + row % DEPTH * PANEL + col % PANEL] = b.at(row, col);
        }
    }
}
