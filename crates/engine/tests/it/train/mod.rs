//! Learning: gradients beside central differences of decoders in f64, and beside PyTorch; and that it learns.

mod equal;
mod gradients;
mod learning;
mod parameters;
mod torch;

use engine::train::{Examples, Loss, Mode, Network, NetworkOptions, Parameters};
use engine::{Architecture, Compute, Config, Rope};
use kernels::{IGNORED_TARGET, RopePairing};

use crate::random::Random;

/// A model of odd sizes, whose queries are wider than its residual stream.
pub fn tiny(architecture: Architecture) -> Config {
    let features = architecture.features();
    // Adjacent pairs in the first half of a head alone, halves in all of it.
    let dims = if features.rope_pairing() == Some(RopePairing::Adjacent) { 2 } else { 4 };
    Config {
        architecture,
        vocab: 11,
        context: 9,
        width: 6,
        layers: 2,
        heads: 4,
        kv_heads: if features.grouped_queries { 2 } else { 4 },
        head_dim: 4,
        ffn: 7,
        norm_eps: 1e-5,
        rope: Rope::usual(architecture, dims, 50.0),
        window: None,
    }
}

/// Parameters of which every one matters: nothing is zero or one.
pub fn rough(config: &Config, tied: bool, seed: u64) -> Parameters {
    let mut parameters = Parameters::random(config.clone(), tied, seed).unwrap();
    let mut random = Random(seed);
    let Parameters { layout, values, .. } = &mut parameters;
    for entry in layout.entries() {
        let middle = if entry.info.name.contains("norm.weight") { 1.0 } else { 0.0 };
        values[entry.range.clone()].iter_mut().for_each(|value| *value = middle + random.unit() - 0.5);
    }
    parameters
}

/// Sequences with what is to be predicted, of which some is ignored.
pub struct Text {
    pub tokens: Vec<u32>,
    pub targets: Vec<u32>,
}

impl Text {
    pub fn random(vocab: usize, rows: usize, seed: u64) -> Self {
        let mut random = Random(seed);
        let tokens: Vec<u32> = (0..rows).map(|_| random.below(vocab) as u32).collect();
        let target = |_| if random.below(4) == 0 { IGNORED_TARGET } else { random.below(vocab) as u32 };
        Self { targets: (0..rows).map(target).collect(), tokens }
    }

    pub fn examples(&self) -> Examples<'_> {
        Examples { tokens: &self.tokens, targets: &self.targets }
    }
}

pub fn options(batch: usize, length: usize) -> NetworkOptions {
    NetworkOptions { batch, length, dropout: 0.0, recompute: false }
}

/// The loss and the gradients of one batch.
pub fn gradients(compute: &Compute, parameters: &Parameters, text: &Text, options: NetworkOptions) -> (Loss, Vec<f32>) {
    let mut network = Network::new(&parameters.config, &parameters.layout, options).unwrap();
    let loss = network.forward(compute, parameters, text.examples(), Mode::Learn { key: 7, scale: 0.25 });
    network.backward(compute, parameters, text.examples());
    (loss, network.gradients().to_vec())
}
