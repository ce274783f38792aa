//! What the tables of matrix products share: the product itself, its operands and its check.

use std::ffi::c_int;

use kernels::{AlignedBuffer, Pool};

use crate::contest::{Contender, Function};

/// C = A·B with A of m × k and B of k × n, all row by row; B may lie transposed, an output per row.
#[derive(Clone, Copy)]
pub struct Product<'a> {
    /// m, n, k
    pub shape: [usize; 3],
    /// The left factor.
    pub a: &'a [f32],
    /// The right factor: the weights.
    pub b: &'a [f32],
    /// Whether B lies as n × k.
    pub b_transposed: bool,
    /// Our threads.
    pub pool: &'a Pool,
}

impl<'a> Product<'a> {
    /// With how many threads.
    pub fn threads(&self) -> usize {
        self.pool.threads()
    }

    /// The sizes as C has them.
    pub fn ints(&self) -> [c_int; 3] {
        self.shape.map(|size| c_int::try_from(size).expect("sizes are small"))
    }

    /// Whoever computes it by `call`, which gets C.
    pub fn contender(&self, column: &'static str, call: impl FnMut(&mut [f32]) + 'a) -> Box<dyn Contender + 'a> {
        let [m, n, _] = self.shape;
        Function::contender(column, m * n, self.threads(), call)
    }

    /// What is wrong with `c`: some of its elements are computed again.
    pub fn check(&self, c: &[f32]) -> Option<String> {
        self.check_within(c, TOLERANCE)
    }

    /// The same with another tolerance, as a share of the sum of the terms' sizes. B may have fewer
    /// rows than it says and repeat them.
    pub fn check_within(&self, c: &[f32], tolerance: f64) -> Option<String> {
        let [m, n, k] = self.shape;
        if c.len() != m * n {
            return Some(format!("{} elements instead of {}", c.len(), m * n));
        }
        if let Some(at) = c.iter().position(|value| !value.is_finite()) {
            return Some(format!("element {at} is {}", c[at]));
        }
        (0..m * n).step_by((m * n / 97).max(1)).find_map(|at| {
            let (i, j) = (at / n, at % n);
            let weight = |p: usize| self.b[if self.b_transposed { j * k + p } else { p * n + j } % self.b.len()];
            let (mut sum, mut size) = (0.0f64, 0.0f64);
            for p in 0..k {
                let term = f64::from(self.a[i * k + p]) * f64::from(weight(p));
                sum += term;
                size += term.abs();
            }
            let bound = tolerance * size;
            let distance = (f64::from(c[at]) - sum).abs();
            (distance > bound).then(|| format!("element {at} is {}, should be {sum:.4}", c[at]))
        })
    }
}

/// Of the sum of the terms' sizes: the rounding of 4 096 sums stays far below, a wrong operand far above.
const TOLERANCE: f64 = 1e-5;

/// Numbers between -1 and 1 that look random, in memory as weights have it.
pub fn numbers(len: usize, seed: u64) -> AlignedBuffer<f32> {
    let mut numbers = AlignedBuffer::zeroed(len);
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for number in numbers.iter_mut() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        *number = (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0;
    }
    numbers
}
