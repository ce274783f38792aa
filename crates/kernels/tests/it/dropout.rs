//! Dropout: the bits of the definition however it is divided, and masks that look like chance.

use std::panic::{AssertUnwindSafe, catch_unwind};

use kernels::{Dropout, Isa, Kernels};

use crate::effort::rounds;
use crate::guarded::{Guarded, lengths_and_offsets};
use crate::numbers::{Numbers, SPECIAL};

fn bits(x: &[f32]) -> Vec<u32> {
    x.iter().map(|x| if x.is_nan() { u32::MAX } else { x.to_bits() }).collect()
}

#[test]
fn every_length_has_the_bits_of_the_definition() {
    let scalar = Kernels::with(Isa::Scalar).unwrap();
    let check = |values: &[f32], offset: usize, which: Dropout| {
        let mut wanted = values.to_vec();
        scalar.dropout(&mut wanted, which);
        for kernels in Kernels::available() {
            let mut got = Guarded::new(values, offset);
            got.with(|x| kernels.dropout(x, which));
            assert_eq!(bits(got.get()), bits(&wanted), "{} {} {which:?}", kernels.isa(), values.len());
        }
    };
    for (len, offset) in lengths_and_offsets() {
        let values = Numbers::new(len as u64).take(len, 9.0);
        check(&values, offset, Dropout { key: len as u64, rate: 0.3, first: 1000 * offset });
        check(&values, offset, Dropout { key: u64::MAX, rate: 0.99, first: (1 << 32) - len });
    }
    check(&SPECIAL, 0, Dropout { key: 1, rate: 0.5, first: 7 });
}

#[test]
fn parts_are_parts_of_the_whole() {
    let which = Dropout { key: 99, rate: 0.4, first: 12 };
    for kernels in Kernels::available() {
        let mut whole = [1.0; 100];
        kernels.dropout(&mut whole, which);
        for cut in 0..=100 {
            let mut parts = [1.0; 100];
            kernels.dropout(&mut parts[..cut], which);
            kernels.dropout(&mut parts[cut..], Dropout { first: 12 + cut, ..which });
            assert_eq!(parts, whole, "{} {cut}", kernels.isa());
        }
    }
}

/// How many of `n` values are kept.
fn kept(kernels: Kernels, n: usize, which: Dropout) -> Vec<bool> {
    let mut x = vec![1.0; n];
    kernels.dropout(&mut x, which);
    x.iter().map(|&x| x != 0.0).collect()
}

/// Away by less than five standard deviations of as many throws.
#[track_caller]
fn assert_share(count: usize, n: usize, share: f64) {
    let deviation = (n as f64 * share * (1.0 - share)).sqrt();
    assert!((count as f64 - n as f64 * share).abs() < 5.0 * deviation, "{count} of {n} instead of {share}");
}

#[test]
fn the_share_of_kept_values_is_right_and_neighbours_know_nothing_of_each_other() {
    let kernels = Kernels::best();
    let n = rounds(1 << 20, 1 << 10);
    for rate in [0.1, 0.5, 0.9] {
        let share = 1.0 - f64::from(rate);
        let mask = kept(kernels, n, Dropout { key: 3, rate, first: 0 });
        assert_share(mask.iter().filter(|&&kept| kept).count(), n, share);
        // Pairs some way apart are kept together as often as chance has it.
        for apart in [1, 2, 16, 64, 256, 768] {
            let pairs = (0..n - apart).filter(|&i| mask[i] && mask[i + apart]).count();
            assert_share(pairs, n - apart, share * share);
        }
        // So are the same places under keys that differ little.
        for key in [2, 4, 3 + (1 << 32), 3 | (1 << 63)] {
            let other = kept(kernels, n, Dropout { key, rate, first: 0 });
            assert_share((0..n).filter(|&i| mask[i] && other[i]).count(), n, share * share);
        }
    }
}

#[test]
fn what_is_kept_makes_up_for_the_rest() {
    for kernels in Kernels::available() {
        let mut x = [3.0; 64];
        kernels.dropout(&mut x, Dropout { key: 0, rate: 0.25, first: 0 });
        assert!(x.iter().all(|&x| x == 0.0 || x == 4.0) && x.contains(&0.0) && x.contains(&4.0), "{x:?}");
        let mut x = [3.0, f32::NAN];
        kernels.dropout(&mut x, Dropout { key: 0, rate: 0.0, first: 0 });
        assert!(x[0] == 3.0 && x[1].is_nan(), "nothing is dropped: {x:?}");
    }
}

#[test]
fn nonsense_is_refused() {
    for kernels in Kernels::available() {
        let refused =
            |which: Dropout| catch_unwind(AssertUnwindSafe(|| kernels.dropout(&mut [1.0; 4], which))).is_err();
        assert!(refused(Dropout { key: 0, rate: 1.0, first: 0 }));
        assert!(refused(Dropout { key: 0, rate: -0.1, first: 0 }));
        assert!(refused(Dropout { key: 0, rate: f32::NAN, first: 0 }));
        assert!(refused(Dropout { key: 0, rate: 0.5, first: (1 << 32) - 3 }));
        assert!(!refused(Dropout { key: 0, rate: 0.5, first: (1 << 32) - 4 }));
    }
}
