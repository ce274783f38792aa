//! Chance beside a plain reference: sort everything, add up in f64, choose.

use engine::{Sampler, Sampling};

use crate::random::Random;

/// The probability of every token, as the settings say.
fn reference(logits: &[f32], sampling: &Sampling) -> Vec<f64> {
    let mut order: Vec<usize> = (0..logits.len()).filter(|id| !logits[*id].is_nan()).collect();
    order.sort_by(|a, b| logits[*b].partial_cmp(&logits[*a]).unwrap().then(a.cmp(b)));
    if sampling.top_k > 0 {
        order.truncate(sampling.top_k);
    }
    let largest = f64::from(logits[order[0]]);
    let weight = |id: &usize| ((f64::from(logits[*id]) - largest) / f64::from(sampling.temperature)).exp();
    let total: f64 = order.iter().map(weight).sum();
    let mut sum = 0.0;
    let mut kept = Vec::new();
    for id in &order {
        if sum >= f64::from(sampling.top_p) * total && !kept.is_empty() {
            break;
        }
        sum += weight(id);
        kept.push(*id);
    }
    kept.retain(|id| weight(id) >= f64::from(sampling.min_p));
    let total: f64 = kept.iter().map(weight).sum();
    let mut probabilities = vec![0.0; logits.len()];
    kept.iter().for_each(|id| probabilities[*id] = weight(id) / total);
    probabilities
}

fn logits(random: &mut Random, vocab: usize, few_values: bool) -> Vec<f32> {
    (0..vocab)
        .map(|_| match random.below(40) {
            0 => f32::NAN,
            1 => f32::NEG_INFINITY,
            _ if few_values => random.below(5) as f32,
            _ => (random.unit() + random.unit() + random.unit() - 1.5) * 8.0,
        })
        .collect()
}

fn settings(random: &mut Random, vocab: usize) -> Sampling {
    let one_of = |random: &mut Random, values: &[f32]| values[random.below(values.len())];
    Sampling {
        temperature: one_of(random, &[0.3, 1.0, 2.5]),
        top_k: [0, 0, 1, 2, 40, vocab / 2, vocab - 1, vocab][random.below(8)],
        top_p: one_of(random, &[1.0, 1.0, 0.95, 0.5, 0.01]),
        min_p: one_of(random, &[0.0, 0.0, 0.05, 0.5, 1.0]),
        seed: random.next(),
        ..Sampling::greedy()
    }
}

/// Every way of choosing keeps just the tokens that the reference keeps. Cuts through equal sums
/// are left out: there rounding decides.
#[test]
fn only_what_the_reference_keeps_is_chosen() {
    let mut random = Random(21);
    for round in 0..1000 {
        let vocab = [2, 3, 16, 17, 255, 256, 257, 1000, 3000][random.below(9)];
        let mut logits = logits(&mut random, vocab, round % 3 == 0);
        logits[random.below(vocab)] = 4.0;
        let sampling = settings(&mut random, vocab);
        let probabilities = reference(&logits, &sampling);
        let near = |top_p: f32| reference(&logits, &Sampling { top_p, ..sampling.clone() });
        let doubtful = sampling.top_p < 1.0
            && (near(sampling.top_p * 0.99999) != probabilities || near(sampling.top_p * 1.00001) != probabilities);
        let mut sampler = Sampler::new(&sampling, vocab);
        for _ in 0..50 {
            let id = sampler.sample(&mut logits) as usize;
            assert!(probabilities[id] > 0.0 || doubtful, "{sampling:?} chose {id}, {}, of {vocab}", logits[id]);
        }
    }
}

/// χ² of 20,000 draws: the chance that right code fails is one in a million for each case, and the
/// draws are the same in every run.
#[test]
fn tokens_are_as_likely_as_the_reference_says() {
    const DRAWS: usize = 20_000;
    let mut random = Random(5);
    for round in 0..40 {
        let vocab = [5, 300, 600][random.below(3)];
        let mut logits = logits(&mut random, vocab, round % 4 == 0);
        logits[0] = 1.0;
        let sampling = settings(&mut random, vocab);
        let probabilities = reference(&logits, &sampling);
        let mut counts = vec![0usize; vocab];
        let mut sampler = Sampler::new(&sampling, vocab);
        (0..DRAWS).for_each(|_| counts[sampler.sample(&mut logits) as usize] += 1);
        // Those that are expected less than ten times are counted together.
        let (mut statistic, mut freedom, mut rare) = (0.0, -1.0, (0.0, 0.0));
        for (count, probability) in counts.iter().zip(&probabilities) {
            let (count, expected) = (*count as f64, probability * DRAWS as f64);
            if expected < 10.0 {
                rare = (rare.0 + count, rare.1 + expected);
            } else {
                statistic += (count - expected).powi(2) / expected;
                freedom += 1.0;
            }
        }
        assert!((rare.0 - rare.1).abs() < 5.0 * rare.1.sqrt() + 5.0, "{sampling:?}: {rare:?}");
        let bound = freedom + 5.0 * (2.0 * f64::max(freedom, 0.0)).sqrt() + 12.0;
        assert!(statistic < bound, "{sampling:?}: {statistic} with {freedom} degrees of freedom");
    }
}

#[test]
fn the_same_seed_gives_the_same_tokens() {
    let mut random = Random(9);
    let mut logits = logits(&mut random, 2000, false);
    for way in [Sampling::default(), Sampling { top_k: 0, ..Sampling::default() }] {
        let mut draw = |seed: u64| -> Vec<u32> {
            let mut sampler = Sampler::new(&Sampling { seed, temperature: 1.5, ..way.clone() }, 2000);
            (0..64).map(|_| sampler.sample(&mut logits)).collect()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }
}
