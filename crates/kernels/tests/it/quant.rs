//! Weight formats.

mod blocks;
mod bounds;
mod conformance;
mod rows;

use std::f64::consts::TAU;

use kernels::Kernels;
use kernels::quant::*;

/// Numbers that look random and are the same everywhere (xorshift64*).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| (self.next() >> 56) as u8).collect()
    }

    /// Between 0 and 1, neither included.
    fn uniform(&mut self) -> f64 {
        ((self.next() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    /// From the normal distribution.
    fn normal(&mut self) -> f32 {
        ((-2.0 * self.uniform().ln()).sqrt() * (TAU * self.uniform()).cos()) as f32
    }

    fn normals(&mut self, len: usize, scale: f32) -> Vec<f32> {
        (0..len).map(|_| scale * self.normal()).collect()
    }
}

/// Weights whose length is whole blocks, to bytes.
fn quantised(kernels: Kernels, format: Format, weights: &[f32]) -> Vec<u8> {
    let mut bytes = vec![0; format.row_bytes(weights.len()).unwrap()];
    kernels.quantise(format, weights, &mut bytes);
    bytes
}

/// Bytes of `len` weights, to these.
fn dequantised(kernels: Kernels, format: Format, bytes: &[u8], len: usize) -> Vec<f32> {
    let mut weights = vec![f32::NAN; len];
    kernels.dequantise(format, bytes, &mut weights);
    weights
}

/// The same bits, or both NaN.
#[track_caller]
fn assert_same(got: &[f32], want: &[f32], what: impl std::fmt::Debug) {
    assert_eq!(got.len(), want.len(), "{what:?}");
    for (i, (got, want)) in got.iter().zip(want).enumerate() {
        let same = got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan());
        assert!(same, "{what:?}, element {i}: {got:e} is not {want:e}");
    }
}
