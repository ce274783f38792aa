//! Statistics against scipy: `../data/vectors.py` made the numbers.

use compare::stats::{
    benjamini_hochberg, binomial_interval, holm, mean_interval, mean_p, sign_interval, sign_p, t_factor,
};
use compare::{Interval, Tail, fit, tail};

/// Of distributions that are computed by series and continued fractions, in two libraries.
const TOLERANCE: f64 = 1e-8;

#[test]
fn scipy_says_the_same() {
    let mut seen = std::collections::BTreeSet::new();
    for line in include_str!("../data/vectors.txt").lines() {
        let (call, results) = line.split_once(" | ").unwrap();
        let (name, arguments) = call.split_once(' ').unwrap();
        let (arguments, expected) = (lists(arguments), lists(results).concat());
        let found = call_of(name, &arguments);
        assert_eq!(found.len(), expected.len(), "{line}");
        for (found, expected) in found.iter().zip(&expected) {
            let error = (found - expected).abs() / expected.abs().max(1e-12);
            assert!(error < TOLERANCE || (found - expected).abs() < 1e-13, "{found} instead of {expected}: {line}");
        }
        seen.insert(name);
    }
    assert_eq!(seen.len(), 10, "{seen:?}");
}

fn lists(text: &str) -> Vec<Vec<f64>> {
    let list = |list: &str| list.split(',').map(|number| number.parse().unwrap()).collect();
    text.split(' ').map(list).collect()
}

fn call_of(name: &str, arguments: &[Vec<f64>]) -> Vec<f64> {
    let ends = |interval: Interval| vec![interval.low, interval.high];
    let number = |place: usize| arguments[place][0];
    match name {
        "t_factor" => vec![t_factor(number(0) as usize, number(1)).unwrap()],
        "mean_interval" => ends(mean_interval(&arguments[0], number(1)).unwrap()),
        "mean_p" => vec![mean_p(&arguments[0]).unwrap()],
        "sign_p" => vec![sign_p(&arguments[0])],
        "sign_interval" => ends(sign_interval(&arguments[0], number(1)).unwrap()),
        "binomial_interval" => ends(binomial_interval(number(0) as u64, number(1) as u64, number(2))),
        "holm" => holm(&arguments[0]),
        "benjamini_hochberg" => benjamini_hochberg(&arguments[0]),
        "fit" => {
            let fit = fit(&arguments[0], &arguments[1], number(2)).unwrap();
            vec![fit.slope, fit.intercept, fit.interval.low, fit.interval.high]
        }
        "tail" => match tail(&arguments[0], number(1), number(2)).unwrap() {
            Tail::Known { value, interval } => vec![value, interval.low, interval.high],
            Tail::Slowest { .. } => Vec::new(),
        },
        other => panic!("no function {other}"),
    }
}

#[test]
fn too_little_gives_nothing() {
    assert_eq!(t_factor(1, 0.05), None);
    assert_eq!(t_factor(0, 0.05), None);
    assert_eq!(mean_p(&[1.0]), None);
    assert_eq!(mean_p(&[0.0, 0.0]), Some(1.0));
    assert_eq!(mean_p(&[2.0, 2.0]), Some(0.0));
    assert_eq!(sign_p(&[]), 1.0);
    assert_eq!(sign_interval(&[1.0; 5], 0.05), None);
    assert_eq!(fit(&[1.0, 2.0], &[1.0, 2.0], 0.95), None);
    assert_eq!(fit(&[1.0, 1.0, 1.0], &[1.0, 2.0, 3.0], 0.95), None);
    assert!(holm(&[]).is_empty() && benjamini_hochberg(&[]).is_empty());
}
