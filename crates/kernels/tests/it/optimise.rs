//! The steps of optimisers: the bits of the definitions, and near the truth over many steps.

use std::panic::{AssertUnwindSafe, catch_unwind};

use kernels::{AdamWStep, Isa, Kernels, Moments, SgdStep};

use crate::guarded::{Guarded, lengths_and_offsets};
use crate::numbers::{Numbers, SPECIAL};

const ADAMW: AdamWStep = AdamWStep {
    keep: 0.999,
    rate: 0.01,
    mean: [0.9, 0.1],
    square: [0.99, 0.01],
    root_scale: 1.7,
    eps: 1e-8,
    gradient: [0.5, 2.0],
};
const SGD: SgdStep = SgdStep { rate: 0.1, momentum: 0.9, weight_decay: 0.01, gradient: [0.5, f32::INFINITY] };

fn bits(x: &[f32]) -> Vec<u32> {
    // All that is not a number is alike: which of two operands' bits are passed on is nobody's promise.
    x.iter().map(|x| if x.is_nan() { u32::MAX } else { x.to_bits() }).collect()
}

/// Values, gradients, first and second state.
fn check([values, gradients, first, second]: [&[f32]; 4], offset: usize) {
    let scalar = Kernels::with(Isa::Scalar).unwrap();
    let run = |kernels: Kernels| {
        let mut adamw = [values, first, second].map(|x| Guarded::new(x, offset));
        let [value, m, v] = &mut adamw;
        value.with(|value| {
            m.with(|m| v.with(|v| kernels.adamw(value, gradients, Moments { mean: m, square: v }, ADAMW)))
        });
        let mut sgd = [values, first].map(|x| Guarded::new(x, offset));
        let [value, direction] = &mut sgd;
        value.with(|value| direction.with(|direction| kernels.sgd(value, gradients, direction, SGD)));
        [adamw.map(|x| bits(x.get())).concat(), sgd.map(|x| bits(x.get())).concat()]
    };
    let wanted = run(scalar);
    for kernels in Kernels::available() {
        assert_eq!(run(kernels), wanted, "{} at {} {offset}", kernels.isa(), values.len());
    }
}

#[test]
fn every_length_has_the_bits_of_the_definition() {
    for (len, offset) in lengths_and_offsets() {
        let mut numbers = Numbers::new(len as u64);
        let [values, gradients, first] = [1.0, 9.0, 3.0].map(|reach| numbers.take(len, reach));
        let second: Vec<f32> = numbers.take(len, 3.0).iter().map(|x| x.abs()).collect();
        check([&values, &gradients, &first, &second], offset);
    }
    for other in SPECIAL {
        check([&[0.5; 20], &SPECIAL, &[other; 20], &[other.abs(); 20]], 0);
        check([&[other; 20], &SPECIAL, &[0.1; 20], &[0.2; 20]], 0);
    }
}

#[test]
fn a_step_is_the_one_that_is_reckoned_by_hand() {
    for kernels in Kernels::available() {
        // g = 8 · 0.5 cut off at 2: m = 0.9 + 0.2, v = 0.99 · 4 + 0.04 = 4, √v · 1.7 = 3.4.
        let (mut value, mut m, mut v) = ([3.0], [1.0], [4.0]);
        kernels.adamw(&mut value, &[8.0], Moments { mean: &mut m, square: &mut v }, ADAMW);
        assert!((m[0] - 1.1).abs() < 1e-6 && (v[0] - 4.0).abs() < 1e-6, "{m:?} {v:?}");
        assert!((value[0] - (3.0 * 0.999 - 0.01 * 1.1 / 3.4)).abs() < 1e-6, "{value:?}");
        // g = −4 + 0.01 · 3: direction = 0.9 − 3.97.
        let (mut value, mut direction) = ([3.0], [1.0]);
        kernels.sgd(&mut value, &[-8.0], &mut direction, SGD);
        assert!((direction[0] + 3.07).abs() < 1e-6, "{direction:?}");
        assert!((value[0] - 3.307).abs() < 1e-6, "{value:?}");
    }
}

#[test]
fn what_is_no_number_is_not_cut_off() {
    for kernels in Kernels::available() {
        let (mut value, mut m, mut v) = ([1.0; 20], [0.0; 20], [0.0; 20]);
        kernels.adamw(&mut value, &[f32::NAN; 20], Moments { mean: &mut m, square: &mut v }, ADAMW);
        assert!(value.iter().chain(&m).chain(&v).all(|x| x.is_nan()), "{}", kernels.isa());
    }
}

#[test]
fn lengths_that_do_not_fit_are_refused() {
    for kernels in Kernels::available() {
        let (mut four, mut other, three) = ([0.0; 4], [0.0; 4], [0.0; 3]);
        let refused = catch_unwind(AssertUnwindSafe(|| kernels.sgd(&mut four, &three, &mut other, SGD)));
        assert!(refused.is_err());
        let mut short = three;
        let refused = catch_unwind(AssertUnwindSafe(|| {
            kernels.adamw(&mut four, &[0.0; 4], Moments { mean: &mut other, square: &mut short }, ADAMW);
        }));
        assert!(refused.is_err());
    }
}
