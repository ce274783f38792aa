//! A matrix times a vector, against exact sums.

use kernels::{Isa, Kernels, Pool};

use crate::effort::sizes;
use crate::guarded::Guarded;
use crate::numbers::{Numbers, SPECIAL};

/// Σ w·x of a row in f64, and Σ|w·x|.
fn exact(weights: &[f32], x: &[f32]) -> (f64, f64) {
    let terms = weights.iter().zip(x).map(|(w, x)| f64::from(*w) * f64::from(*x));
    terms.fold((0.0, 0.0), |(sum, size), term| (sum + term, size + term.abs()))
}

/// As the documentation says.
fn bound(isa: Isa, len: usize, size: f64) -> f64 {
    let steps = if isa == Isa::Scalar { len } else { len / 4 + 8 };
    steps as f64 * 2f64.powi(-24) * size + f64::from(f32::MIN_POSITIVE)
}

#[test]
fn every_length_and_number_of_rows_is_within_the_bound() {
    for kernels in Kernels::available() {
        for len in sizes(0..=130) {
            for rows in [0, 1, 2, 3, 4, 5, 9] {
                let mut numbers = Numbers::new((len * 31 + rows) as u64);
                let weights = Guarded::new(&numbers.take(rows * len, 3.0), rows % 4);
                let x = Guarded::new(&numbers.take(len, 3.0), len % 5);
                let mut out = Guarded::unset(rows, len % 3);
                out.with(|out| kernels.gemv(weights.get(), x.get(), out));
                for (row, got) in out.get().iter().enumerate() {
                    let (sum, size) = exact(&weights.get()[row * len..][..len], x.get());
                    let bound = bound(kernels.isa(), len, size);
                    let off = (f64::from(*got) - sum).abs();
                    assert!(off <= bound, "{:?} {len} {rows}: {got} is {off:e} from {sum}", kernels.isa());
                }
            }
        }
    }
}

/// Short rows and long ones, from every cache.
#[test]
#[cfg_attr(miri, ignore = "too long")]
fn a_row_has_the_same_bits_in_any_company() {
    let mut numbers = Numbers::new(5);
    for (rows, len) in [(13, 130), (300, 515), (19, 3001), (2101, 2107)] {
        let (weights, x) = (numbers.take(rows * len, 1.0), numbers.take(len, 1.0));
        for kernels in Kernels::available() {
            let mut together = vec![0.0; rows];
            kernels.gemv(&weights, &x, &mut together);
            for (row, together) in together.iter().enumerate() {
                let (weights, mut alone) = (&weights[row * len..][..len], [0.0]);
                kernels.gemv(weights, &x, &mut alone);
                assert_eq!(alone[0].to_bits(), together.to_bits(), "{:?} {rows}x{len}, row {row}", kernels.isa());
                let (sum, size) = exact(weights, &x);
                assert!((f64::from(*together) - sum).abs() <= bound(kernels.isa(), len, size), "row {row}");
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "too long")]
fn special_values_come_through() {
    for kernels in Kernels::available() {
        for special in SPECIAL {
            for len in [1, 5, 16, 33, 70] {
                for at in 0..len {
                    let mut weights = vec![0.5; 5 * len];
                    weights[2 * len + at] = special;
                    let mut out = [0.0; 5];
                    kernels.gemv(&weights, &vec![1.0; len], &mut out);
                    let others = 0.5 * len as f32;
                    assert_eq!([out[0], out[1], out[3], out[4]], [others; 4], "{special} at {at} of {len}");
                    let wanted = special + 0.5 * (len - 1) as f32;
                    let same = out[2] == wanted || (out[2].is_nan() && wanted.is_nan());
                    assert!(same || (out[2] - wanted).abs() <= wanted.abs() * 1e-6, "{special}: {} {wanted}", out[2]);
                }
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "too long")]
fn threads_change_no_bit() {
    let mut numbers = Numbers::new(9);
    let (rows, len) = (1003, 301);
    let (weights, x) = (numbers.take(rows * len, 1.0), numbers.take(len, 1.0));
    for kernels in Kernels::available() {
        let mut alone = vec![0.0; rows];
        kernels.gemv(&weights, &x, &mut alone);
        for threads in [1, 2, 3, 7] {
            let mut together = vec![0.0; rows];
            kernels.gemv_on(&Pool::new(threads), &weights, &x, &mut together);
            assert_eq!(alone, together, "{} threads", threads);
        }
    }
}
