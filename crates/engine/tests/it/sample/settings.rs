//! Settings, special values and the penalty.

use engine::{Sampler, Sampling};

use crate::random::Random;

fn plain() -> Sampling {
    Sampling { temperature: 1.0, ..Sampling::greedy() }
}

/// All ways that the sampler has: greedy, the largest logits, the heaviest weights, anything.
fn ways() -> [Sampling; 5] {
    [
        Sampling::greedy(),
        Sampling { top_k: 3, ..plain() },
        Sampling { top_p: 0.5, ..plain() },
        Sampling { min_p: 0.1, ..plain() },
        plain(),
    ]
}

#[test]
fn out_of_range_is_named() {
    type Change = fn(&mut Sampling);
    let wrong: [(&str, Change); 10] = [
        ("temperature is -1;", |sampling| sampling.temperature = -1.0),
        ("temperature is NaN;", |sampling| sampling.temperature = f32::NAN),
        ("temperature is inf;", |sampling| sampling.temperature = f32::INFINITY),
        ("top_p is 0;", |sampling| sampling.top_p = 0.0),
        ("top_p is 1.5;", |sampling| sampling.top_p = 1.5),
        ("min_p is -0.1;", |sampling| sampling.min_p = -0.1),
        ("min_p is 2;", |sampling| sampling.min_p = 2.0),
        ("repetition_penalty is 0;", |sampling| sampling.repetition_penalty = 0.0),
        ("repetition_penalty is inf;", |sampling| sampling.repetition_penalty = f32::INFINITY),
        ("repetition_window is 9999999;", |sampling| sampling.repetition_window = 9_999_999),
    ];
    for (expected, change) in wrong {
        let mut sampling = Sampling::default();
        sampling.check().expect("the default is in range");
        change(&mut sampling);
        let error = sampling.check().expect_err("it is out of range").to_string();
        assert!(error.starts_with(expected), "{error}");
        // Who does not ask gets a token all the same.
        assert!(Sampler::new(&sampling, 3).sample(&mut [1.0, 2.0, 3.0]) < 3);
    }
    Sampling::greedy().check().expect("greedy is in range");
}

#[test]
fn the_first_of_the_largest_is_greedy() {
    let mut sampler = Sampler::new(&Sampling::greedy(), 5);
    assert_eq!(sampler.sample(&mut [1.0, 3.0, 3.0, -1.0, 3.0]), 1);
    assert_eq!(sampler.sample(&mut [f32::NAN, -3.0, f32::NAN, -2.0, -2.0]), 3);
    assert_eq!(sampler.sample(&mut [-0.0, 0.0, -1.0, -1.0, 0.0]), 0);
}

#[test]
fn special_values_are_never_chosen_where_there_are_others() {
    const NAN: f32 = f32::NAN;
    const INF: f32 = f32::INFINITY;
    for sampling in ways() {
        let mut sampler = Sampler::new(&sampling, 4);
        for _ in 0..200 {
            assert_eq!(sampler.sample(&mut [NAN, NAN, -5.0, NAN]), 2);
            assert_eq!(sampler.sample(&mut [-INF, NAN, -INF, 1e30]), 3);
            assert_eq!(sampler.sample(&mut [1.0, INF, NAN, INF]), 1);
            assert_eq!(sampler.sample(&mut [NAN, -INF, NAN, -INF]), 1);
            assert_eq!(sampler.sample(&mut [NAN; 4]), 0);
            assert_eq!(sampler.sample(&mut [f32::MIN, f32::MAX, 0.0, f32::MIN]), 1);
            assert!([0, 3].contains(&sampler.sample(&mut [0.5, NAN, NAN, 0.5])));
        }
    }
}

#[test]
fn small_temperatures_are_greedy() {
    let mut random = Random(8);
    for temperature in [1e-45, 1e-38, 1e-6] {
        for way in ways() {
            let mut sampler = Sampler::new(&Sampling { temperature, ..way }, 300);
            let mut logits: Vec<f32> = (0..300).map(|_| random.unit() * 20.0 - 10.0).collect();
            logits[123] = 11.0;
            assert_eq!(sampler.sample(&mut logits), 123);
        }
    }
}

#[test]
fn a_single_logit_is_chosen() {
    for sampling in ways() {
        assert_eq!(Sampler::new(&sampling, 1).sample(&mut [-7.0]), 0);
    }
}

#[test]
#[should_panic(expected = "another number of logits")]
fn lengths_must_fit() {
    Sampler::new(&plain(), 4).sample(&mut [0.0; 5]);
}

#[test]
fn the_penalty_is_for_the_last_tokens_once() {
    let sampling = Sampling { repetition_penalty: 2.0, repetition_window: 2, ..Sampling::greedy() };
    let mut sampler = Sampler::new(&sampling, 4);
    let mut check = |accepted: &[u32], expected: [f32; 4]| {
        accepted.iter().for_each(|id| sampler.accept(*id));
        let mut logits = [4.0, -1.0, 3.0, f32::NAN];
        sampler.sample(&mut logits);
        assert_eq!(logits.map(f32::to_bits), expected.map(f32::to_bits));
    };
    check(&[], [4.0, -1.0, 3.0, f32::NAN]);
    check(&[0], [2.0, -1.0, 3.0, f32::NAN]);
    check(&[0], [2.0, -1.0, 3.0, f32::NAN]);
    check(&[1], [2.0, -2.0, 3.0, f32::NAN]);
    check(&[2], [4.0, -2.0, 1.5, f32::NAN]);
    // What is not a token has no logit.
    check(&[4, u32::MAX], [4.0, -2.0, 1.5, f32::NAN]);
}

#[test]
fn tokens_do_not_depend_on_machine_or_version() {
    let mut logits: Vec<f32> = (0..1000).map(|id| ((id * 7919 % 1000) as f32 / 100.0) - 5.0).collect();
    let mut ids = |sampling: Sampling| -> Vec<u32> {
        let mut sampler = Sampler::new(&Sampling { seed: 42, ..sampling }, 1000);
        (0..6).map(|_| sampler.sample(&mut logits)).collect()
    };
    // From a program in another language, with sums and exponentials of double precision.
    assert_eq!(ids(plain()), [816, 321, 977, 704, 803, 593]);
    assert_eq!(ids(Sampling::default()), [852, 321, 988, 704, 852, 605]);
    assert_eq!(ids(Sampling { top_p: 0.9, ..plain() }), [816, 321, 977, 704, 803, 593]);
}
