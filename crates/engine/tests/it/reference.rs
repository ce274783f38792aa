//! Decoders in f64 and plain loops, written from the definition of their architectures: what the
//! engine is compared with.
//!
//! Every position is computed from the tokens before it; there is no cache, no packing and no
//! quantised arithmetic. Weights are what their bytes stand for. The sizes are read here once more,
//! so that a mistake of the engine's is not shared.

use std::collections::{BTreeMap, BTreeSet};

use engine::{TensorSource, Value};
use kernels::quant::PackedWeights;
use kernels::{Isa, Kernels};

/// A model.
pub struct Reference {
    sizes: Sizes,
    tensors: BTreeMap<String, Vec<f64>>,
    /// Matrices whose inputs are rounded to bytes.
    in_bytes: BTreeSet<String>,
}

struct Sizes {
    gpt2: bool,
    halves: bool,
    width: usize,
    layers: usize,
    heads: usize,
    kv_heads: usize,
    head_dim: usize,
    turned: usize,
    base: f64,
    position_scale: f64,
    eps: f64,
    window: usize,
}

/// What a pass over some tokens gives.
pub struct Passed {
    /// (position, token)
    pub logits: Vec<Vec<f64>>,
    /// The lengths of the residual stream's rows after each layer: (layer, position).
    pub residual_norms: Vec<Vec<f64>>,
}

impl Sizes {
    fn read(source: &dyn TensorSource) -> Self {
        let all = source.metadata();
        let text = |key: &str| match all.get(key) {
            Some(Value::Text(text)) => Some(text.as_str()),
            _ => None,
        };
        let architecture = text("general.architecture").unwrap();
        let number = |key: &str| match all.get(&format!("{architecture}.{key}")) {
            Some(Value::Unsigned(number)) => Some(*number as f64),
            Some(Value::Float(number)) => Some(*number),
            _ => None,
        };
        let count = |key: &str| number(key).map(|number| number as usize);
        let (width, heads) = (count("embedding_length").unwrap(), count("attention.head_count").unwrap());
        let head_dim = count("attention.key_length").unwrap_or(width / heads);
        let eps = number("attention.layer_norm_epsilon").or(number("attention.layer_norm_rms_epsilon"));
        let pairing = text("hotloop.rope.pairing");
        Self {
            gpt2: architecture == "gpt2",
            halves: pairing.map_or(architecture.starts_with("qwen"), |pairing| pairing == "halves"),
            width,
            layers: count("block_count").unwrap(),
            heads,
            kv_heads: count("attention.head_count_kv").unwrap_or(heads),
            head_dim,
            turned: count("rope.dimension_count").unwrap_or(head_dim),
            base: number("rope.freq_base").unwrap_or(10_000.0),
            position_scale: 1.0 / number("rope.scaling.factor").unwrap_or(1.0),
            eps: eps.unwrap(),
            window: count("attention.sliding_window").unwrap_or(usize::MAX),
        }
    }
}

impl Reference {
    /// All tensors of a source as f64.
    pub fn new(source: &dyn TensorSource) -> Self {
        let plain = Kernels::with(Isa::Scalar).unwrap();
        let tensor = |name: &str| {
            let tensor = source.tensor(name).unwrap().unwrap();
            let mut values = vec![0.0; tensor.shape.iter().product()];
            plain.dequantise(tensor.format, &tensor.data, &mut values);
            (name.to_owned(), values.into_iter().map(f64::from).collect())
        };
        let tensors = source.names().into_iter().map(tensor).collect();
        Self { sizes: Sizes::read(source), tensors, in_bytes: BTreeSet::new() }
    }

    /// The same, where inputs of quantised matrices are rounded as the engine says it does.
    pub fn in_bytes(source: &dyn TensorSource) -> Self {
        let mut names = source.names();
        names.retain(|name| PackedWeights::supports(source.tensor(name).unwrap().unwrap().format));
        Self { in_bytes: names.into_iter().map(str::to_owned).collect(), ..Self::new(source) }
    }

    /// The numbers of a tensor, to be changed.
    pub fn tensor_mut(&mut self, name: &str) -> &mut [f64] {
        self.tensors.get_mut(name).unwrap()
    }

    /// The logits of every position of a text.
    pub fn logits(&self, tokens: &[u32]) -> Vec<Vec<f64>> {
        self.pass(tokens).logits
    }

    /// All positions of a text.
    pub fn pass(&self, tokens: &[u32]) -> Passed {
        let mut stream: Vec<Vec<f64>> = tokens.iter().zip(0..).map(|(token, at)| self.embedding(*token, at)).collect();
        let mut residual_norms = Vec::new();
        for layer in 0..self.sizes.layers {
            let attended = self.attention(layer, &stream);
            add(&mut stream, &attended);
            let fed: Vec<_> = stream.iter().map(|row| self.feed_forward(layer, row)).collect();
            add(&mut stream, &fed);
            let length = |row: &Vec<f64>| row.iter().map(|value| value * value).sum::<f64>().sqrt();
            residual_norms.push(stream.iter().map(length).collect());
        }
        let head = if self.tensors.contains_key("output.weight") { "output" } else { "token_embd" };
        let logits = stream.iter().map(|row| self.linear(head, &self.norm("output_norm", row))).collect();
        Passed { logits, residual_norms }
    }

    fn embedding(&self, token: u32, position: usize) -> Vec<f64> {
        let width = self.sizes.width;
        let mut row = self.tensors["token_embd.weight"][token as usize * width..][..width].to_vec();
        if self.sizes.gpt2 {
            let learned = &self.tensors["position_embd.weight"][position * width..][..width];
            row.iter_mut().zip(learned).for_each(|(value, learned)| *value += learned);
        }
        row
    }

    fn attention(&self, layer: usize, stream: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let Sizes { heads, kv_heads, head_dim, window, .. } = self.sizes;
        let name = |part: &str| format!("blk.{layer}.{part}");
        let rows: Vec<_> = stream
            .iter()
            .enumerate()
            .map(|(position, row)| self.qkv(layer, &self.norm(&name("attn_norm"), row), position))
            .collect();
        let head_of = |row: usize, first: usize, head: usize| &rows[row][first + head * head_dim..][..head_dim];
        let (keys, values) = (heads * head_dim, (heads + kv_heads) * head_dim);
        let attended = |position: usize| {
            let mut out = Vec::new();
            for head in 0..heads {
                let (query, kv_head) = (head_of(position, 0, head), head / (heads / kv_heads));
                let seen = (position + 1).saturating_sub(window)..position + 1;
                let scores = seen.clone().map(|at| dot(query, head_of(at, keys, kv_head)) / (head_dim as f64).sqrt());
                let weights = softmax(scores.collect());
                let mut sum = vec![0.0; head_dim];
                for (at, weight) in seen.zip(weights) {
                    let value = head_of(at, values, kv_head);
                    sum.iter_mut().zip(value).for_each(|(sum, value)| *sum += weight * value);
                }
                out.extend(sum);
            }
            self.linear(&name("attn_output"), &out)
        };
        (0..stream.len()).map(attended).collect()
    }

    /// Queries, keys and values of a row, turned by its position.
    fn qkv(&self, layer: usize, row: &[f64], position: usize) -> Vec<f64> {
        let fused = format!("blk.{layer}.attn_qkv");
        let mut all = match self.tensors.contains_key(&format!("{fused}.weight")) {
            true => self.linear(&fused, row),
            false => ["q", "k", "v"].map(|part| self.linear(&format!("blk.{layer}.attn_{part}"), row)).concat(),
        };
        let heads = all.chunks_mut(self.sizes.head_dim).enumerate();
        for (head, values) in heads.take(self.sizes.heads + self.sizes.kv_heads) {
            let part = if head < self.sizes.heads { "attn_q_norm" } else { "attn_k_norm" };
            let name = format!("blk.{layer}.{part}");
            if self.tensors.contains_key(&format!("{name}.weight")) {
                values.copy_from_slice(&self.norm(&name, values));
            }
        }
        if !self.sizes.gpt2 {
            let turned = self.sizes.heads + self.sizes.kv_heads;
            all.chunks_mut(self.sizes.head_dim).take(turned).for_each(|head| self.turn(head, position));
        }
        all
    }

    fn turn(&self, head: &mut [f64], position: usize) {
        let Sizes { turned, base, position_scale, halves, .. } = self.sizes;
        for pair in 0..turned / 2 {
            let factor = self.tensors.get("rope_freqs.weight").map_or(1.0, |factors| factors[pair]);
            let frequency = base.powf(-((2 * pair) as f64) / turned as f64) / factor;
            let (sin, cos) = (position as f64 * position_scale * frequency).sin_cos();
            let (first, second) = if halves { (pair, pair + turned / 2) } else { (2 * pair, 2 * pair + 1) };
            let (a, b) = (head[first], head[second]);
            head[first] = a * cos - b * sin;
            head[second] = a * sin + b * cos;
        }
    }

    fn feed_forward(&self, layer: usize, row: &[f64]) -> Vec<f64> {
        let name = |part: &str| format!("blk.{layer}.{part}");
        let row = self.norm(&name("ffn_norm"), row);
        let mut up = self.linear(&name("ffn_up"), &row);
        if self.sizes.gpt2 {
            up.iter_mut().for_each(|value| *value = gelu(*value));
        } else {
            let gate = self.linear(&name("ffn_gate"), &row);
            up.iter_mut().zip(gate).for_each(|(up, gate)| *up *= gate / (1.0 + (-gate).exp()));
        }
        self.linear(&name("ffn_down"), &up)
    }

    fn norm(&self, name: &str, row: &[f64]) -> Vec<f64> {
        let weight = &self.tensors[&format!("{name}.weight")];
        let len = row.len() as f64;
        let mean = if self.sizes.gpt2 { row.iter().sum::<f64>() / len } else { 0.0 };
        let variance = row.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / len;
        let root = (variance + self.sizes.eps).sqrt();
        let mut out: Vec<f64> = row.iter().zip(weight).map(|(value, weight)| (value - mean) / root * weight).collect();
        if self.sizes.gpt2 {
            add_to(&mut out, &self.tensors[&format!("{name}.bias")]);
        }
        out
    }

    fn linear(&self, name: &str, row: &[f64]) -> Vec<f64> {
        let matrix = format!("{name}.weight");
        let rounded = if self.in_bytes.contains(&matrix) { rounded(row) } else { row.to_vec() };
        let (weight, row) = (&self.tensors[&matrix], &rounded[..]);
        let mut out: Vec<f64> = weight.chunks_exact(row.len()).map(|weights| dot(weights, row)).collect();
        if let Some(bias) = self.tensors.get(&format!("{name}.bias")) {
            add_to(&mut out, bias);
        }
        out
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Codes from −127 to 127 times a scale for 32 of them.
fn rounded(row: &[f64]) -> Vec<f64> {
    let block = |block: &[f64]| {
        let scale = block.iter().map(|value| value.abs()).fold(0.0, f64::max) / 127.0;
        block.iter().map(|value| if scale > 0.0 { (value / scale).round_ties_even() * scale } else { 0.0 }).collect()
    };
    row.chunks(32).flat_map(|values| -> Vec<f64> { block(values) }).collect()
}

fn add_to(row: &mut [f64], more: &[f64]) {
    assert_eq!(row.len(), more.len());
    row.iter_mut().zip(more).for_each(|(value, more)| *value += more);
}

fn add(stream: &mut [Vec<f64>], more: &[Vec<f64>]) {
    stream.iter_mut().zip(more).for_each(|(row, more)| add_to(row, more));
}

fn gelu(x: f64) -> f64 {
    let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x.powi(3));
    0.5 * x * (1.0 + inner.tanh())
}

fn softmax(scores: Vec<f64>) -> Vec<f64> {
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = scores.iter().map(|score| (score - most).exp()).collect();
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / sum).collect()
}

/// What a text costs: −ln of the softmax of each next token, on average.
pub fn mean_nll<T: Copy + Into<f64>>(logits: &[Vec<T>], tokens: &[u32]) -> f64 {
    let of = |(row, next): (&Vec<T>, &u32)| {
        let row: Vec<f64> = row.iter().map(|logit| (*logit).into()).collect();
        -softmax(row)[*next as usize].ln()
    };
    let all: Vec<f64> = logits.iter().zip(&tokens[1..]).map(of).collect();
    all.iter().sum::<f64>() / all.len() as f64
}
