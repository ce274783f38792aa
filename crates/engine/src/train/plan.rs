//! Where the layers find their numbers among the parameters.

use std::ops::Range;

use super::Layout;
use super::arena::Parts;
use super::layers::attention::SelfAttention;
use super::layers::embedding::Embedding;
use super::layers::feed_forward::FeedForward;
use super::layers::head::Head;
use super::layers::linear::Linear;
use super::layers::norm::Norm;
use super::layers::{Pass, pairs};
use super::{NetworkOptions, StepWork};
use crate::{Architecture, Config, Error, Result, steps};

/// All layers of a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Plan {
    pub embedding: Embedding,
    pub layers: Vec<(SelfAttention, FeedForward)>,
    pub head: Head,
}

/// What the layers are looked up in.
struct Tensors<'a> {
    config: &'a Config,
    layout: &'a Layout,
}

impl Plan {
    /// The layers of a model, in a layout of its tensors.
    pub fn new(config: &Config, layout: &Layout) -> Result<Self> {
        let tensors = Tensors { config, layout };
        let Config { width, vocab, context, .. } = *config;
        let gpt2 = config.architecture.is_gpt2();
        let tokens = tensors.joined(&["token_embd.weight"], width * vocab)?;
        let positions = gpt2.then(|| tensors.joined(&["position_embd.weight"], width * context)).transpose()?;
        // A model without a head of its own uses the embedding.
        let head = if layout.range("output.weight").is_some() { "output" } else { "token_embd" };
        Ok(Self {
            embedding: Embedding { tokens, positions, tied: head == "token_embd" },
            layers: (0..config.layers).map(|layer| tensors.layer(layer)).collect::<Result<_>>()?,
            head: Head { norm: tensors.norm("output_norm")?, logits: tensors.linear(&[head], [width, vocab], false)? },
        })
    }

    /// A layer: the residual stream behind it, and what its way back needs.
    pub fn forward(&self, pass: &Pass<'_>, parts: &mut Parts<'_>, layer: usize) {
        let (attention, network) = &self.layers[layer];
        let (mut tape, way) = parts.layer(layer);
        let (mut of_attention, middle) = tape.attention();
        attention.forward(pass, &mut of_attention, middle, way.scratch);
        let (mut of_network, output) = tape.feed_forward();
        network.forward(pass, &mut of_network, output);
    }

    /// The gradients of a layer. What was not kept is computed again: the last layer's is still there.
    pub fn backward(&self, pass: &Pass<'_>, parts: &mut Parts<'_>, layer: usize) {
        let (attention, network) = &self.layers[layer];
        let lost = parts.shares_layers() && layer + 1 < self.layers.len();
        let (mut tape, way) = parts.layer(layer);
        if lost {
            hotloop::scope!(steps::RECOMPUTE, tokens = pass.rows());
            let (mut of_attention, middle) = tape.attention();
            attention.forward(pass, &mut of_attention, middle, way.scratch);
            network.inner(pass, &mut tape.feed_forward().0);
        }
        network.backward(pass, &tape.feed_forward().0, way);
        attention.backward(pass, &tape.attention().0, way);
    }

    /// The floating-point operations of the products of a whole batch.
    pub fn work(&self, config: &Config, options: &NetworkOptions) -> StepWork {
        let rows = options.batch * options.length;
        let attention = 4 * config.queries() * options.batch * pairs(config, options.length);
        let layer = |(attention, network): &(SelfAttention, FeedForward)| {
            let inner = attention.qkv.flops(rows) + attention.out.flops(rows) + network.up.flops(rows);
            (inner, network.down.flops(rows))
        };
        let [mut inner, mut down] = [0; 2];
        for (of_inner, of_down) in self.layers.iter().map(layer) {
            inner += of_inner;
            down += of_down;
        }
        let (products, attention) = (inner + down + self.head.logits.flops(rows), self.layers.len() * attention);
        let again = (inner + attention) * (self.layers.len() - 1) / self.layers.len();
        StepWork {
            forward: (products + attention) as u64,
            backward: (2 * products + attention / 2 * 5) as u64,
            recomputed: if options.recompute { again as u64 } else { 0 },
        }
    }
}

impl Tensors<'_> {
    fn layer(&self, layer: usize) -> Result<(SelfAttention, FeedForward)> {
        let Config { width, ffn, architecture, .. } = *self.config;
        let (gpt2, queries, keys) = (architecture.is_gpt2(), self.config.queries(), self.config.keys());
        let names = |parts: &[&str]| parts.iter().map(|part| format!("blk.{layer}.{part}")).collect::<Vec<_>>();
        let of = |parts: &[&str], shape: [usize; 2], biased: bool| {
            let names = names(parts);
            self.linear(&names.iter().map(String::as_str).collect::<Vec<_>>(), shape, biased)
        };
        let qkv: &[&str] = if gpt2 { &["attn_qkv"] } else { &["attn_q", "attn_k", "attn_v"] };
        let up: &[&str] = if gpt2 { &["ffn_up"] } else { &["ffn_gate", "ffn_up"] };
        let attention = SelfAttention {
            layer,
            norm: self.norm(&format!("blk.{layer}.attn_norm"))?,
            qkv: of(qkv, [width, queries + 2 * keys], architecture != Architecture::Llama)?,
            out: of(&["attn_output"], [queries, width], gpt2)?,
        };
        let feed_forward = FeedForward {
            layer,
            norm: self.norm(&format!("blk.{layer}.ffn_norm"))?,
            up: of(up, [width, up.len() * ffn], gpt2)?,
            down: of(&["ffn_down"], [ffn, width], gpt2)?,
        };
        Ok((attention, feed_forward))
    }

    fn norm(&self, name: &str) -> Result<Norm> {
        let width = self.config.width;
        let bias = || self.joined(&[&format!("{name}.bias")], width);
        Ok(Norm {
            weight: self.joined(&[&format!("{name}.weight")], width)?,
            bias: self.config.architecture.is_gpt2().then(bias).transpose()?,
        })
    }

    /// Matrices that have the same input, as one.
    fn linear(&self, names: &[&str], [inputs, outputs]: [usize; 2], biased: bool) -> Result<Linear> {
        let with = |end: &str| names.iter().map(|name| format!("{name}.{end}")).collect::<Vec<_>>();
        let joined = |end: &str, len: usize| {
            let names = with(end);
            self.joined(&names.iter().map(String::as_str).collect::<Vec<_>>(), len)
        };
        let weight = joined("weight", inputs * outputs)?;
        Ok(Linear { weight, bias: biased.then(|| joined("bias", outputs)).transpose()?, inputs, outputs })
    }

    /// Tensors that lie one directly behind the other.
    fn joined(&self, names: &[&str], len: usize) -> Result<Range<usize>> {
        let range = |name: &&str| self.layout.range(name);
        let ranges: Option<Vec<_>> = names.iter().map(range).collect();
        let whole = ranges.filter(|ranges| ranges.windows(2).all(|two| two[0].end == two[1].start));
        let whole = whole.and_then(|ranges| Some(ranges.first()?.start..ranges.last()?.end));
        whole.filter(|range| range.len() == len).ok_or_else(|| {
            Error::refused(format!("a layout of another model: {} should have {len} values", names.join(", ")))
        })
    }
}
