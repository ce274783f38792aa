//! Softmax, its gradient, and the logarithm of its denominator.

use kernels::Kernels;

use crate::effort::sizes;
use crate::guarded::Guarded;
use crate::numbers::{Numbers, ulp, ulps};

/// The stated bound, in ulp: the exponential, the sum, its inverse and the product.
fn bound(cols: usize) -> f64 {
    6.0 + cols as f64 / 8.0
}

fn truth(row: &[f32]) -> Vec<f64> {
    let max = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let e: Vec<f64> = row.iter().map(|&x| (f64::from(x) - f64::from(max)).exp()).collect();
    let sum: f64 = e.iter().sum();
    e.iter().map(|e| e / sum).collect()
}

#[test]
fn rows_are_softmaxed_at_every_width() {
    for kernels in Kernels::available() {
        for cols in sizes((1..=130).chain([1000, 4099])) {
            for rows in [0, 1, 3] {
                // Multiples of 2⁻¹⁶ below 16: their differences are exact, so what is tested is not
                // the input's rounding.
                let x: Vec<f32> = Numbers::new(cols as u64).take(rows * cols, 16.0);
                let x: Vec<f32> = x.iter().map(|x| (x * 65536.0).round() / 65536.0).collect();
                let mut y = Guarded::new(&x, cols % 5);
                y.with(|y| kernels.softmax_rows(y, cols));
                for (x, y) in x.chunks_exact(cols).zip(y.get().chunks_exact(cols)) {
                    for (i, (&y, wanted)) in y.iter().zip(truth(x)).enumerate() {
                        assert!(ulps(y, wanted) <= bound(cols), "{} {cols} {i}: {y} {wanted}", kernels.isa());
                    }
                }
            }
        }
    }
}

#[test]
fn masked_values_become_zero() {
    for kernels in Kernels::available() {
        for cols in sizes(1..=70) {
            for open in 0..cols {
                let mut x = vec![f32::NEG_INFINITY; cols];
                x[open] = -5.0;
                kernels.softmax_rows(&mut x, cols);
                for (i, x) in x.iter().enumerate() {
                    assert_eq!(*x, if i == open { 1.0 } else { 0.0 }, "{} {cols} {open}", kernels.isa());
                }
            }
            let mut x = vec![f32::NEG_INFINITY; 2 * cols];
            x[cols..].fill(0.0);
            kernels.softmax_rows(&mut x, cols);
            assert_eq!(x[..cols], vec![0.0; cols], "{}: a row that is masked altogether", kernels.isa());
            assert!((x[cols] - 1.0 / cols as f32).abs() < 1e-7, "{}: the row behind it", kernels.isa());
        }
    }
}

#[test]
fn nan_and_infinity_show_and_huge_values_do_not_overflow() {
    for kernels in Kernels::available() {
        for cols in [1, 7, 40] {
            for bad in [f32::NAN, f32::INFINITY] {
                let mut x = vec![1.0; cols];
                x[cols / 2] = bad;
                kernels.softmax_rows(&mut x, cols);
                assert!(x[cols / 2].is_nan(), "{} {bad}", kernels.isa());
                let mut x = vec![f32::NEG_INFINITY; cols];
                x[cols - 1] = f32::NAN;
                kernels.softmax_rows(&mut x, cols);
                assert!(x.iter().all(|x| x.is_nan()), "{}: one NaN among masked ones", kernels.isa());
            }
            let mut x = vec![f32::MAX; cols];
            x[0] = f32::MIN;
            kernels.softmax_rows(&mut x, cols);
            let wanted = if cols == 1 { [1.0, 1.0] } else { [0.0, 1.0 / (cols - 1) as f32] };
            assert_eq!([x[0], x[cols - 1]], [wanted[0], wanted[1]], "{}", kernels.isa());
        }
    }
}

#[test]
fn log_sum_exp_is_near_and_has_its_limits() {
    for kernels in Kernels::available() {
        for len in sizes((1..=130).chain([32_000])) {
            let x = Guarded::new(&Numbers::new(len as u64).take(len, 30.0), len % 7);
            let wanted = x.get().iter().map(|&x| f64::from(x).exp()).sum::<f64>().ln();
            let got = kernels.log_sum_exp(x.get());
            // Half an ulp of the largest, of the difference, of the logarithm and of their sum.
            assert!((f64::from(got) - wanted).abs() <= 3.0 * ulp(30.0), "{} {len}: {got} {wanted}", kernels.isa());
        }
        let inf = f32::INFINITY;
        assert_eq!(kernels.log_sum_exp(&[]), -inf);
        assert_eq!(kernels.log_sum_exp(&[-inf; 20]), -inf);
        assert_eq!(kernels.log_sum_exp(&[1.0, inf, -inf]), inf);
        assert!(kernels.log_sum_exp(&[1.0, inf, f32::NAN]).is_nan());
        assert_eq!(kernels.log_sum_exp(&[-inf, 1e30]), 1e30);
        assert_eq!(kernels.log_sum_exp(&[-1e30; 1]), -1e30);
    }
}

#[test]
fn the_gradient_is_that_of_central_differences() {
    for kernels in Kernels::available() {
        for cols in sizes(1..=70) {
            let mut numbers = Numbers::new(cols as u64);
            let (x, grad_out) = (numbers.take(2 * cols, 3.0), numbers.take(2 * cols, 2.0));
            let mut y = x.clone();
            kernels.softmax_rows(&mut y, cols);
            let mut grad_x = Guarded::unset(2 * cols, cols % 3);
            grad_x.with(|grad_x| kernels.softmax_backward_rows(&y, &grad_out, grad_x, cols));
            for (row, grad_x) in grad_x.get().chunks_exact(cols).enumerate() {
                let (x, g) = (&x[row * cols..][..cols], &grad_out[row * cols..][..cols]);
                for i in [0, cols / 2, cols - 1] {
                    let wanted = difference(x, g, i);
                    let away = (f64::from(grad_x[i]) - wanted).abs();
                    assert!(away < 1e-6, "{} {cols} {i}: {} {wanted}", kernels.isa(), grad_x[i]);
                }
            }
        }
    }
}

/// How Σ grad_out · softmax(x) grows with x\[i\].
fn difference(x: &[f32], grad_out: &[f32], i: usize) -> f64 {
    let total = |h: f64| {
        let e: Vec<f64> =
            x.iter().enumerate().map(|(j, &x)| (f64::from(x) + if j == i { h } else { 0.0 }).exp()).collect();
        let sum: f64 = e.iter().sum();
        e.iter().zip(grad_out).map(|(e, &g)| e / sum * f64::from(g)).sum::<f64>()
    };
    (total(1e-5) - total(-1e-5)) / 2e-5
}
