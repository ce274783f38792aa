//! The tensors that a model of some sizes has: names and shapes in the words of GGUF, written once.

use super::{Architecture, Config};

/// A tensor, without its numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub name: String,
    /// That of a row first.
    pub shape: Vec<usize>,
    pub role: Role,
    /// Whether it is multiplied with the same rows as the tensor before it, or added to the same.
    pub joined: bool,
}

/// What a tensor does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// What rows are multiplied with; the table of the tokens too.
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

/// All of them, in the order in which a pass meets them. Where `tied`, the head is the embedding.
pub(crate) fn tensors(config: &Config, tied: bool) -> Vec<Wanted> {
    let Config { width, ffn, .. } = *config;
    let gpt2 = config.architecture.is_gpt2();
    let mut all = List { all: Vec::new(), gpt2 };
    all.add("token_embd.weight", &[width, config.vocab], Role::Matrix);
    if gpt2 {
        all.add("position_embd.weight", &[width, config.context], Role::Positions);
    }
    for layer in 0..config.layers {
        let name = |part: &str| format!("blk.{layer}.{part}");
        all.norm(&name("attn_norm"), width);
        all.qkv(config, layer);
        all.linear(&[(&name("attn_output"), config.queries(), width)], Role::Residual, gpt2);
        all.norm(&name("ffn_norm"), width);
        let (gate, up) = (name("ffn_gate"), name("ffn_up"));
        let together = [(gate.as_str(), width, ffn), (up.as_str(), width, ffn)];
        all.linear(if gpt2 { &together[1..] } else { &together }, Role::Matrix, gpt2);
        all.linear(&[(&name("ffn_down"), ffn, width)], Role::Residual, gpt2);
    }
    all.norm("output_norm", width);
    if !tied {
        all.linear(&[("output", width, config.vocab)], Role::Matrix, false);
    }
    all.all
}

struct List {
    all: Vec<Wanted>,
    gpt2: bool,
}

impl List {
    fn add(&mut self, name: &str, shape: &[usize], role: Role) {
        self.all.push(Wanted { name: name.into(), shape: shape.into(), role, joined: false });
    }

    fn norm(&mut self, name: &str, width: usize) {
        self.add(&format!("{name}.weight"), &[width], Role::NormWeight);
        if self.gpt2 {
            self.add(&format!("{name}.bias"), &[width], Role::NormBias);
        }
    }

    fn qkv(&mut self, config: &Config, layer: usize) {
        let (width, queries, keys) = (config.width, config.queries(), config.keys());
        if self.gpt2 {
            return self.linear(&[(&format!("blk.{layer}.attn_qkv"), width, queries + 2 * keys)], Role::Matrix, true);
        }
        let [q, k, v] = ["q", "k", "v"].map(|part| format!("blk.{layer}.attn_{part}"));
        let three = [(q.as_str(), width, queries), (&k, width, keys), (&v, width, keys)];
        self.linear(&three, Role::Matrix, config.architecture == Architecture::Qwen2);
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
