//! Losses, gradients and steps of AdamW beside those of PyTorch, as `tests/data/train_torch.py` wrote them.

use engine::train::{Mode, Network, Optimiser, OptimiserKind, Parameters, StepSize};
use engine::{Architecture, Compute, Config};
use kernels::IGNORED_TARGET;
use serde::Deserialize;
use std::collections::BTreeMap;

use super::{Text, options, tiny};

const BATCH: usize = 3;
const LENGTH: usize = 7;

#[derive(Deserialize)]
struct TorchFile {
    models: Vec<Model>,
}

#[derive(Deserialize)]
struct Model {
    sizes: Sizes,
    losses: Vec<f64>,
    gradients: BTreeMap<String, TorchResult>,
    parameters: BTreeMap<String, TorchResult>,
}

#[derive(Deserialize)]
struct Sizes {
    name: String,
    vocab: usize,
    context: usize,
    width: usize,
    layers: usize,
    heads: usize,
    kv_heads: usize,
    head_dim: usize,
    ffn: usize,
}

/// Of all values of a tensor, and eight of them from end to end.
#[derive(Deserialize)]
struct TorchResult {
    sum: f64,
    norm: f64,
    values: Vec<f64>,
}

impl TorchResult {
    fn of(values: &[f32]) -> Self {
        let at = |index: usize| f64::from(values[index * (values.len() - 1) / 7]);
        let all = || values.iter().map(|value| f64::from(*value));
        Self {
            sum: all().sum(),
            norm: all().map(|value| value * value).sum::<f64>().sqrt(),
            values: (0..8).map(at).collect(),
        }
    }

    fn check(&self, what: &str, ours: &Self, share: f64) {
        let close = |theirs: f64, ours: f64| (theirs - ours).abs() < share * self.norm + 1e-7;
        assert!(close(self.sum, ours.sum), "{what}: a sum of {} instead of {}", ours.sum, self.sum);
        assert!(close(self.norm, ours.norm), "{what}: a length of {} instead of {}", ours.norm, self.norm);
        for (theirs, value) in self.values.iter().zip(&ours.values) {
            assert!(close(*theirs, *value), "{what}: {:?} instead of {:?}", ours.values, self.values);
        }
    }
}

/// The same formulas as in the script.
fn parameters(sizes: &Sizes) -> Parameters {
    let architecture = Architecture::from_name(&sizes.name).unwrap();
    let mut config = Config {
        architecture,
        vocab: sizes.vocab,
        context: sizes.context,
        width: sizes.width,
        layers: sizes.layers,
        heads: sizes.heads,
        kv_heads: sizes.kv_heads,
        head_dim: sizes.head_dim,
        ffn: sizes.ffn,
        ..tiny(architecture)
    };
    if let Some(rope) = &mut config.rope {
        (rope.dims, rope.base) = (sizes.head_dim, 10_000.0);
    }
    let mut parameters = Parameters::random(config, architecture.features().tied_head, 0).unwrap();
    let Parameters { layout, values, .. } = &mut parameters;
    for entry in layout.entries() {
        let phase = f64::from(entry.info.name.bytes().map(u32::from).sum::<u32>() % 97);
        let middle = if entry.info.name.ends_with("norm.weight") { 1.0 } else { 0.0 };
        for (index, value) in values[entry.range.clone()].iter_mut().enumerate() {
            *value = (middle + 0.5 * (0.7 * index as f64 + phase).sin()) as f32;
        }
    }
    parameters
}

fn text(vocab: usize) -> Text {
    let rows = 0..BATCH * LENGTH;
    let target = |row: usize| if row % 5 == 3 { IGNORED_TARGET } else { ((7 * row + 2) % vocab) as u32 };
    Text {
        tokens: rows.clone().map(|row| ((3 * row * row + 5 * row + 1) % vocab) as u32).collect(),
        targets: rows.map(target).collect(),
    }
}

fn check(model: &Model) {
    let compute = &Compute::new(Some(1)).unwrap();
    let mut parameters = parameters(&model.sizes);
    let text = text(model.sizes.vocab);
    let mut network = Network::new(&parameters.config, &parameters.layout, options(BATCH, LENGTH)).unwrap();
    let kind = OptimiserKind::AdamW { beta1: 0.9, beta2: 0.95, eps: 1e-4 };
    let mut optimiser = Optimiser::new(kind, 0.1, &parameters.layout).unwrap();
    let targets = text.targets.iter().filter(|target| **target != IGNORED_TARGET).count();
    for (step, loss) in model.losses.iter().enumerate() {
        network.zero_gradients(compute);
        let mode = Mode::Learn { key: 0, scale: 1.0 / targets as f32 };
        let ours = network.forward(compute, &parameters, text.examples(), mode).mean();
        assert!((ours - loss).abs() < 1e-5 * loss, "{} step {step}: {ours} instead of {loss}", model.sizes.name);
        network.backward(compute, &parameters, text.examples());
        for entry in parameters.layout.entries().iter().filter(|_| step == 0) {
            let what = format!("{} gradient of {}", model.sizes.name, entry.info.name);
            let ours = TorchResult::of(&network.gradients()[entry.range.clone()]);
            model.gradients[&entry.info.name].check(&what, &ours, 1e-5);
        }
        optimiser.step(compute, &mut parameters, network.gradients(), StepSize::new(0.01));
    }
    assert_eq!(parameters.layout.entries().len(), model.parameters.len());
    for entry in parameters.layout.entries() {
        let what = format!("{} {} after the steps", model.sizes.name, entry.info.name);
        model.parameters[&entry.info.name].check(
            &what,
            &TorchResult::of(&parameters.values[entry.range.clone()]),
            1e-5,
        );
    }
}

#[test]
fn losses_gradients_and_steps_are_those_of_pytorch() {
    let made: TorchFile = serde_json::from_str(include_str!("../../data/train_torch.json")).unwrap();
    let names: Vec<_> = made.models.iter().map(|model| model.sizes.name.as_str()).collect();
    assert_eq!(names, ["gpt2", "llama"]);
    made.models.iter().for_each(check);
}
