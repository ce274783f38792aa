//! What must not change what is computed: threads, recomputation, batches; and the inference of the same model.

use engine::train::{Examples, Mode, Network, NetworkOptions, NonFinitePlace};
use engine::{Architecture, CacheType, Compute, Config, Metadata, Reading, perplexity};

use super::{Text, gradients, options, rough, tiny};
use crate::trials::load;

/// Large enough for several threads and several blocks of rows.
fn small(architecture: Architecture) -> Config {
    Config { vocab: 300, context: 40, width: 48, heads: 4, head_dim: 12, ffn: 72, layers: 3, ..tiny(architecture) }
}

#[test]
fn no_bit_depends_on_threads_or_recomputation() {
    for architecture in Architecture::trainable() {
        let config = small(architecture);
        let (parameters, text) = (rough(&config, true, 1), Text::random(config.vocab, 6 * 33, 2));
        for dropout in [0.0, 0.1] {
            let options = NetworkOptions { dropout, ..options(6, 33) };
            let first = gradients(&Compute::new(Some(1)).unwrap(), &parameters, &text, options);
            for threads in 1..=3 {
                for recompute in [false, true] {
                    let compute = &Compute::new(Some(threads)).unwrap();
                    let options = NetworkOptions { recompute, ..options };
                    let (loss, all) = gradients(compute, &parameters, &text, options);
                    let what = format!("{} {threads} threads recompute {recompute}", architecture.name());
                    assert_eq!(loss, first.0, "{what}");
                    let same = all.iter().zip(&first.1).all(|(a, b)| a.to_bits() == b.to_bits());
                    assert!(same, "{what}");
                }
            }
        }
    }
}

/// What recomputation saves: all that is kept of a layer but the stream before it, of every layer but one.
#[test]
fn recomputation_takes_less_memory() {
    let config = Config { layers: 6, ..small(Architecture::Llama) };
    let layout = &rough(&config, true, 1).layout;
    let [all, less] = [false, true].map(|recompute| {
        Network::new(&config, layout, NetworkOptions { recompute, ..options(6, 32) }).unwrap().memory()
    });
    // Two norms, queries, keys and values, what attention gives and its logarithms, the stream
    // between, gate, up and what goes down.
    let row = 2 * 48 + (48 + 2 * 24) + 48 + 4 + 48 + 3 * 72;
    assert_eq!(all - less, 5 * 4 * 6 * 32 * row);
}

/// One batch of all sequences, and one of each: the gradients add up.
#[test]
fn gradients_accumulate() {
    let compute = &Compute::new(Some(1)).unwrap();
    for architecture in Architecture::trainable() {
        let config = small(architecture);
        let (parameters, text) = (rough(&config, false, 1), Text::random(config.vocab, 4 * 20, 2));
        let (loss, whole) = gradients(compute, &parameters, &text, options(4, 20));
        let mut network = Network::new(&config, &parameters.layout, options(1, 20)).unwrap();
        let mut sum = 0.0;
        for (tokens, targets) in text.tokens.chunks(20).zip(text.targets.chunks(20)) {
            let examples = Examples { tokens, targets };
            sum += network.forward(compute, &parameters, examples, Mode::Learn { key: 7, scale: 0.25 }).sum;
            network.backward(compute, &parameters, examples);
        }
        assert!((sum - loss.sum).abs() < 1e-5 * sum);
        for entry in parameters.layout.entries() {
            let (whole, parts) = (&whole[entry.range.clone()], &network.gradients()[entry.range.clone()]);
            let largest = whole.iter().fold(1e-3, |most: f32, value| most.max(value.abs()));
            for (one, many) in whole.iter().zip(parts) {
                assert!((one - many).abs() < 5e-6 * largest, "{}: {one} {many} {largest}", entry.info.name);
            }
        }
        network.zero_gradients(compute);
        assert!(network.gradients().iter().all(|value| *value == 0.0));
    }
}

/// Gradients that are begun anew have the bits of those that were zero before, and the next batch is added to them.
#[test]
fn gradients_begin_anew() {
    let compute = &Compute::new(Some(2)).unwrap();
    let large = Config { vocab: 90_000, layers: 1, ..tiny(Architecture::Gpt2) };
    for (config, tied) in Architecture::trainable().map(|it| (tiny(it), it.features().tied_head)).chain([(large, true)])
    {
        let parameters = rough(&config, tied, 1);
        let mut networks = [0, 1].map(|_| Network::new(&config, &parameters.layout, options(30, 8)).unwrap());
        for step in 0..2 {
            networks[0].renew_gradients();
            networks[1].zero_gradients(compute);
            for batch in 0..2 {
                let text = Text::random(config.vocab, 8 * 30, 2 * step + batch);
                for network in &mut networks {
                    network.forward(compute, &parameters, text.examples(), Mode::Learn { key: 7, scale: 0.25 });
                    network.backward(compute, &parameters, text.examples());
                }
            }
            let [anew, zeroed] = networks.each_ref().map(|network| network.gradients());
            assert!(anew == zeroed, "{:?}, step {step}", config.architecture);
        }
    }
}

/// A vocabulary whose logits do not fit at once: the head's gradients are made in the forward pass.
#[test]
fn logits_in_parts_give_the_same() {
    let compute = &Compute::new(Some(2)).unwrap();
    let config = Config { vocab: 90_000, layers: 1, ..tiny(Architecture::Llama) };
    let (parameters, text) = (rough(&config, false, 1), Text::random(config.vocab, 8 * 30, 2));
    // 64 MiB are 186 rows of this vocabulary.
    let (loss, whole) = gradients(compute, &parameters, &text, options(8, 30));
    let (mut sum, mut parts) = (0.0, vec![0.0; whole.len()]);
    for (tokens, targets) in text.tokens.chunks(60).zip(text.targets.chunks(60)) {
        let text = Text { tokens: tokens.to_vec(), targets: targets.to_vec() };
        let (loss, gradients) = gradients(compute, &parameters, &text, options(2, 30));
        sum += loss.sum;
        parts.iter_mut().zip(gradients).for_each(|(sum, value)| *sum += value);
    }
    assert!((sum - loss.sum).abs() < 1e-6 * sum, "{sum} {loss:?}");
    let largest = whole.iter().fold(0.0, |most: f32, value| most.max(value.abs()));
    for (one, many) in whole.iter().zip(parts) {
        assert!((one - many).abs() < 1e-5 * largest, "{one} {many} {largest}");
    }
}

/// The loss of a text is what inference says that it costs.
#[test]
fn inference_computes_the_same_losses() {
    for architecture in Architecture::trainable() {
        for tied in [true, false] {
            let compute = &Compute::new(Some(2)).unwrap();
            let config = Config { window: Some(20), ..small(architecture) };
            let parameters = rough(&config, tied, 8);
            let text = Text::random(config.vocab, 34, 9);
            let mut network = Network::new(&config, &parameters.layout, options(1, 33)).unwrap();
            let examples = Examples { tokens: &text.tokens[..33], targets: &text.tokens[1..] };
            let loss = network.forward(compute, &parameters, examples, Mode::Evaluate);
            let model = load(&parameters.source(Metadata::default()), compute);
            assert_eq!(model.config, config);
            let reading = Reading { window: Some(33), cache: CacheType::F32 };
            let nll = perplexity(&model, compute, &text.tokens, reading).unwrap();
            assert!((nll.mean - loss.mean()).abs() < 1e-6 * nll.mean, "{} {}", nll.mean, loss.mean());
            for (ours, inference) in network.losses().iter().zip(&nll.each) {
                assert!((ours - inference).abs() < 2e-5 * inference.max(1.0), "{ours} {inference}");
            }
        }
    }
}

/// What is infinite or no number is found where it begins.
#[test]
fn the_first_number_that_is_none_is_found() {
    let compute = &Compute::new(Some(1)).unwrap();
    let config = tiny(Architecture::Gpt2);
    let text = Text::random(config.vocab, 10, 2);
    for recompute in [false, true] {
        let options = NetworkOptions { recompute, ..options(2, 5) };
        let mut parameters = rough(&config, true, 1);
        let mut network = Network::new(&config, &parameters.layout, options).unwrap();
        let mut learn = |parameters: &engine::train::Parameters| {
            network.zero_gradients(compute);
            network.forward(compute, parameters, text.examples(), Mode::Learn { key: 0, scale: 1.0 });
            network.backward(compute, parameters, text.examples());
            network.first_non_finite(compute, parameters)
        };
        assert_eq!(learn(&parameters), None);
        let up = parameters.layout.range("blk.1.ffn_down.weight").unwrap();
        let before = parameters.values[up.start];
        parameters.values[up.start] = f32::NAN;
        let place = learn(&parameters).unwrap();
        assert_eq!(place.to_string(), "the parameters blk.1.ffn_down.weight");
        // Finite numbers whose product is not.
        parameters.values[up.start] = before;
        let up = parameters.layout.range("blk.1.ffn_up.bias").unwrap();
        parameters.values[up.clone()].fill(3e38);
        let down = parameters.layout.range("blk.1.ffn_down.weight").unwrap();
        parameters.values[down].fill(3e38);
        let place = learn(&parameters).unwrap();
        let expected = NonFinitePlace::Activation { layer: Some(1), step: "ffn_down", sequence: 0, position: 0 };
        assert_eq!(place, expected, "{place}");
        assert_eq!(place.to_string(), "the step ffn_down of layer 1, sequence 0 of the batch, position 0");
    }
}

/// A gradient that overflows is found where the backward pass met it first, though it has spread to
/// all layers in front.
#[test]
fn the_first_gradient_that_is_none_is_found() {
    let compute = &Compute::new(Some(1)).unwrap();
    let config = tiny(Architecture::Gpt2);
    let text = Text::random(config.vocab, 10, 2);
    let mut parameters = rough(&config, true, 1);
    let mut network = Network::new(&config, &parameters.layout, options(2, 5)).unwrap();
    // So far below zero GELU and its slope are zero: forward nothing comes of the huge weights
    // behind it, backward infinity times zero.
    let range = |name: &str| parameters.layout.range(name).unwrap();
    let (bias, down) = (range("blk.1.ffn_up.bias"), range("blk.1.ffn_down.weight"));
    parameters.values[bias].fill(-30.0);
    parameters.values[down].fill(3e38);
    network.zero_gradients(compute);
    let loss = network.forward(compute, &parameters, text.examples(), Mode::Learn { key: 0, scale: 1e4 });
    assert!(loss.sum.is_finite());
    network.backward(compute, &parameters, text.examples());
    let place = network.first_non_finite(compute, &parameters).unwrap();
    assert_eq!(place.to_string(), "the gradient of blk.1.ffn_up.bias");
    let first = parameters.layout.range("token_embd.weight").unwrap();
    assert!(network.gradients()[first].iter().any(|value| value.is_nan()));
}
