//! The tensors of a model: names and shapes as in GGUF.
//!
//! The loader, synthetic models, the layout of training and its plan all follow from this list.

use super::Config;

/// A tensor, without its numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TensorSpec {
    pub name: String,
    /// The length of a row first.
    pub shape: Vec<usize>,
    pub role: Role,
    /// Whether it has the same input as the tensor before it, or is added to the same output.
    pub joined: bool,
}

/// What a tensor does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// What rows are multiplied with; the embedding too.
    Matrix,
    /// A matrix whose results are added to the residual stream.
    Residual,
    /// A row per position.
    Positions,
    /// Added to the results of a matrix.
    Bias,
    NormWeight,
    NormBias,
}

/// The matrices of queries, keys and values where they are apart.
pub(crate) const SPLIT_QKV: [&str; 3] = ["attn_q", "attn_k", "attn_v"];
/// The one where they are fused.
pub(crate) const FUSED_QKV: &str = "attn_qkv";

/// The norms of the heads of queries and of keys.
pub(crate) const QK_NORMS: [&str; 2] = ["attn_q_norm", "attn_k_norm"];

/// The name of a part of a layer, without `.weight` or `.bias`.
pub(crate) fn layer_part(layer: usize, part: &str) -> String {
    format!("blk.{layer}.{part}")
}

/// All tensors, in the order in which a pass uses them. Where `tied`, the head is the embedding.
pub(crate) fn tensors(config: &Config, tied: bool) -> Vec<TensorSpec> {
    let mut all = before_layers(config);
    let fused = config.features().fused_qkv;
    (0..config.layers).for_each(|layer| all.extend(layer_tensors(config, layer, fused)));
    all.extend(behind_layers(config, tied));
    all
}

/// The embeddings.
pub(crate) fn before_layers(config: &Config) -> Vec<TensorSpec> {
    let mut list = List::new(config);
    list.add("token_embd.weight", &[config.width, config.vocab], Role::Matrix);
    if config.features().rope_pairing().is_none() {
        list.add("position_embd.weight", &[config.width, config.context], Role::Positions);
    }
    list.all
}

/// The tensors of one layer, with queries, keys and values in one matrix or apart.
pub(crate) fn layer_tensors(config: &Config, layer: usize, fused_qkv: bool) -> Vec<TensorSpec> {
    let (features, width, ffn) = (config.features(), config.width, config.ffn);
    let (queries, keys) = (config.queries(), config.keys());
    let name = |part: &str| layer_part(layer, part);
    let mut list = List::new(config);
    list.norm(&name("attn_norm"), width);
    if fused_qkv {
        list.linear(&[(&name(FUSED_QKV), width, queries + 2 * keys)], Role::Matrix, features.qkv_bias);
    } else {
        let [q, k, v] = SPLIT_QKV.map(name);
        let three = [(q.as_str(), width, queries), (&k, width, keys), (&v, width, keys)];
        list.linear(&three, Role::Matrix, features.qkv_bias);
    }
    if features.qk_norm {
        QK_NORMS.iter().for_each(|part| list.norm(&name(part), config.head_dim));
    }
    list.linear(&[(&name("attn_output"), queries, width)], Role::Residual, features.output_bias);
    list.norm(&name("ffn_norm"), width);
    let (gate, up) = (name("ffn_gate"), name("ffn_up"));
    let together = [(gate.as_str(), width, ffn), (up.as_str(), width, ffn)];
    let from = usize::from(!features.is_gated());
    list.linear(&together[from..], Role::Matrix, features.ffn_bias);
    list.linear(&[(&name("ffn_down"), ffn, width)], Role::Residual, features.ffn_bias);
    list.all
}

/// The last norm, and the head where it is not the embedding.
pub(crate) fn behind_layers(config: &Config, tied: bool) -> Vec<TensorSpec> {
    let mut list = List::new(config);
    list.norm("output_norm", config.width);
    if !tied {
        list.linear(&[("output", config.width, config.vocab)], Role::Matrix, false);
    }
    list.all
}

struct List {
    all: Vec<TensorSpec>,
    norm_bias: bool,
}

impl List {
    fn new(config: &Config) -> Self {
        Self { all: Vec::new(), norm_bias: config.features().norm.has_bias() }
    }

    fn add(&mut self, name: &str, shape: &[usize], role: Role) {
        self.all.push(TensorSpec { name: name.into(), shape: shape.into(), role, joined: false });
    }

    fn norm(&mut self, name: &str, width: usize) {
        self.add(&format!("{name}.weight"), &[width], Role::NormWeight);
        if self.norm_bias {
            self.add(&format!("{name}.bias"), &[width], Role::NormBias);
        }
    }

    /// Matrices of (name, inputs, outputs) that have the same input: first all of them, then their biases.
    fn linear(&mut self, matrices: &[(&str, usize, usize)], role: Role, biased: bool) {
        for (number, (name, inputs, outputs)) in matrices.iter().enumerate() {
            self.add(&format!("{name}.weight"), &[*inputs, *outputs], role);
            self.join(number > 0);
        }
        for (number, (name, _, outputs)) in matrices.iter().enumerate().filter(|_| biased) {
            self.add(&format!("{name}.bias"), &[*outputs], Role::Bias);
            self.join(number > 0);
        }
    }

    fn join(&mut self, joined: bool) {
        if let Some(last) = self.all.last_mut() {
            last.joined = joined;
        }
    }
}
