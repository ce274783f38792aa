//! Layer norm and RMS norm, and their gradients.

use kernels::{Kernels, LayerNorm, LayerNormGrads, RmsNorm, RmsNormGrads};

use crate::effort::sizes;
use crate::guarded::Guarded;
use crate::numbers::Numbers;

const EPS: f32 = 1e-5;

/// The stated bound on a normed value before the weight, whose size is about 1.
const NORMED_BOUND: f64 = 1e-6;

/// x̂ of a row, in f64.
fn normed(x: &[f64], around_mean: bool) -> Vec<f64> {
    let n = x.len() as f64;
    let mean = if around_mean { x.iter().sum::<f64>() / n } else { 0.0 };
    let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
    x.iter().map(|x| (x - mean) / (variance + f64::from(EPS)).sqrt()).collect()
}

fn wide(x: &[f32]) -> Vec<f64> {
    x.iter().map(|&x| f64::from(x)).collect()
}

fn widths() -> impl Iterator<Item = usize> {
    sizes((1..=130).chain([768, 4099]))
}

#[track_caller]
fn check(kernels: Kernels, got: &[f32], x: &[f32], weight: &[f32], bias: Option<&[f32]>) {
    let cols = weight.len();
    for (x, got) in x.chunks_exact(cols).zip(got.chunks_exact(cols)) {
        for (i, normed) in normed(&wide(x), bias.is_some()).into_iter().enumerate() {
            let wanted = normed * f64::from(weight[i]) + bias.map_or(0.0, |bias| f64::from(bias[i]));
            let size = (normed.abs().max(1.0) * f64::from(weight[i])).abs() + wanted.abs();
            let away = (f64::from(got[i]) - wanted).abs();
            assert!(away <= NORMED_BOUND * size, "{} {cols} {i}: {} {wanted}", kernels.isa(), got[i]);
        }
    }
}

#[test]
fn rows_are_normed_at_every_width() {
    for kernels in Kernels::available() {
        for cols in widths() {
            let mut numbers = Numbers::new(cols as u64);
            let (x, weight, bias) = (numbers.take(3 * cols, 4.0), numbers.take(cols, 2.0), numbers.take(cols, 1.0));
            let mut out = Guarded::unset(3 * cols, cols % 5);
            out.with(|out| kernels.layer_norm_rows(&x, LayerNorm { weight: &weight, bias: &bias, eps: EPS }, out));
            check(kernels, out.get(), &x, &weight, Some(&bias));
            let mut out = Guarded::unset(3 * cols, cols % 5);
            out.with(|out| kernels.rms_norm_rows(&x, RmsNorm { weight: &weight, eps: EPS }, out));
            check(kernels, out.get(), &x, &weight, None);
        }
    }
}

#[test]
fn a_large_mean_does_not_spoil_the_variance() {
    for kernels in Kernels::available() {
        for cols in [64, 100, 768] {
            // Whole numbers around 2¹⁴: E[x²] − E[x]² in f32 would have lost the variance of 2 altogether.
            let x: Vec<f32> = (0..cols).map(|i| 16384.0 + [0.0, 1.0, -2.0, 1.0][i % 4] as f32).collect();
            let (weight, bias) = (vec![1.0; cols], vec![0.0; cols]);
            let mut out = vec![0.0; cols];
            kernels.layer_norm_rows(&x, LayerNorm { weight: &weight, bias: &bias, eps: EPS }, &mut out);
            for (got, wanted) in out.iter().zip(normed(&wide(&x), true)) {
                // The mean itself is rounded to an f32 near 16384.
                assert!((f64::from(*got) - wanted).abs() < 2e-3, "{}: {got} {wanted}", kernels.isa());
            }
        }
    }
}

#[test]
fn equal_values_and_zeros_are_normed_to_nothing() {
    for kernels in Kernels::available() {
        let (weight, bias) = ([3.0; 37], [0.25; 37]);
        let mut out = [9.0; 37];
        kernels.layer_norm_rows(&[5.0; 37], LayerNorm { weight: &weight, bias: &bias, eps: EPS }, &mut out);
        assert_eq!(out, bias, "{}", kernels.isa());
        kernels.rms_norm_rows(&[0.0; 37], RmsNorm { weight: &weight, eps: EPS }, &mut out);
        assert_eq!(out, [0.0; 37], "{}", kernels.isa());
        let mut x = [1.0; 37];
        x[30] = f32::NAN;
        kernels.rms_norm_rows(&x, RmsNorm { weight: &weight, eps: EPS }, &mut out);
        assert!(out.iter().all(|x| x.is_nan()), "{}: NaN shows", kernels.isa());
    }
}

struct Case {
    x: Vec<f32>,
    weight: Vec<f32>,
    bias: Vec<f32>,
    grad_out: Vec<f32>,
    /// What the gradients of weight and bias begin with.
    before: Vec<f32>,
}

const ROWS: usize = 3;

impl Case {
    fn new(cols: usize) -> Self {
        let mut numbers = Numbers::new(cols as u64 + 1);
        Self {
            x: numbers.take(ROWS * cols, 3.0),
            weight: numbers.take(cols, 2.0),
            bias: numbers.take(cols, 2.0),
            grad_out: numbers.take(ROWS * cols, 2.0),
            before: numbers.take(cols, 1.0),
        }
    }

    /// How Σ grad_out · out grows with x at `row` and `i`, by central differences.
    fn grad_x(&self, row: usize, i: usize, around_mean: bool) -> f64 {
        let cols = self.weight.len();
        let total = |h: f64| {
            let mut x = wide(&self.x[row * cols..][..cols]);
            x[i] += h;
            let out = normed(&x, around_mean).into_iter().zip(&self.weight).zip(&self.grad_out[row * cols..]);
            out.map(|((normed, &w), &g)| normed * f64::from(w) * f64::from(g)).sum::<f64>()
        };
        (total(1e-5) - total(-1e-5)) / 2e-5
    }

    /// Σ grad_out · x̂ over the rows, onto what was there.
    fn grad_weight(&self, i: usize, around_mean: bool) -> f64 {
        let cols = self.weight.len();
        let of_row = |row: usize| {
            let x = wide(&self.x[row * cols..][..cols]);
            normed(&x, around_mean)[i] * f64::from(self.grad_out[row * cols + i])
        };
        f64::from(self.before[i]) + (0..ROWS).map(of_row).sum::<f64>()
    }

    #[track_caller]
    fn check(&self, kernels: Kernels, grad_x: &[f32], grad_weight: &[f32], around_mean: bool) {
        let cols = self.weight.len();
        for i in [0, cols / 3, cols / 2, cols - 1] {
            for row in 0..ROWS {
                let (got, wanted) = (f64::from(grad_x[row * cols + i]), self.grad_x(row, i, around_mean));
                // Sizes here are a few units, 1 / the deviation at most some dozens in rows of two.
                assert!(
                    (got - wanted).abs() < 2e-5 * (1.0 + wanted.abs()),
                    "{} {cols} {i}: {got} {wanted}",
                    kernels.isa()
                );
            }
            let (got, wanted) = (f64::from(grad_weight[i]), self.grad_weight(i, around_mean));
            assert!((got - wanted).abs() < 1e-5, "{} {cols} {i}: {got} {wanted}", kernels.isa());
        }
    }
}

#[test]
fn layer_norm_gradients_are_those_of_central_differences() {
    for kernels in Kernels::available() {
        for cols in sizes((3..=70).chain([200])) {
            let case = Case::new(cols);
            let norm = LayerNorm { weight: &case.weight, bias: &case.bias, eps: EPS };
            let mut grad_x = Guarded::unset(ROWS * cols, cols % 3);
            let (mut weight, mut bias) = (Guarded::new(&case.before, 1), Guarded::new(&case.before, 2));
            grad_x.with(|x| {
                weight.with(|weight| {
                    bias.with(|bias| {
                        let grads = LayerNormGrads { x, weight, bias };
                        kernels.layer_norm_backward_rows(&case.x, norm, &case.grad_out, grads);
                    });
                });
            });
            case.check(kernels, grad_x.get(), weight.get(), true);
            for i in 0..cols {
                let wanted = case.before[i] + (0..ROWS).map(|row| case.grad_out[row * cols + i]).sum::<f32>();
                assert!((bias.get()[i] - wanted).abs() < 1e-6, "{} {cols} {i}", kernels.isa());
            }
        }
    }
}

#[test]
fn rms_norm_gradients_are_those_of_central_differences() {
    for kernels in Kernels::available() {
        for cols in sizes((2..=70).chain([200])) {
            let case = Case::new(cols);
            let norm = RmsNorm { weight: &case.weight, eps: EPS };
            let mut grad_x = Guarded::unset(ROWS * cols, cols % 3);
            let mut weight = Guarded::new(&case.before, 1);
            grad_x.with(|x| {
                weight.with(|weight| {
                    kernels.rms_norm_backward_rows(&case.x, norm, &case.grad_out, RmsNormGrads { x, weight });
                });
            });
            case.check(kernels, grad_x.get(), weight.get(), false);
        }
    }
}
