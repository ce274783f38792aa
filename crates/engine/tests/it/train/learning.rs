//! It learns; and dropout does what it should.

use engine::train::{Examples, Mode, Network, NetworkOptions, Parameters};
use engine::{Architecture, Compute, Config};

use super::{Text, gradients, options, rough, tiny};

/// Adam, written once more in f64 and plain loops.
struct Adam {
    moments: Vec<[f64; 2]>,
    steps: i32,
}

impl Adam {
    fn step(&mut self, values: &mut [f32], gradients: &[f32], rate: f64) {
        self.steps += 1;
        let corrections = [1.0 - 0.9f64.powi(self.steps), 1.0 - 0.99f64.powi(self.steps)];
        for ((value, gradient), [mean, square]) in values.iter_mut().zip(gradients).zip(&mut self.moments) {
            let gradient = f64::from(*gradient);
            *mean = 0.9 * *mean + 0.1 * gradient;
            *square = 0.99 * *square + 0.01 * gradient * gradient;
            let step = *mean / corrections[0] / ((*square / corrections[1]).sqrt() + 1e-8);
            *value -= (rate * step) as f32;
        }
    }
}

/// One batch is learned by heart.
#[test]
fn one_batch_is_learned_by_heart() {
    for architecture in Architecture::trainable() {
        let sizes = Config { vocab: 40, context: 16, width: 32, heads: 4, head_dim: 8, ffn: 48, ..tiny(architecture) };
        let compute = &Compute::new(Some(2)).unwrap();
        let mut parameters = Parameters::random(sizes.clone(), true, 1).unwrap();
        let text = Text::random(sizes.vocab, 4 * 16, 5);
        let mut network = Network::new(&sizes, &parameters.layout, options(4, 16)).unwrap();
        let mut adam = Adam { moments: vec![[0.0; 2]; parameters.values.len()], steps: 0 };
        let mut losses = Vec::new();
        for _ in 0..250 {
            network.zero_gradients(compute);
            let targets = text.targets.iter().filter(|target| **target != kernels::IGNORED_TARGET).count();
            let mode = Mode::Learn { key: 0, scale: 1.0 / targets as f32 };
            losses.push(network.forward(compute, &parameters, text.examples(), mode).mean());
            network.backward(compute, &parameters, text.examples());
            adam.step(&mut parameters.values, network.gradients(), 0.005);
        }
        assert!((losses[0] - 40f64.ln()).abs() < 0.1, "{}", losses[0]);
        let last = losses.last().unwrap();
        assert!(*last < 0.01, "{}: {last}", architecture.name());
    }
}

/// The slope along each tensor's gradient is the gradient's length, while the same values are dropped.
#[test]
fn gradients_pass_dropout_as_values_do() {
    let compute = &Compute::new(Some(1)).unwrap();
    for architecture in Architecture::trainable() {
        let config = tiny(architecture);
        let (parameters, text) = (rough(&config, false, 3), Text::random(config.vocab, 10, 4));
        let options = NetworkOptions { dropout: 0.4, ..options(2, 5) };
        let (_, all) = gradients(compute, &parameters, &text, options);
        let mut network = Network::new(&config, &parameters.layout, options).unwrap();
        for entry in parameters.layout.entries() {
            let gradient = &all[entry.range.clone()];
            let length = gradient.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
            if length < 1e-3 {
                continue;
            }
            let mut at = |step: f64| {
                let mut moved = parameters.clone();
                let values = moved.values[entry.range.clone()].iter_mut().zip(gradient);
                values.for_each(|(value, gradient)| *value += (step * f64::from(*gradient) / length) as f32);
                // The same key as for the gradients.
                network.forward(compute, &moved, text.examples(), Mode::Learn { key: 7, scale: 0.25 }).sum
            };
            let slope = 0.25 * (at(2e-3) - at(-2e-3)) / 4e-3;
            let what = format!("{} {}", architecture.name(), entry.info.name);
            assert!((slope - length).abs() < 5e-3 * length + 1e-4, "{what}: {slope} instead of {length}");
        }
    }
}

/// The share that was asked for is dropped, other values for other keys, and none while evaluating.
#[test]
fn dropout_drops_the_share_and_nothing_while_evaluating() {
    let compute = &Compute::new(Some(2)).unwrap();
    let config = Config { width: 64, heads: 4, head_dim: 16, ..tiny(Architecture::Llama) };
    let parameters = rough(&config, false, 3);
    let text = Text::random(config.vocab, 90, 4);
    let network =
        |dropout: f32| Network::new(&config, &parameters.layout, NetworkOptions { dropout, ..options(10, 9) }).unwrap();
    let (mut without, mut with) = (network(0.0), network(0.3));
    let loss = |network: &mut Network, mode: Mode| network.forward(compute, &parameters, text.examples(), mode);
    let plain = loss(&mut without, Mode::Evaluate);
    assert_eq!(plain, loss(&mut with, Mode::Evaluate));
    assert_eq!(plain, loss(&mut without, Mode::Learn { key: 1, scale: 1.0 }));
    let [one, again, two] = [1, 1, 2].map(|key| loss(&mut with, Mode::Learn { key, scale: 1.0 }));
    assert_eq!(one, again);
    assert!(one != two && one != plain);
}

/// Rows of the embedding of which the network reads nothing but their sum: the share of zeros can
/// be counted in their gradients.
#[test]
fn the_share_of_zeros_is_as_asked() {
    let compute = &Compute::new(Some(2)).unwrap();
    let config = Config { vocab: 200, context: 200, width: 64, heads: 4, head_dim: 16, ..tiny(Architecture::Llama) };
    let parameters = rough(&config, false, 3);
    let tokens: Vec<u32> = (0..200).collect();
    let targets: Vec<u32> = (0..200).map(|token| (token + 1) % 200).collect();
    let options = NetworkOptions { dropout: 0.3, ..options(1, 200) };
    let mut network = Network::new(&config, &parameters.layout, options).unwrap();
    let examples = Examples { tokens: &tokens, targets: &targets };
    network.forward(compute, &parameters, examples, Mode::Learn { key: 3, scale: 1.0 });
    network.backward(compute, &parameters, examples);
    let gradients = &network.gradients()[parameters.layout.range("token_embd.weight").unwrap()];
    let zeros = gradients.iter().filter(|value| **value == 0.0).count();
    let share = zeros as f64 / gradients.len() as f64;
    // The deviation of 12,800 draws is 0.004.
    assert!((share - 0.3).abs() < 0.016, "{share}");
}
