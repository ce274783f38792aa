//! Matrix products: C = A·B, any shape, either factor transposed, weights packed beforehand or not.

pub(crate) mod job;
mod matrix;
mod packed;
mod split;

pub use matrix::{Matrix, MatrixMut};
pub(crate) use packed::{Elements, panel_start};
pub use packed::{PackedMatrix, WeightRows};

use crate::dispatch::kernels;
use crate::{Kernels, Pool};
use job::{Job, Right};

/// Columns of the right factor lie together in panels of so many: one vector of AVX-512, two of AVX2, four of NEON.
pub(crate) const PANEL: usize = 16;

/// The depth of a block of a matrix that is packed beforehand.
pub(crate) const DEPTH: usize = 1024;

/// What to multiply, and with what the result begins.
#[derive(Debug, Clone, Copy)]
pub struct Product<'a> {
    a: Matrix<'a>,
    b: Right<'a>,
    bias: Option<&'a [f32]>,
    accumulate: bool,
}

impl<'a> Product<'a> {
    /// A·B
    #[track_caller]
    pub fn new(a: Matrix<'a>, b: Matrix<'a>) -> Self {
        assert!(a.cols == b.rows, "{} columns of A do not fit {} rows of B", a.cols, b.rows);
        Self { a, b: Right::Plain(b), bias: None, accumulate: false }
    }

    /// A·B with B packed beforehand: for weights, which are used many times.
    #[track_caller]
    pub fn with_packed(a: Matrix<'a>, b: &'a PackedMatrix) -> Self {
        assert!(a.cols == b.rows(), "{} columns of A do not fit {} rows of B", a.cols, b.rows());
        Self { a, b: Right::Packed(b), bias: None, accumulate: false }
    }

    /// Adds `bias` to each row of the result.
    #[track_caller]
    pub fn bias(self, bias: &'a [f32]) -> Self {
        assert!(bias.len() == self.b.cols(), "{} biases do not fit {} columns", bias.len(), self.b.cols());
        Self { bias: Some(bias), ..self }
    }

    #[track_caller]
    fn check(&self, c: &MatrixMut<'_>) {
        let (rows, cols) = (self.a.rows, self.b.cols());
        assert!(rows == c.rows && cols == c.cols, "{rows} × {cols} results do not fit into {} × {}", c.rows, c.cols);
    }

    /// Adds to what stands in the result, where `yes`, instead of overwriting it.
    pub fn accumulate(self, yes: bool) -> Self {
        Self { accumulate: yes, ..self }
    }
}

impl Kernels {
    /// C = A·B, and what [`Product`] adds to it.
    ///
    /// Every element is one chain of fused multiply-adds in the order of k, so the result has the
    /// same bits on every instruction set, for every number of threads and for packed and plain
    /// factors. Its distance from the exact value is at most K·2⁻²⁴·Σ|a·b| to first order.
    #[track_caller]
    pub fn gemm(self, product: Product<'_>, c: MatrixMut<'_>) {
        product.check(&c);
        self.gemm_job(&Job::whole(&product, &c));
    }

    /// As [`Kernels::gemm`], on the threads of a pool where there is enough to do; with the same bits.
    #[track_caller]
    pub fn gemm_on(self, pool: &Pool, product: Product<'_>, c: MatrixMut<'_>) {
        product.check(&c);
        let whole = Job::whole(&product, &c);
        let grid = split::grid(&product, pool);
        if grid == [1, 1] {
            return self.gemm_job(&whole);
        }
        pool.run(grid[0] * grid[1], |part| self.gemm_job(&whole.part(part, grid)));
    }

    /// A job that may be empty.
    pub(crate) fn gemm_job(self, job: &Job<'_>) {
        if !job.is_empty() {
            self.multiply(job);
        }
    }
}

kernels! { gemm:
    /// Computes a part of a product.
    fn multiply(job: &Job<'_>);
}
