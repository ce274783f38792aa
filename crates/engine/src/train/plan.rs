//! Where the layers find their numbers among the parameters.

use std::ops::Range;

use super::Layout;
use super::arena::ArenaViews;
use super::layers::attention::SelfAttention;
use super::layers::embedding::Embedding;
use super::layers::feed_forward::FeedForward;
use super::layers::head::Head;
use super::layers::linear::Linear;
use super::layers::norm::Norm;
use super::layers::{Pass, pairs};
use super::{NetworkOptions, StepWork};
use crate::model::{FUSED_QKV, SPLIT_QKV, layer_part};
use crate::{Config, Error, Result, steps};

/// All layers of a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Plan {
    pub embedding: Embedding,
    pub layers: Vec<(SelfAttention, FeedForward)>,
    pub head: Head,
}

/// What the layers are looked up in.
struct Tensors<'a> {
    layout: &'a Layout,
}

impl Plan {
    /// The layers of a model, in a layout of its tensors.
    pub fn new(config: &Config, layout: &Layout) -> Result<Self> {
        if !config.features().trainable {
            let name = config.architecture.name();
            return Err(Error::unsupported(format!("training {name} models is not supported")));
        }
        // A model without a head of its own uses the embedding.
        let tied = layout.range("output.weight").is_none();
        tensors_agree(layout, &Layout::new(config, tied)?)?;
        let tensors = Tensors { layout };
        let head = if tied { "token_embd" } else { "output" };
        Ok(Self {
            embedding: Embedding {
                tokens: tensors.joined(&["token_embd.weight"])?,
                positions: tensors.optional(&["position_embd.weight"])?,
                tied,
            },
            layers: (0..config.layers).map(|layer| tensors.layer(layer)).collect::<Result<_>>()?,
            head: Head { norm: tensors.norm("output_norm")?, logits: tensors.linear(&[head])? },
        })
    }

    /// A layer: the residual stream behind it, and what its way back needs.
    pub fn forward(&self, pass: &Pass<'_>, parts: &mut ArenaViews<'_>, layer: usize) {
        let (attention, network) = &self.layers[layer];
        let (mut tape, way) = parts.layer(layer);
        let (mut of_attention, middle) = tape.attention();
        attention.forward(pass, &mut of_attention, middle, way.scratch);
        let (mut of_network, output) = tape.feed_forward();
        network.forward(pass, &mut of_network, output);
    }

    /// The gradients of a layer. What was not kept is computed again: the last layer's is still there.
    pub fn backward(&self, pass: &Pass<'_>, parts: &mut ArenaViews<'_>, layer: usize) {
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

/// Refuses the layout of another model.
fn tensors_agree(layout: &Layout, wanted: &Layout) -> Result<()> {
    if layout == wanted {
        return Ok(());
    }
    let mut both = layout.entries().iter().zip(wanted.entries());
    let first =
        both.find(|(found, wanted)| found != wanted).map_or("the last tensors", |(_, wanted)| &wanted.info.name);
    Err(Error::refused(format!("the layout of another model: it differs from {first} on")))
}

impl Tensors<'_> {
    fn layer(&self, layer: usize) -> Result<(SelfAttention, FeedForward)> {
        let name = |part: &str| layer_part(layer, part);
        // Of the matrices that the architecture may have, those that it has.
        let of = |parts: &[&str]| {
            let names: Vec<_> = parts.iter().map(|part| name(part)).filter(|name| self.has(name)).collect();
            self.linear(&names.iter().map(String::as_str).collect::<Vec<_>>())
        };
        let [queries, keys, values] = SPLIT_QKV;
        let attention = SelfAttention {
            layer,
            norm: self.norm(&name("attn_norm"))?,
            qkv: of(&[FUSED_QKV, queries, keys, values])?,
            out: of(&["attn_output"])?,
        };
        let feed_forward = FeedForward {
            layer,
            norm: self.norm(&name("ffn_norm"))?,
            up: of(&["ffn_gate", "ffn_up"])?,
            down: of(&["ffn_down"])?,
        };
        Ok((attention, feed_forward))
    }

    fn has(&self, name: &str) -> bool {
        self.layout.range(&format!("{name}.weight")).is_some()
    }

    fn norm(&self, name: &str) -> Result<Norm> {
        Ok(Norm {
            weight: self.joined(&[&format!("{name}.weight")])?,
            bias: self.optional(&[&format!("{name}.bias")])?,
        })
    }

    /// Matrices that have the same input, as one.
    fn linear(&self, names: &[&str]) -> Result<Linear> {
        let with = |end: &str| names.iter().map(|name| format!("{name}.{end}")).collect::<Vec<_>>();
        let (weights, biases) = (with("weight"), with("bias"));
        let [weights, biases] = [&weights, &biases].map(|all| all.iter().map(String::as_str).collect::<Vec<_>>());
        let weight = self.joined(&weights)?;
        let inputs = weights.first().and_then(|name| self.layout.entry(name)).map_or(0, |entry| entry.info.shape[0]);
        let outputs = weight.len().checked_div(inputs).unwrap_or(0);
        Ok(Linear { weight, bias: self.optional(&biases)?, inputs, outputs })
    }

    /// The same where the first of them is there.
    fn optional(&self, names: &[&str]) -> Result<Option<Range<usize>>> {
        let is_there = names.first().is_some_and(|name| self.layout.range(name).is_some());
        is_there.then(|| self.joined(names)).transpose()
    }

    /// Tensors that lie one directly behind the other.
    fn joined(&self, names: &[&str]) -> Result<Range<usize>> {
        let ranges: Option<Vec<_>> = names.iter().map(|name| self.layout.range(name)).collect();
        let whole = ranges.filter(|ranges| ranges.windows(2).all(|two| two[0].end == two[1].start));
        let whole = whole.and_then(|ranges| Some(ranges.first()?.start..ranges.last()?.end));
        whole.ok_or_else(|| Error::refused(format!("the layout lacks {}", names.join(", "))))
    }
}
