//! Sums and products.

use kernels::Kernels;

use crate::effort::{rounds, sizes};
use crate::guarded::{Guarded, lengths_and_offsets};
use crate::numbers::{Numbers, SPECIAL};

/// A product and a sum may be rounded once or twice.
const TWO_ROUNDINGS: f32 = 1.2e-7;

/// The stated bound on sums, relative to the sum of sizes.
fn sum_bound(n: usize) -> f64 {
    (n as f64 / 16.0 + 8.0) * 2f64.powi(-24)
}

fn same(a: f32, b: f32) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

#[track_caller]
fn assert_same(kernels: Kernels, name: &str, got: &[f32], wanted: impl Iterator<Item = f32>) {
    for (i, (&got, wanted)) in got.iter().zip(wanted).enumerate() {
        assert!(same(got, wanted), "{} {name} at {i}: {got} instead of {wanted}", kernels.isa());
    }
}

/// All kernels of two slices, against the operators of f32.
fn check_places(kernels: Kernels, a: &[f32], b: &[f32], offset: usize) {
    let n = a.len();
    let (ga, gb) = (Guarded::new(a, offset), Guarded::new(b, offset / 2));
    let pairs = || a.iter().zip(b);

    let mut out = Guarded::unset(n, offset + 1);
    out.with(|out| kernels.add(ga.get(), gb.get(), out));
    assert_same(kernels, "add", out.get(), pairs().map(|(a, b)| a + b));
    out.with(|out| kernels.sub(ga.get(), gb.get(), out));
    assert_same(kernels, "sub", out.get(), pairs().map(|(a, b)| a - b));
    out.with(|out| kernels.mul(ga.get(), gb.get(), out));
    assert_same(kernels, "mul", out.get(), pairs().map(|(a, b)| a * b));

    let mut x = Guarded::new(a, offset);
    x.with(|x| kernels.add_assign(x, gb.get()));
    assert_same(kernels, "add_assign", x.get(), pairs().map(|(a, b)| a + b));
    let mut x = Guarded::new(a, offset);
    x.with(|x| kernels.mul_assign(x, gb.get()));
    assert_same(kernels, "mul_assign", x.get(), pairs().map(|(a, b)| a * b));
    let mut x = Guarded::new(a, offset);
    x.with(|x| kernels.scale(x, -1.7));
    assert_same(kernels, "scale", x.get(), a.iter().map(|a| a * -1.7));
}

#[test]
fn places_are_those_of_the_operators() {
    for kernels in Kernels::available() {
        for (len, offset) in lengths_and_offsets() {
            let mut numbers = Numbers::new(len as u64);
            let (a, b) = (numbers.take(len, 9.0), numbers.take(len, 9.0));
            check_places(kernels, &a, &b, offset);
        }
        for other in SPECIAL {
            check_places(kernels, &SPECIAL, &[other; SPECIAL.len()], 0);
        }
    }
}

#[test]
fn axpy_adds_a_multiple() {
    for kernels in Kernels::available() {
        for (len, offset) in lengths_and_offsets() {
            let mut numbers = Numbers::new(len as u64);
            let (x, y) = (numbers.take(len, 9.0), numbers.take(len, 9.0));
            let mut got = Guarded::new(&y, offset);
            got.with(|y| kernels.axpy(0.3, &x, y));
            for i in 0..len {
                let wanted = y[i] + 0.3 * x[i];
                let bound = TWO_ROUNDINGS * (y[i].abs() + (0.3 * x[i]).abs());
                assert!((got.get()[i] - wanted).abs() <= bound, "{} {len} {i}", kernels.isa());
            }
        }
    }
}

#[test]
fn rows_are_broadcast_and_summed() {
    for kernels in Kernels::available() {
        for cols in sizes(0..=40) {
            for rows in 0..=if cols == 0 { 0 } else { rounds(9, 4) } {
                let mut numbers = Numbers::new((cols * 100 + rows) as u64);
                let (x, row) = (numbers.take(rows * cols, 3.0), numbers.take(cols, 3.0));

                let mut sum = Guarded::new(&x, rows % 2);
                sum.with(|sum| kernels.add_rows(sum, &row));
                assert_same(kernels, "add_rows", sum.get(), (0..rows * cols).map(|i| x[i] + row[i % cols]));
                let mut product = Guarded::new(&x, rows % 2);
                product.with(|product| kernels.mul_rows(product, &row));
                assert_same(kernels, "mul_rows", product.get(), (0..rows * cols).map(|i| x[i] * row[i % cols]));

                let mut sums = Guarded::new(&row, rows % 4);
                sums.with(|sums| kernels.sum_rows(&x, sums));
                for c in 0..cols {
                    let wanted = f64::from(row[c]) + (0..rows).map(|r| f64::from(x[r * cols + c])).sum::<f64>();
                    let away = (f64::from(sums.get()[c]) - wanted).abs();
                    assert!(away < 3.0 * 10.0 * 2f64.powi(-22), "{} {rows}×{cols} at {c}", kernels.isa());
                }
            }
        }
    }
}

#[test]
fn totals_are_within_their_bound() {
    for kernels in Kernels::available() {
        for len in sizes((0..=130).chain([1000, 4099, 100_003])) {
            let mut numbers = Numbers::new(len as u64 + 7);
            let (a, b) = (numbers.take(len, 2.0), numbers.take(len, 2.0));
            let check = |name: &str, got: f32, terms: &dyn Fn(usize) -> f64| {
                let wanted: f64 = (0..len).map(terms).sum();
                let sizes: f64 = (0..len).map(|i| terms(i).abs()).sum();
                let away = (f64::from(got) - wanted).abs();
                assert!(away <= sum_bound(len) * sizes, "{} {name} of {len}: {got} {wanted}", kernels.isa());
            };
            check("sum", kernels.sum(&a), &|i| f64::from(a[i]));
            check("sum_of_squares", kernels.sum_of_squares(&a), &|i| f64::from(a[i]).powi(2));
            check("dot", kernels.dot(&a, &b), &|i| f64::from(a[i]) * f64::from(b[i]));
        }
    }
}

#[test]
fn totals_do_not_depend_on_the_place_in_memory() {
    for kernels in Kernels::available() {
        let a = Numbers::new(3).take(1000, 2.0);
        let wanted = (kernels.sum(&a).to_bits(), kernels.dot(&a, &a).to_bits());
        for offset in 0..16 {
            let a = Guarded::new(&a, offset);
            assert_eq!((kernels.sum(a.get()).to_bits(), kernels.dot(a.get(), a.get()).to_bits()), wanted);
        }
    }
}

#[test]
fn the_largest_is_found_wherever_it_is() {
    for kernels in Kernels::available() {
        assert_eq!(kernels.max(&[]), f32::NEG_INFINITY);
        for len in sizes(1..=130) {
            let mut x = Numbers::new(len as u64).take(len, 5.0);
            for at in 0..len {
                let before = std::mem::replace(&mut x[at], 6.0);
                assert_eq!(kernels.max(&x), 6.0, "{} {len} {at}", kernels.isa());
                x[at] = f32::NAN;
                let others = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                assert_eq!(kernels.max(&x), others, "{} {len}: NaN at {at}", kernels.isa());
                x[at] = before;
            }
            let x = vec![-3.0; len];
            assert_eq!(kernels.max(&x), -3.0, "{}: no zero comes in from beyond the end", kernels.isa());
        }
        assert_eq!(kernels.max(&[f32::NEG_INFINITY, f32::INFINITY, 1.0]), f32::INFINITY);
        assert_eq!(kernels.max(&[f32::NAN; 40]), f32::NEG_INFINITY);
    }
}

#[test]
fn lengths_that_do_not_fit_panic() {
    let refused = |f: &dyn Fn(Kernels)| {
        Kernels::available()
            .into_iter()
            .all(|kernels| std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| f(kernels))).is_err())
    };
    let (three, four) = ([0.0; 3], [0.0; 4]);
    assert!(refused(&|kernels| kernels.add(&three, &four, &mut [0.0; 4])));
    assert!(refused(&|kernels| kernels.mul(&three, &three, &mut [0.0; 4])));
    assert!(refused(&|kernels| kernels.add_assign(&mut [0.0; 4], &three)));
    assert!(refused(&|kernels| kernels.axpy(1.0, &three, &mut [0.0; 4])));
    assert!(refused(&|kernels| kernels.add_rows(&mut [0.0; 4], &three)));
    assert!(refused(&|kernels| kernels.add_rows(&mut [0.0; 4], &[])));
    assert!(refused(&|kernels| kernels.sum_rows(&four, &mut [0.0; 3])));
    assert!(refused(&|kernels| {
        kernels.dot(&three, &four);
    }));
}
