//! A matrix times a vector, where the matrix lies row by row as files have it.

use crate::dispatch::kernels;
use crate::quant::Outputs;
use crate::{Kernels, Pool};

kernels! { gemv:
    /// out\[r\] = Σ row r of `weights` · x; a row is as long as x. For weights that are used once
    /// or mapped from a file; those that are used often are faster as a
    /// [`PackedMatrix`](crate::PackedMatrix).
    ///
    /// The order of the sum depends on the instruction set; the distance from the exact value is at most
    /// (len / 4 + 8)·2⁻²⁴·Σ|w·x| on vectors, and len·2⁻²⁴·Σ|w·x| on scalar.
    pub fn gemv(weights: &[f32], x: &[f32], out: &mut [f32])
        where { Some(weights.len()) == x.len().checked_mul(out.len()) };
}

/// What one thread reads per nanosecond from the last cache; for deciding whether others are worth waking.
const BYTES_PER_NS: f64 = 40.0;
/// The most rows that are computed together; parts are whole multiples.
const TOGETHER: usize = 8;

impl Kernels {
    /// As [`Kernels::gemv`], on the threads of a pool where there is enough to do; with the same bits.
    #[track_caller]
    pub fn gemv_on(self, pool: &Pool, weights: &[f32], x: &[f32], out: &mut [f32]) {
        let parts = pool.parts(size_of_val(weights) as f64 / BYTES_PER_NS);
        if parts == 1 {
            return self.gemv(weights, x, out);
        }
        assert!(Some(weights.len()) == x.len().checked_mul(out.len()), "gemv_on: the lengths do not fit");
        let rows = out.len().div_ceil(parts).next_multiple_of(TOGETHER);
        let len = out.len();
        let out = Outputs::new(out, len, len);
        pool.run(parts, |part| {
            let (first, end) = ((part * rows).min(len), ((part + 1) * rows).min(len));
            // SAFETY: parts do not overlap, and `out` stands for a unique borrow that lasts until all have run.
            let mut out = unsafe { out.part(first..end) };
            self.gemv(&weights[first * x.len()..end * x.len()], x, out.row_mut(0));
        });
    }
}
