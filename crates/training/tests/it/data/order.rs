//! Orders that are computed.

use training::data::Permutation;

#[test]
fn a_permutation_has_every_number_once() {
    for length in (1..200).chain([255, 256, 257, 1000, 4095, 4096, 4097, 100_003]) {
        for key in [0, 1, u64::MAX] {
            let order = Permutation::new(length, key);
            let mut seen = vec![false; length as usize];
            for place in 0..length {
                let number = order.at(place) as usize;
                assert!(!std::mem::replace(&mut seen[number], true), "{number} twice, of {length}");
            }
        }
    }
}

#[test]
fn orders_look_random_and_differ() {
    let length = 10_000u64;
    let (one, other) = (Permutation::new(length, 1), Permutation::new(length, 2));
    let same = (0..length).filter(|place| one.at(*place) == other.at(*place)).count();
    assert!(same < 20, "{same} places of two orders are the same; about 1 is expected");
    let fixed = (0..length).filter(|place| one.at(*place) == *place).count();
    assert!(fixed < 20, "{fixed} numbers stay; about 1 is expected");
    let neighbours = (1..length).filter(|place| one.at(*place) == one.at(*place - 1) + 1).count();
    assert!(neighbours < 20, "{neighbours} neighbours stay together; about 1 is expected");
    // The mean of the first tenth of the places is that of all, within five standard errors.
    let mean = (0..length / 10).map(|place| one.at(place) as f64).sum::<f64>() / (length / 10) as f64;
    assert!((mean - 4999.5).abs() < 5.0 * 2887.0 / 1000f64.sqrt(), "{mean}");
}

#[test]
fn orders_of_more_numbers_than_memory() {
    let order = Permutation::new(10_000_000_000, 3);
    let mut some: Vec<u64> = (0..100_000).map(|place| order.at(place * 100_000)).collect();
    some.sort_unstable();
    some.dedup();
    assert_eq!(some.len(), 100_000);
    assert!(some.iter().all(|number| *number < 10_000_000_000));
}
