//! Every layer by itself: what it gives beside its definition in f64, and its gradients beside
//! central differences of that.
//!
//! The loss is the sum of all outputs, each times a number of its own, so that every way through a layer shows.

use kernels::{AlignedBuffer, RopePairing, RopeSpec, RopeTable};

use super::dropout::Dropout;
use super::*;
use crate::train::arena::{ArenaViews, Sizes};
use crate::train::layers::linear::Tape;
use crate::train::plan::Plan;
use crate::train::{Layout, NetworkOptions};
use crate::{Architecture, Rope};

const BATCH: usize = 3;
const LENGTH: usize = 5;
const ROWS: usize = BATCH * LENGTH;

/// A model of one layer, with all it needs for a pass.
struct LayerTest {
    config: Config,
    layout: Layout,
    plan: Plan,
    values: Vec<f32>,
    options: NetworkOptions,
    tokens: Vec<u32>,
    targets: Vec<u32>,
    compute: Compute,
}

/// Numbers between −½ and ½ without a pattern.
fn random(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed;
    let unit = |_| (crate::synthetic::next(&mut state) >> 40) as f32 / (1 << 24) as f32 - 0.5;
    (0..count).map(unit).collect()
}

fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().map(|value| f64::from(*value)).collect()
}

impl LayerTest {
    fn new(architecture: Architecture) -> Self {
        let features = architecture.features();
        let rope = Rope::usual(architecture, 4, 30.0);
        let config = Config {
            architecture,
            vocab: 13,
            context: 7,
            width: 6,
            layers: 1,
            heads: 4,
            kv_heads: if features.grouped_queries { 2 } else { 4 },
            head_dim: 4,
            ffn: 9,
            norm_eps: 1e-3,
            rope: rope.map(|rope| Rope { position_scale: 0.5, ..rope }),
            window: (features.rope_pairing() == Some(RopePairing::Halves)).then_some(3),
        };
        let layout = Layout::new(&config, false).unwrap();
        let mut state = 9;
        let mut token = |count: u64| (crate::synthetic::next(&mut state) % count) as u32;
        Self {
            plan: Plan::new(&config, &layout).unwrap(),
            values: random(layout.len(), 1),
            options: NetworkOptions { batch: BATCH, length: LENGTH, dropout: 0.0, recompute: false },
            tokens: (0..ROWS).map(|_| token(13)).collect(),
            targets: (0..ROWS).map(|row| if row == 4 { kernels::IGNORED_TARGET } else { token(13) }).collect(),
            compute: Compute::new(Some(2)).unwrap(),
            config,
            layout,
        }
    }

    /// Runs a layer with the memory of a step; the gradients of all parameters come back.
    fn run(&self, dropout: Option<Dropout>, work: impl FnOnce(&Pass<'_>, &mut ArenaViews<'_>)) -> Vec<f32> {
        let sizes = Sizes::new(&self.config, &self.options);
        let scratch = 2 * attention::scratch_of_one(&self.config, LENGTH);
        let (mut arena, mut scratch) = (AlignedBuffer::zeroed(sizes.len()), vec![0.0; scratch]);
        let mut gradients = vec![0.0; self.layout.len()];
        let table = self.config.rope.as_ref().map(|rope| {
            let (pairing, dims, base, position_scale) = (rope.pairing, rope.dims, rope.base, rope.position_scale);
            RopeTable::new(&RopeSpec { pairing, dims, base, position_scale, factors: None }, LENGTH)
        });
        let pass = Pass {
            compute: &self.compute,
            config: &self.config,
            values: &self.values,
            examples: Examples { tokens: &self.tokens, targets: &self.targets },
            length: LENGTH,
            dropout,
            rope: table.as_ref(),
            fresh: false,
        };
        work(&pass, &mut sizes.parts(&mut arena, &mut gradients, &mut scratch, ROWS));
        gradients
    }

    fn at(&self, name: &str) -> std::ops::Range<usize> {
        self.layout.range(name).unwrap()
    }
}

/// What a layer gave, and its gradients, for outputs that count as `weights` say.
struct LayerResult {
    out: Vec<f32>,
    d_input: Vec<f32>,
    d_values: Vec<f32>,
}

#[track_caller]
fn close(what: &str, ours: &[f32], exact: &[f64]) {
    assert_eq!(ours.len(), exact.len(), "{what}");
    let largest = exact.iter().fold(1e-3, |most: f64, value| most.max(value.abs()));
    for (index, (ours, exact)) in ours.iter().zip(exact).enumerate() {
        let apart = (f64::from(*ours) - exact).abs();
        assert!(apart < 3e-6 * largest, "{what}[{index}]: {ours} instead of {exact} of up to {largest}");
    }
}

/// Checks a layer beside `exact`, which makes its output from an input and all parameters.
#[track_caller]
fn check(what: &str, result: &LayerResult, at: [&[f32]; 3], exact: impl Fn(&[f64], &[f64]) -> Vec<f64>) {
    let [input, values, weights] = at.map(wide);
    close(&format!("{what}: the output"), &result.out, &exact(&input, &values));
    let loss = |input: &[f64], values: &[f64]| {
        exact(input, values).iter().zip(&weights).map(|(out, weight)| out * weight).sum::<f64>()
    };
    let slopes = |of: &[f64], loss: &dyn Fn(&[f64]) -> f64| -> Vec<f64> {
        const STEP: f64 = 1e-4;
        let slope = |index: usize| {
            let moved = |step: f64| {
                let mut moved = of.to_vec();
                moved[index] += step;
                loss(&moved)
            };
            // Of the fourth order: the error is some 1e-12.
            (8.0 * (moved(STEP) - moved(-STEP)) - (moved(2.0 * STEP) - moved(-2.0 * STEP))) / (12.0 * STEP)
        };
        (0..of.len()).map(slope).collect()
    };
    close(&format!("{what}: the gradient of the input"), &result.d_input, &slopes(&input, &|x| loss(x, &values)));
    close(&format!("{what}: those of the parameters"), &result.d_values, &slopes(&values, &|v| loss(&input, v)));
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn linear(values: &[f64], layer: &linear::Linear, rows: &[f64]) -> Vec<f64> {
    let bias = |output: usize| layer.bias.clone().map_or(0.0, |bias| values[bias][output]);
    let weight = &values[layer.weight.clone()];
    let row = |row: &[f64]| -> Vec<f64> {
        weight.chunks(layer.inputs).enumerate().map(|(output, weight)| dot(weight, row) + bias(output)).collect()
    };
    rows.chunks(layer.inputs).flat_map(row).collect()
}

fn norm(values: &[f64], layer: &norm::Norm, eps: f32, rows: &[f64]) -> Vec<f64> {
    let width = layer.weight.len();
    let row = |row: &[f64]| -> Vec<f64> {
        let mean = if layer.bias.is_some() { row.iter().sum::<f64>() / width as f64 } else { 0.0 };
        let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / width as f64;
        let factor = 1.0 / (variance + f64::from(eps)).sqrt();
        let bias = |at: usize| layer.bias.clone().map_or(0.0, |bias| values[bias][at]);
        (0..width).map(|at| (row[at] - mean) * factor * values[layer.weight.start + at] + bias(at)).collect()
    };
    rows.chunks(width).flat_map(row).collect()
}

fn turn(rope: &Rope, position: usize, head: &mut [f64]) {
    for pair in 0..rope.dims / 2 {
        let angle = position as f64 * rope.position_scale * rope.base.powf(-2.0 * pair as f64 / rope.dims as f64);
        let (a, b) = match rope.pairing {
            RopePairing::Adjacent => (2 * pair, 2 * pair + 1),
            RopePairing::Halves => (pair, pair + rope.dims / 2),
        };
        let (x, y) = (head[a], head[b]);
        head[a] = x * angle.cos() - y * angle.sin();
        head[b] = x * angle.sin() + y * angle.cos();
    }
}

/// Attention of one head of queries over the rows of its sequence.
fn attend(config: &Config, qkv: &[Vec<f64>], position: usize, head: usize) -> Vec<f64> {
    let (dim, kv) = (config.head_dim, head / config.group());
    let first = config.window.map_or(0, |window| (position + 1).saturating_sub(window));
    let key = |at: usize| &qkv[at][config.queries() + kv * dim..][..dim];
    let value = |at: usize| &qkv[at][config.queries() + config.keys() + kv * dim..][..dim];
    let query = &qkv[position][head * dim..][..dim];
    let weight = |at: usize| (dot(query, key(at)) / (dim as f64).sqrt()).exp();
    let sum: f64 = (first..=position).map(weight).sum();
    (0..dim).map(|column| (first..=position).map(|at| weight(at) * value(at)[column] / sum).sum()).collect()
}

fn attention(test: &LayerTest, stream: &[f64], values: &[f64]) -> Vec<f64> {
    let (config, layer) = (&test.config, &test.plan.layers[0].0);
    let rows = linear(values, &layer.qkv, &norm(values, &layer.norm, config.norm_eps, stream));
    let mut attended = Vec::new();
    for sequence in rows.chunks(LENGTH * layer.qkv.outputs) {
        let mut qkv: Vec<Vec<f64>> = sequence.chunks(layer.qkv.outputs).map(<[f64]>::to_vec).collect();
        for (position, row) in qkv.iter_mut().enumerate() {
            let heads = row.chunks_mut(config.head_dim).take(config.heads + config.kv_heads);
            heads.for_each(|head| config.rope.iter().for_each(|rope| turn(rope, position, head)));
        }
        for position in 0..LENGTH {
            (0..config.heads).for_each(|head| attended.extend(attend(config, &qkv, position, head)));
        }
    }
    linear(values, &layer.out, &attended).iter().zip(stream).map(|(out, stream)| out + stream).collect()
}

fn feed_forward(test: &LayerTest, stream: &[f64], values: &[f64]) -> Vec<f64> {
    let (config, layer) = (&test.config, &test.plan.layers[0].1);
    let up = linear(values, &layer.up, &norm(values, &layer.norm, config.norm_eps, stream));
    let act = |row: &[f64]| -> Vec<f64> {
        if !config.features().is_gated() {
            let gelu =
                |x: &f64| 0.5 * x * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x.powi(3))).tanh());
            return row.iter().map(gelu).collect();
        }
        let (gate, up) = row.split_at(config.ffn);
        gate.iter().zip(up).map(|(gate, up)| gate / (1.0 + (-gate).exp()) * up).collect()
    };
    let active: Vec<f64> = up.chunks(layer.up.outputs).flat_map(act).collect();
    linear(values, &layer.down, &active).iter().zip(stream).map(|(out, stream)| out + stream).collect()
}

/// Losses of rows of logits, times the scale.
fn losses(test: &LayerTest, stream: &[f64], values: &[f64]) -> Vec<f64> {
    let head = &test.plan.head;
    let logits = linear(values, &head.logits, &norm(values, &head.norm, test.config.norm_eps, stream));
    let loss = |(row, target): (&[f64], &u32)| match *target {
        kernels::IGNORED_TARGET => 0.0,
        target => row.iter().map(|logit| logit.exp()).sum::<f64>().ln() - row[target as usize],
    };
    logits.chunks(test.config.vocab).zip(&test.targets).map(loss).collect()
}

#[test]
fn matrices() {
    for architecture in Architecture::trainable() {
        let test = LayerTest::new(architecture);
        let layer = &test.plan.layers[0].0.qkv;
        let (x, dy) = (random(ROWS * layer.inputs, 2), random(ROWS * layer.outputs, 3));
        let (mut out, mut d_input) = (vec![0.0; dy.len()], vec![0.0; x.len()]);
        let d_values = test.run(None, |pass, parts| {
            layer.forward(pass, &x, &mut out);
            let sums = Sums { gradients: parts.way.gradients, partials: parts.way.partials };
            layer.backward(pass, Tape { x: &x, dy: &dy }, &mut d_input, sums);
        });
        let result = LayerResult { out, d_input, d_values };
        check("linear", &result, [&x, &test.values, &dy], |x, values| linear(values, layer, x));
    }
}

#[test]
fn norms() {
    for architecture in [Architecture::Gpt2, Architecture::Llama] {
        let test = LayerTest::new(architecture);
        let (layer, eps) = (&test.plan.head.norm, test.config.norm_eps);
        let (x, dy) = (random(ROWS * 6, 2), random(ROWS * 6, 3));
        let (mut out, mut dx, mut d_input) = (vec![0.0; x.len()], vec![0.0; x.len()], vec![0.0; x.len()]);
        let d_values = test.run(None, |pass, parts| {
            layer.forward(pass, &x, &mut out);
            let sums = Sums { gradients: parts.way.gradients, partials: parts.way.partials };
            layer.backward(pass, norm::Tape { x: &x, dy: &dy, dx: &mut dx, stream: &mut d_input }, sums);
        });
        let result = LayerResult { out, d_input, d_values };
        check("norm", &result, [&x, &test.values, &dy], |x, values| norm(values, layer, eps, x));
    }
}

#[test]
fn attention_with_all_before_and_behind_it() {
    for architecture in Architecture::trainable() {
        let test = LayerTest::new(architecture);
        let (x, dy) = (random(ROWS * 6, 2), random(ROWS * 6, 3));
        let (mut out, mut d_input) = (Vec::new(), Vec::new());
        let d_values = test.run(None, |pass, parts| {
            parts.first().copy_from_slice(&x);
            let layer = &test.plan.layers[0].0;
            let (mut tape, way) = parts.layer(0);
            let (mut tape, middle) = tape.attention();
            layer.forward(pass, &mut tape, middle, way.scratch);
            out = middle.to_vec();
            way.stream.copy_from_slice(&dy);
            layer.backward(pass, &tape, way);
            d_input = way.stream.to_vec();
        });
        let result = LayerResult { out, d_input, d_values };
        check(architecture.name(), &result, [&x, &test.values, &dy], |x, values| attention(&test, x, values));
    }
}

#[test]
fn feed_forward_networks() {
    for architecture in [Architecture::Gpt2, Architecture::Llama] {
        let test = LayerTest::new(architecture);
        let (x, dy) = (random(ROWS * 6, 2), random(ROWS * 6, 3));
        let (mut out, mut d_input) = (Vec::new(), Vec::new());
        let d_values = test.run(None, |pass, parts| {
            let layer = &test.plan.layers[0].1;
            let (mut tape, way) = parts.layer(0);
            tape.attention().1.copy_from_slice(&x);
            let (mut tape, output) = tape.feed_forward();
            layer.forward(pass, &mut tape, output);
            out = output.to_vec();
            way.stream.copy_from_slice(&dy);
            layer.backward(pass, &tape, way);
            d_input = way.stream.to_vec();
        });
        let result = LayerResult { out, d_input, d_values };
        check(architecture.name(), &result, [&x, &test.values, &dy], |x, values| feed_forward(&test, x, values));
    }
}

#[test]
fn heads_and_their_losses() {
    for architecture in [Architecture::Gpt2, Architecture::Llama] {
        let test = LayerTest::new(architecture);
        let x = random(ROWS * 6, 2);
        let (mut out, mut d_input) = (Vec::new(), Vec::new());
        let d_values = test.run(None, |pass, parts| {
            parts.layer(0).0.feed_forward().1.copy_from_slice(&x);
            let (mut tape, way) = parts.head();
            test.plan.head.forward(pass, &mut tape, Some(0.5), way);
            out = tape.losses.to_vec();
            test.plan.head.backward(pass, &tape, way);
            d_input = way.stream.to_vec();
        });
        let result = LayerResult { out, d_input, d_values };
        // Every loss counts as much as the scale says.
        let weights = [0.5; ROWS];
        check(architecture.name(), &result, [&x, &test.values, &weights], |x, values| losses(&test, x, values));
    }
}

#[test]
fn embeddings() {
    for architecture in [Architecture::Gpt2, Architecture::Llama] {
        let test = LayerTest::new(architecture);
        let dy = random(ROWS * 6, 3);
        let mut out = Vec::new();
        let d_values = test.run(None, |pass, parts| {
            let layer = &test.plan.embedding;
            layer.forward(pass, parts.first());
            out = parts.first().to_vec();
            parts.way.stream.copy_from_slice(&dy);
            layer.backward(pass, parts.way.stream, parts.way.gradients);
        });
        let [tokens, positions] = ["token_embd.weight", "position_embd.weight"];
        let exact = |_: &[f64], values: &[f64]| {
            let value = |at: usize| {
                let (row, column) = (at / 6, at % 6);
                let token = values[test.at(tokens).start + test.tokens[row] as usize * 6 + column];
                let learned = architecture.features().rope_pairing().is_none();
                token + if learned { values[test.at(positions).start + row % LENGTH * 6 + column] } else { 0.0 }
            };
            (0..ROWS * 6).map(value).collect()
        };
        let result = LayerResult { out, d_input: Vec::new(), d_values };
        check(architecture.name(), &result, [&[], &test.values, &dy], exact);
    }
}

/// What is dropped is zero on both ways, what is kept is larger; sites and keys differ.
#[test]
fn dropout_is_the_same_on_both_ways() {
    use super::dropout::{Site, apply, of_copy};
    let test = LayerTest::new(Architecture::Llama);
    let mask = |key: u64, site: Site| {
        let mut rows = vec![1.0; ROWS * 6];
        test.run(Some(Dropout { rate: 0.25, key }), |pass, _| apply(pass, site, &mut rows));
        rows
    };
    let first = mask(1, Site::Embedding);
    assert!(first.iter().all(|value| *value == 0.0 || (value - 1.0 / 0.75).abs() < 1e-6));
    assert!(first.contains(&0.0) && first == mask(1, Site::Embedding));
    // Neither the keys of neighbouring steps nor neighbouring sites share their masks.
    let sites = [Site::Embedding, Site::Attention(0), Site::FeedForward(0), Site::Attention(1)];
    let masks: Vec<_> = (1..4).flat_map(|key| sites.map(|site| mask(key, site))).collect();
    for (number, mask) in masks.iter().enumerate() {
        assert!(masks[..number].iter().all(|other| other != mask), "mask {number}");
    }
    let (dy, mut copy) = (random(ROWS * 6, 3), vec![0.0; ROWS * 6]);
    test.run(Some(Dropout { rate: 0.25, key: 1 }), |pass, _| {
        let dropped = of_copy(pass, Site::Embedding, &dy, &mut copy);
        let expected = dy.iter().zip(&first).map(|(dy, mask)| dy * mask);
        assert!(dropped.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6));
    });
}
