//! Every gradient of whole tiny models beside central differences of the decoders in f64.

use engine::train::{NetworkOptions, Parameters};
use engine::{Architecture, Compute, Config, Metadata};
use kernels::IGNORED_TARGET;

use super::{Text, gradients, options, rough, tiny};
use crate::reference::Reference;

/// The sum of the losses of all sequences in f64, times a scale.
fn loss(model: &Reference, text: &Text, length: usize) -> f64 {
    let mut sum = 0.0;
    for (tokens, targets) in text.tokens.chunks(length).zip(text.targets.chunks(length)) {
        for (row, target) in model.logits(tokens).iter().zip(targets).filter(|(_, target)| **target != IGNORED_TARGET) {
            let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let all = row.iter().map(|logit| (logit - most).exp()).sum::<f64>();
            sum += most + all.ln() - row[*target as usize];
        }
    }
    sum
}

/// The derivative by every value of a tensor. The error of the quotient is some 1e-9 of the derivatives here.
fn differences(model: &mut Reference, name: &str, loss: &dyn Fn(&Reference) -> f64) -> Vec<f64> {
    const STEP: f64 = 1e-5;
    let count = model.tensor_mut(name).len();
    let mut derivative = |index: usize| {
        let before = model.tensor_mut(name)[index];
        let mut at = |value: f64| {
            model.tensor_mut(name)[index] = value;
            loss(model)
        };
        let difference = at(before + STEP) - at(before - STEP);
        model.tensor_mut(name)[index] = before;
        difference / (2.0 * STEP)
    };
    (0..count).map(&mut derivative).collect()
}

/// All gradients of a batch, tensor by tensor.
fn check(what: &str, parameters: &Parameters, text: &Text, options: NetworkOptions) {
    let compute = &Compute::new(Some(2)).unwrap();
    let (found, ours) = gradients(compute, parameters, text, options);
    let mut model = Reference::new(&parameters.source(Metadata::default()));
    let of = |model: &Reference| loss(model, text, options.length);
    let exact = of(&model);
    assert!((found.sum - exact).abs() < 2e-6 * exact, "{what}: a loss of {} instead of {exact}", found.sum);
    assert_eq!(found.targets, text.targets.iter().filter(|target| **target != IGNORED_TARGET).count());
    let mut used = vec![false; ours.len()];
    for entry in parameters.layout.entries() {
        // What gradients are scaled with.
        let exact: Vec<f64> =
            differences(&mut model, &entry.info.name, &of).into_iter().map(|value| value * 0.25).collect();
        let largest = exact.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
        assert!(largest > 1e-4, "{what}: nothing to see in {}", entry.info.name);
        for (index, (ours, exact)) in ours[entry.range.clone()].iter().zip(&exact).enumerate() {
            let apart = (f64::from(*ours) - exact).abs();
            let name = &entry.info.name;
            assert!(apart < 1e-5 * largest + 1e-8, "{what}: {name}[{index}]: {ours} instead of {exact} ({largest})");
        }
        used[entry.range.clone()].fill(true);
    }
    let between = ours.iter().zip(&used).filter(|(value, used)| !**used && **value != 0.0).count();
    assert_eq!(between, 0, "{what}: what lies between tensors changes");
}

#[test]
fn every_gradient_is_that_of_central_differences() {
    for architecture in Architecture::trainable() {
        for (tied, recompute) in [(true, false), (false, true)] {
            let config = tiny(architecture);
            let parameters = rough(&config, tied, 3);
            let text = Text::random(config.vocab, 15, 4);
            let what = format!("{} tied {tied} recompute {recompute}", architecture.name());
            check(&what, &parameters, &text, NetworkOptions { recompute, ..options(3, 5) });
        }
    }
}

#[test]
fn windows_groups_and_odd_widths_too() {
    let llama = tiny(Architecture::Llama);
    let one_key = Config { kv_heads: 1, window: Some(3), head_dim: 6, ..llama.clone() };
    let many = Config { kv_heads: 4, width: 5, ffn: 3, layers: 1, ..llama.clone() };
    let wide = Config { width: 17, heads: 2, kv_heads: 1, head_dim: 2, ffn: 19, vocab: 5, layers: 1, ..llama };
    let gpt2 = Config { window: Some(2), head_dim: 5, ..tiny(Architecture::Gpt2) };
    for (number, config) in [one_key, many, wide, gpt2].into_iter().enumerate() {
        let parameters = rough(&config, number % 2 == 0, 11);
        let text = Text::random(config.vocab, 14, 12);
        check(&format!("case {number}"), &parameters, &text, options(2, 7));
    }
}

/// A sequence of one token, and fewer sequences than there is room for.
#[test]
fn short_sequences_and_part_of_a_batch() {
    let config = tiny(Architecture::Llama);
    let parameters = rough(&config, false, 5);
    let text = Text { tokens: vec![3, 9, 4], targets: vec![1, 2, 10] };
    let compute = &Compute::new(Some(1)).unwrap();
    let (short, all) = gradients(compute, &parameters, &text, options(5, 1));
    let exact = loss(&Reference::new(&parameters.source(Metadata::default())), &text, 1);
    assert!((short.sum - exact).abs() < 2e-6 * exact);
    // A single position weighs one whatever queries and keys are.
    for entry in parameters.layout.entries() {
        let zero = all[entry.range.clone()].iter().all(|value| value.abs() < 1e-7);
        let unseen = ["attn_q.weight", "attn_k.weight"].iter().any(|part| entry.info.name.ends_with(part));
        assert_eq!(zero, unseen, "{}", entry.info.name);
    }
    check("part of a batch", &parameters, &Text::random(config.vocab, 10, 6), options(4, 5));
}
