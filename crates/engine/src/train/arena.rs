//! The memory of one step, in one piece whose size follows from the config, the batch and whether activations are kept.

use kernels::AlignedBuffer;

use super::NetworkOptions;
use super::layers::MOST_BLOCKS;
use crate::{Config, steps};

/// Logits take no more bytes than this, unless a single row does. A vocabulary of 50,000 has 320
/// rows of logits at once then: enough for products at full speed, and every part reads and writes
/// the whole gradient of the head.
const MOST_LOGITS: usize = 64 << 20;

/// How many values each part has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// Tokens of a whole batch.
    rows: usize,
    layers: usize,
    /// Layers whose activations are kept at the same time.
    kept: usize,
    width: usize,
    qkv: usize,
    queries: usize,
    heads: usize,
    /// Of gate and up.
    up: usize,
    ffn: usize,
    vocab: usize,
    /// Rows that have logits at the same time.
    at_once: usize,
}

/// What one pass reads and writes of attention.
pub(crate) struct AttentionTape<'a> {
    /// The residual stream before.
    pub input: &'a [f32],
    pub normed: &'a mut [f32],
    /// Queries, keys and values of each row, turned by their positions.
    pub qkv: &'a mut [f32],
    pub attended: &'a mut [f32],
    /// The logarithms of the sums of each head.
    pub logs: &'a mut [f32],
}

/// What one pass reads and writes of the feed-forward network.
pub(crate) struct FeedForwardTape<'a> {
    /// The residual stream before.
    pub input: &'a [f32],
    pub normed: &'a mut [f32],
    /// Gate and up of each row, or up alone.
    pub up: &'a mut [f32],
    /// Behind the activation.
    pub active: &'a mut [f32],
}

/// What one pass reads and writes of the head.
pub(crate) struct HeadTape<'a> {
    /// The residual stream behind the last layer.
    pub input: &'a [f32],
    pub normed: &'a mut [f32],
    /// Of some rows; or their gradients.
    pub logits: &'a mut [f32],
    pub losses: &'a mut [f32],
}

/// What the backward pass writes.
pub(crate) struct BackwardBuffers<'a> {
    /// Of all parameters.
    pub gradients: &'a mut [f32],
    /// The gradient of the residual stream.
    pub stream: &'a mut [f32],
    /// That of what a norm gives, or of what is added to the stream.
    pub normed: &'a mut [f32],
    /// That of what attention gives, or of the activation.
    pub narrow: &'a mut [f32],
    /// That of queries, keys and values, of gate and up, or of what a norm takes.
    pub wide: &'a mut [f32],
    /// Sums of blocks of rows.
    pub partials: &'a mut [f32],
    /// Of the attention of every thread.
    pub scratch: &'a mut [f32],
}

/// The parts of the arena that a pass of some rows uses.
pub(crate) struct ArenaViews<'a> {
    sizes: Sizes,
    /// Of this pass.
    rows: usize,
    /// The residual stream before each layer and behind the last.
    streams: &'a mut [f32],
    /// What is kept of each layer.
    kept: &'a mut [f32],
    normed: &'a mut [f32],
    logits: &'a mut [f32],
    losses: &'a mut [f32],
    pub way: BackwardBuffers<'a>,
}

/// Each part begins at a cache line.
fn line(len: usize) -> usize {
    len.checked_next_multiple_of(16).unwrap_or(usize::MAX)
}

impl Sizes {
    pub fn new(config: &Config, options: &NetworkOptions) -> Self {
        let rows = options.batch.saturating_mul(options.length);
        let row = config.vocab.saturating_mul(size_of::<f32>());
        let most = (MOST_LOGITS / row).max(1);
        // Whole tiles of the products, where there are so many.
        let most = if most > 16 { most / 16 * 16 } else { most };
        Self {
            rows,
            layers: config.layers,
            kept: if options.recompute { 1 } else { config.layers },
            width: config.width,
            qkv: config.queries() + 2 * config.keys(),
            queries: config.queries(),
            heads: config.heads,
            up: if config.features().is_gated() { 2 * config.ffn } else { config.ffn },
            ffn: config.ffn,
            vocab: config.vocab,
            at_once: most.min(rows),
        }
    }

    /// The residual stream.
    fn stream(&self) -> usize {
        line(self.rows.saturating_mul(self.width))
    }

    /// The parts of a layer that are kept: normed, qkv, attended, logs, middle, normed, up, active.
    fn layer(&self) -> [usize; 8] {
        let Self { width, qkv, queries, heads, up, ffn, .. } = *self;
        [width, qkv, queries, heads, width, width, up, ffn].map(|width| line(self.rows.saturating_mul(width)))
    }

    /// The widest rows that are summed up, with the two sums of a norm.
    fn widest(&self) -> usize {
        self.up.max(self.qkv).max(2 * self.width)
    }

    /// The parts of the arena: streams, kept, normed, logits, losses; then those of the backward
    /// pass: stream, normed, narrow, wide, partials.
    fn lengths(&self) -> [usize; 10] {
        let stream = self.stream();
        let layer = self.layer().into_iter().fold(0, usize::saturating_add);
        let rows = |width: usize| line(self.rows.saturating_mul(width));
        [
            stream.saturating_mul(self.layers + 1),
            layer.saturating_mul(self.kept),
            stream,
            line(self.at_once.saturating_mul(self.vocab)),
            line(self.rows),
            stream,
            stream,
            rows(self.queries.max(self.ffn)),
            rows(self.up.max(self.qkv).max(self.width)),
            line(MOST_BLOCKS.saturating_mul(self.widest())),
        ]
    }

    /// How many values all parts take.
    pub fn len(&self) -> usize {
        self.lengths().into_iter().fold(0, usize::saturating_add)
    }

    /// The parts, for a pass of so many rows.
    pub fn parts<'a>(
        &self,
        arena: &'a mut AlignedBuffer<f32>,
        gradients: &'a mut [f32],
        scratch: &'a mut [f32],
        rows: usize,
    ) -> ArenaViews<'a> {
        let (mut rest, lengths) = (&mut arena[..], self.lengths());
        let mut take = |part: usize| {
            let (part, after) = std::mem::take(&mut rest).split_at_mut(lengths[part]);
            rest = after;
            part
        };
        let values = rows * self.width;
        ArenaViews {
            sizes: *self,
            rows,
            streams: take(0),
            kept: take(1),
            normed: &mut take(2)[..values],
            logits: &mut take(3)[..self.at_once * self.vocab],
            losses: &mut take(4)[..rows],
            way: BackwardBuffers {
                gradients,
                stream: &mut take(5)[..values],
                normed: &mut take(6)[..values],
                narrow: take(7),
                wide: take(8),
                partials: take(9),
                scratch,
            },
        }
    }

    /// The losses of the last pass, of so many rows.
    pub fn losses<'a>(&self, arena: &'a [f32], rows: usize) -> &'a [f32] {
        &arena[self.lengths()[..4].iter().sum()..][..rows]
    }
}

/// What one pass reads and writes of a layer.
pub(crate) struct LayerTape<'a> {
    input: &'a [f32],
    output: &'a mut [f32],
    normed: &'a mut [f32],
    qkv: &'a mut [f32],
    attended: &'a mut [f32],
    logs: &'a mut [f32],
    /// The residual stream between attention and the feed-forward network.
    middle: &'a mut [f32],
    ffn_normed: &'a mut [f32],
    up: &'a mut [f32],
    active: &'a mut [f32],
}

impl LayerTape<'_> {
    /// What each step gave, in their order; where layers share one place, the last alone.
    pub fn steps(&self, shared: bool) -> impl Iterator<Item = (&'static str, &[f32])> {
        let all = [
            (steps::ATTENTION_NORM, &*self.normed),
            (steps::QKV, &*self.qkv),
            (steps::ATTENTION, &*self.attended),
            (steps::ATTENTION_OUT, &*self.middle),
            (steps::FFN_NORM, &*self.ffn_normed),
            (steps::FFN_UP, &*self.up),
            (steps::FFN_ACT, &*self.active),
            (steps::FFN_DOWN, &*self.output),
        ];
        let skipped = if shared { all.len() - 1 } else { 0 };
        all.into_iter().skip(skipped)
    }

    /// Attention, and the residual stream behind it.
    pub fn attention(&mut self) -> (AttentionTape<'_>, &mut [f32]) {
        let Self { input, normed, qkv, attended, logs, middle, .. } = self;
        (AttentionTape { input, normed, qkv, attended, logs }, middle)
    }

    /// The feed-forward network, and the residual stream behind it.
    pub fn feed_forward(&mut self) -> (FeedForwardTape<'_>, &mut [f32]) {
        let Self { output, middle, ffn_normed, up, active, .. } = self;
        (FeedForwardTape { input: middle, normed: ffn_normed, up, active }, output)
    }
}

impl<'a> ArenaViews<'a> {
    /// Tokens of the pass.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many layers there are.
    pub fn layers(&self) -> usize {
        self.sizes.layers
    }

    /// The residual stream before the first layer.
    pub fn first(&mut self) -> &mut [f32] {
        &mut self.streams[..self.rows * self.sizes.width]
    }

    /// Whether the activations of one layer alone are kept.
    pub fn shares_layers(&self) -> bool {
        self.sizes.kept < self.sizes.layers
    }

    /// A layer, and what its way back writes.
    pub fn layer(&mut self, layer: usize) -> (LayerTape<'_>, &mut BackwardBuffers<'a>) {
        let (sizes, rows, stream) = (self.sizes, self.rows, self.sizes.stream());
        let (before, behind) = self.streams[layer * stream..].split_at_mut(stream);
        let lengths = sizes.layer();
        let whole = lengths.iter().sum::<usize>();
        // Where activations are not kept, all layers use the same place.
        let mut rest = &mut self.kept[layer % sizes.kept * whole..][..whole];
        let mut take = |part: usize, width: usize| {
            let (part, after) = std::mem::take(&mut rest).split_at_mut(lengths[part]);
            rest = after;
            &mut part[..rows * width]
        };
        let tape = LayerTape {
            input: &before[..rows * sizes.width],
            output: &mut behind[..rows * sizes.width],
            normed: take(0, sizes.width),
            qkv: take(1, sizes.qkv),
            attended: take(2, sizes.queries),
            logs: take(3, sizes.heads),
            middle: take(4, sizes.width),
            ffn_normed: take(5, sizes.width),
            up: take(6, sizes.up),
            active: take(7, sizes.ffn),
        };
        (tape, &mut self.way)
    }

    /// The head, and what its way back writes.
    pub fn head(&mut self) -> (HeadTape<'_>, &mut BackwardBuffers<'a>) {
        let stream = self.sizes.stream();
        let input = &self.streams[self.sizes.layers * stream..][..self.rows * self.sizes.width];
        let tape = HeadTape { input, normed: self.normed, logits: self.logits, losses: self.losses };
        (tape, &mut self.way)
    }
}
