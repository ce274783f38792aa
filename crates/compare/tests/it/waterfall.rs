//! Where a change comes from.

use compare::waterfall;
use record::{Arm, Duel, LaunchProfile, PathTime};

use crate::simulated_duels::Chance;

fn profile(arm: &str, launch: u64, wall_ns: u64, paths: &[(&[&str], u64, u64)]) -> LaunchProfile {
    let path = |(path, calls, self_ns): &(&[&str], u64, u64)| PathTime {
        path: path.iter().map(|name| (*name).to_owned()).collect(),
        calls: *calls,
        self_ns: *self_ns,
    };
    LaunchProfile { arm: arm.to_owned(), launch, rounds: 2, wall_ns, paths: paths.iter().map(path).collect() }
}

fn duel(profiles: Vec<LaunchProfile>) -> Duel {
    let arm = |name: &str| Arm { name: name.to_owned(), ..Arm::default() };
    Duel { arms: vec![arm("A"), arm("A'"), arm("B")], profiles, ..Duel::default() }
}

#[test]
fn parts_sum_to_the_whole() {
    let mut chance = Chance::of(1);
    let mut around = |middle: f64| (middle * (0.05 * chance.normal()).exp()) as u64;
    let mut profiles = Vec::new();
    for launch in 0..6 {
        for (arm, slower) in [("A", 1.0), ("A'", 1.0), ("B", 1.5)] {
            let (pass, product) = (around(10e6), around(80e6 * slower));
            let sample = around(5e6);
            let rest = around(3e6);
            let own: &[(&[&str], u64, u64)] = &[
                (&["pass"], 2, pass),
                (&["pass", "product"], 12, product),
                if arm == "B" { (&["pass", "dequantise"], 4, sample) } else { (&["sample"], 2, sample) },
            ];
            profiles.push(profile(arm, launch, pass + product + sample + rest, own));
        }
    }
    let found = waterfall(&duel(profiles), "B").unwrap();
    let sum: f64 = found.parts.iter().map(|part| part.change.estimate).sum();
    assert!((sum - found.total.estimate).abs() < 1e-12, "{sum} {:?}", found.total);
    assert!((found.candidate_s - found.base_s - found.total.estimate).abs() < 1e-12);
    let product = &found.parts[0];
    assert_eq!(product.path, ["pass", "product"], "the largest change first");
    // Two rounds in each profile: 40 ms become 60 ms.
    assert!((product.change.estimate - 0.020).abs() < 0.003 && product.change.low.unwrap() > 0.014, "{product:?}");
    assert_eq!((product.base_calls, product.candidate_calls), (Some(6.0), Some(6.0)));
    let of = |path: &[&str]| found.parts.iter().find(|part| part.path == path).unwrap();
    assert!(of(&["sample"]).candidate_s.is_none() && of(&["sample"]).change.estimate < 0.0);
    assert!(of(&["pass", "dequantise"]).base_s.is_none() && of(&["pass", "dequantise"]).change.estimate > 0.0);
    let rest = of(&[]);
    assert!((rest.base_s.unwrap() - 0.0015).abs() < 0.0002, "{rest:?}");
    assert!(rest.change.low.unwrap() < 0.0 && rest.change.high.unwrap() > 0.0);
}

#[test]
fn one_launch_has_no_bounds_and_none_has_nothing() {
    let one = vec![profile("A", 0, 100, &[(&["a"], 1, 60)]), profile("B", 0, 300, &[(&["a"], 1, 500)])];
    let found = waterfall(&duel(one), "B").unwrap();
    assert_eq!(found.total.low, None);
    assert_eq!(found.parts.len(), 2);
    // Threads at once: more own time than time by the clock.
    let rest = found.parts.iter().find(|part| part.path.is_empty()).unwrap();
    assert!(rest.candidate_s.unwrap() < 0.0);
    assert!(waterfall(&duel(vec![profile("A", 0, 1, &[]), profile("B", 1, 1, &[])]), "B").is_none());
    assert!(waterfall(&Duel::default(), "B").is_none());
}
