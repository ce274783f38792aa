//! The rules of others, which only the benchmark of verdicts uses.

#[path = "../../benches/verdicts/rivals.rs"]
mod rules;

use rules::{Call, RIVALS, mann_whitney_p};

/// Around a middle, up to 2 % to either side.
fn around(middle: f64, count: usize) -> Vec<f64> {
    (0..count).map(|place| middle * (0.98 + 0.04 * ((place * 7919) % 101) as f64 / 100.0)).collect()
}

#[test]
fn ranks_are_judged_as_scipy_does() {
    // scipy.stats.mannwhitneyu(a, b, method="asymptotic"), scipy 1.17.1.
    let a = [1.1, 2.3, 0.4, 3.2, 2.8, 1.9];
    let b = [2.9, 3.8, 2.3, 4.1, 3.2, 5.0, 3.9];
    assert!((mann_whitney_p(&a, &b) - 0.018_096).abs() < 1e-5, "{}", mann_whitney_p(&a, &b));
    assert_eq!(mann_whitney_p(&[1.0; 5], &[1.0; 5]), 1.0);
}

#[test]
fn large_changes_are_called_by_all_and_none_by_none() {
    let base = around(1.0, 48);
    for rival in &RIVALS {
        assert_eq!((rival.call)(&base, &around(1.5, 48)), Call::Worse, "{}", rival.name);
        assert_eq!((rival.call)(&base, &around(0.5, 48)), Call::Better, "{}", rival.name);
        assert_eq!((rival.call)(&base, &base), Call::Nothing, "{}", rival.name);
    }
}

#[test]
fn each_has_its_own_smallest_change() {
    let base = around(1.0, 48);
    let calls = |middle: f64| RIVALS.map(|rival| (rival.call)(&base, &around(middle, 48)) == Call::Worse);
    assert_eq!(calls(1.07), [true, false, true, false, true, true, true]);
    assert_eq!(calls(1.013), [false, false, false, false, false, true, false]);
}
