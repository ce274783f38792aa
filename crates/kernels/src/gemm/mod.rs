//! Matrix products: C = A·B, any shape, either factor transposed, weights packed beforehand or not.

pub(crate) mod job;
mod matrix;
mod packed;

pub use matrix::{Matrix, MatrixMut};
pub(crate) use packed::{Elements, panel_start};
pub use packed::{PackedMatrix, WeightRows};

use crate::Kernels;
use crate::dispatch::kernels;
use job::{Job, Right};

/// Columns of the right factor lie together in panels of so many: one vector of AVX-512, two of AVX2, four of NEON.
pub(crate) const PANEL: usize = 16;

/// The depth of a block: a panel of it takes 16 KiB, half of L1.
pub(crate) const DEPTH: usize = 256;

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

    /// Adds to what stands in the result, where `yes`, instead of overwriting it.
    pub fn accumulate(self, yes: bool) -> Self {
        Self { accumulate: yes, ..self }
    }
}

impl Kernels {
    /// C = A·B, and what [`Product`] adds to it.
    ///
    /// Every element is one chain of fused multiply-adds in the order of k, so the result has the same bits on every
    /// instruction set, for every number of threads and for packed and plain factors. Its distance from the exact value is
    /// at most K·2⁻²⁴·Σ|a·b| to first order.
    #[track_caller]
    pub fn gemm(self, product: Product<'_>, c: MatrixMut<'_>) {
        assert!(
            product.a.rows == c.rows && product.b.cols() == c.cols,
            "{} × {} results do not fit into {} × {}",
            product.a.rows,
            product.b.cols(),
            c.rows,
            c.cols
        );
        if c.rows > 0 && c.cols > 0 {
            self.multiply(&Job::whole(&product, &c));
        }
    }
}

kernels! { gemm:
    /// Computes a part of a product.
    fn multiply(job: &Job<'_>);
}
