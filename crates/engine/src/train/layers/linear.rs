//! A matrix, or several that have the same input and lie one behind the other.

use std::ops::Range;

use kernels::{Matrix, MatrixMut, Product};

use super::{Pass, Sums, add_columns};

/// Where its numbers are among the parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Linear {
    /// (output, input)
    pub weight: Range<usize>,
    pub bias: Option<Range<usize>>,
    pub inputs: usize,
    pub outputs: usize,
}

/// What the gradients of a matrix follow from.
#[derive(Clone, Copy)]
pub(crate) struct Tape<'a> {
    /// Its input.
    pub x: &'a [f32],
    /// The gradient of what it gave.
    pub dy: &'a [f32],
}

impl Linear {
    /// out = x · weightᵀ + bias
    pub fn forward(&self, pass: &Pass<'_>, x: &[f32], out: &mut [f32]) {
        let rows = x.len() / self.inputs;
        let product = Product::new(Matrix::new(x, rows, self.inputs), self.matrix(pass).transposed());
        let product = match &self.bias {
            Some(bias) => product.bias(&pass.values[bias.clone()]),
            None => product,
        };
        pass.kernels().gemm_on(pass.pool(), product, MatrixMut::new(out, rows, self.outputs));
    }

    /// dx = dy · weight; the gradient of the weight += dyᵀ · x; that of the bias += the sum of dy over the rows.
    pub fn backward(&self, pass: &Pass<'_>, tape: Tape<'_>, dx: &mut [f32], sums: Sums<'_>) {
        let (rows, pool) = (tape.x.len() / self.inputs, pass.pool());
        let dy = Matrix::new(tape.dy, rows, self.outputs);
        let product = Product::new(dy, self.matrix(pass));
        pass.kernels().gemm_on(pool, product, MatrixMut::new(dx, rows, self.inputs));

        let product = Product::new(dy.transposed(), Matrix::new(tape.x, rows, self.inputs)).accumulate(!pass.fresh);
        let weight = MatrixMut::new(&mut sums.gradients[self.weight.clone()], self.outputs, self.inputs);
        pass.kernels().gemm_on(pool, product, weight);

        if let Some(bias) = &self.bias {
            add_columns(pass, tape.dy, &mut sums.gradients[bias.clone()], sums.partials);
        }
    }

    fn matrix<'a>(&self, pass: &Pass<'a>) -> Matrix<'a> {
        Matrix::new(&pass.values[self.weight.clone()], self.outputs, self.inputs)
    }

    /// The floating-point operations of so many rows.
    pub fn flops(&self, rows: usize) -> usize {
        2 * rows * self.inputs * self.outputs
    }

    /// Those of the backward pass: two products.
    pub fn backward_flops(&self, rows: usize) -> usize {
        2 * self.flops(rows)
    }

    /// The bytes that are read and written.
    pub fn bytes(&self, rows: usize) -> usize {
        4 * (self.inputs * self.outputs + rows * (self.inputs + self.outputs))
    }

    /// Those of the backward pass: the weight is read, its gradient read and written; both products read dy.
    pub fn backward_bytes(&self, rows: usize) -> usize {
        4 * (3 * self.inputs * self.outputs + 2 * rows * (self.inputs + self.outputs))
    }
}
