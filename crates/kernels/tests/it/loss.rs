//! Cross entropy and its gradient.

use std::panic::{AssertUnwindSafe, catch_unwind};

use kernels::{IGNORED_TARGET, Kernels};

use crate::effort::sizes;
use crate::guarded::Guarded;
use crate::numbers::Numbers;

const ROWS: usize = 4;

/// The loss of a row and its softmax, in f64.
fn truth(logits: &[f32], target: usize) -> (f64, Vec<f64>) {
    let sum: f64 = logits.iter().map(|&x| f64::from(x).exp()).sum();
    let softmax = logits.iter().map(|&x| f64::from(x).exp() / sum).collect();
    (sum.ln() - f64::from(logits[target]), softmax)
}

/// Targets at both ends and in the middle; the third is ignored.
fn targets(cols: usize) -> [u32; ROWS] {
    [0, (cols - 1) as u32, IGNORED_TARGET, (cols / 2) as u32]
}

/// A few roundings of values below 40.
const LOSS_BOUND: f64 = 1e-5;
/// Of the scale: the softmax is at most 1.
const GRADIENT_BOUND: f64 = 1e-6;

#[test]
fn losses_and_gradients_are_near_at_every_width() {
    for kernels in Kernels::available() {
        for cols in sizes((1..=130).chain([5000])) {
            let logits = Numbers::new(cols as u64).take(ROWS * cols, 15.0);
            let targets = targets(cols);
            let mut losses = Guarded::unset(ROWS, 1);
            losses.with(|losses| kernels.cross_entropy_rows(&logits, &targets, losses));
            let (mut fused, mut gradient) = (Guarded::unset(ROWS, 3), Guarded::new(&logits, cols % 5));
            gradient.with(|logits| {
                fused.with(|losses| kernels.cross_entropy_backward_rows(logits, &targets, 0.125, losses));
            });
            for (row, target) in targets.into_iter().enumerate() {
                let gradient = &gradient.get()[row * cols..][..cols];
                if target == IGNORED_TARGET {
                    assert_eq!([losses.get()[row], fused.get()[row]], [0.0; 2], "{} {cols}", kernels.isa());
                    assert!(gradient.iter().all(|&g| g == 0.0), "{} {cols}", kernels.isa());
                    continue;
                }
                let (loss, softmax) = truth(&logits[row * cols..][..cols], target as usize);
                for got in [losses.get()[row], fused.get()[row]] {
                    assert!((f64::from(got) - loss).abs() < LOSS_BOUND, "{} {cols}: {got} {loss}", kernels.isa());
                }
                for (i, (&got, softmax)) in gradient.iter().zip(softmax).enumerate() {
                    let wanted = 0.125 * (softmax - f64::from(u8::from(i == target as usize)));
                    assert!((f64::from(got) - wanted).abs() < 0.125 * GRADIENT_BOUND, "{} {cols} {i}", kernels.isa());
                }
            }
        }
    }
}

#[test]
fn extreme_logits_have_finite_losses_where_the_truth_is_finite() {
    for kernels in Kernels::available() {
        let mut losses = [0.0; 2];
        kernels.cross_entropy_rows(&[1e30, -1e30, 1e30, -1e30], &[0, 1], &mut losses);
        assert_eq!(losses, [0.0, 2e30], "{}", kernels.isa());
        let mut logits = [0.0, f32::NEG_INFINITY, 0.0, f32::NEG_INFINITY];
        kernels.cross_entropy_backward_rows(&mut logits, &[0, 1], 1.0, &mut losses);
        assert_eq!(losses, [0.0, f32::INFINITY], "{}: a masked column", kernels.isa());
        assert_eq!(logits, [0.0, 0.0, 1.0, -1.0], "{}", kernels.isa());
        for bad in [[f32::NEG_INFINITY; 2], [0.0, f32::NAN], [0.0, f32::INFINITY]] {
            kernels.cross_entropy_rows(&[bad, [0.0; 2]].concat(), &[0, 0], &mut losses);
            assert!(losses[0].is_nan() && losses[1].is_finite(), "{}: {bad:?}", kernels.isa());
            kernels.cross_entropy_backward_rows(&mut [bad, [0.0; 2]].concat(), &[0, 0], 1.0, &mut losses);
            assert!(losses[0].is_nan() && losses[1].is_finite(), "{}: {bad:?}", kernels.isa());
        }
    }
}

#[test]
fn nothing_has_no_loss_and_a_target_out_of_range_is_refused() {
    for kernels in Kernels::available() {
        kernels.cross_entropy_rows(&[], &[], &mut []);
        kernels.cross_entropy_backward_rows(&mut [], &[], 1.0, &mut []);
        let refused = |targets: &[u32]| {
            catch_unwind(AssertUnwindSafe(|| kernels.cross_entropy_rows(&[0.0; 6], targets, &mut [0.0; 2]))).is_err()
        };
        assert!(refused(&[0, 3]));
        assert!(refused(&[u32::MAX - 1, 0]));
        assert!(refused(&[0]), "fewer targets than losses");
        assert!(!refused(&[2, IGNORED_TARGET]));
    }
}
