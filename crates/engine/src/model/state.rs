//! What one generation, or a batch of them, writes: the cache, and the scratch memory of a pass.

use kernels::quant::Activations;
use kernels::{AlignedBuffer, AttentionShape, RopeSpec, RopeTable, attention_on_scratch};

use super::{Config, LayerWeights, LinearLayer, Model};
use crate::kv_cache::{CacheShape, KvCache};
use crate::{CacheType, Compute, Error, Result, memory};

/// How large a state is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateOptions {
    /// How many sequences it holds at the same time.
    pub sequences: usize,
    /// How many positions each has room for; the model's own context by default.
    pub context: Option<usize>,
    /// How many tokens a pass computes at most: prompts are computed in blocks of so many.
    pub block: usize,
    /// For how many tokens of a pass there are logits.
    pub logits: usize,
    /// How the cache keeps its numbers.
    pub cache: CacheType,
    /// How many bytes the cache may take.
    pub cache_budget: Option<usize>,
    /// Whether scratch memory is kept from pass to pass; without, it is made anew for each, to see
    /// what keeping is worth.
    pub pooled: bool,
}

impl Default for StateOptions {
    fn default() -> Self {
        Self {
            sequences: 1,
            context: None,
            block: 128,
            logits: 1,
            cache: CacheType::default(),
            cache_budget: None,
            pooled: true,
        }
    }
}

/// The memory of a state by purpose, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// Keys and values.
    pub cache: usize,
    /// What a pass hands from step to step: the stream, queries, keys and values, the feed-forward network, logits.
    pub activations: usize,
    /// What its steps need for themselves: attention on every thread, activations in bytes.
    pub scratch: usize,
    /// Cosines and sines of the positions.
    pub positions: usize,
}

/// What generations write. Everything has its size from the beginning: passes allocate nothing.
#[derive(Debug)]
pub struct State {
    plan: Plan,
    /// Of the model that it was made for.
    config: Config,
    scratch: Scratch,
    pooled: bool,
    pub(crate) cache: KvCache,
    pub(crate) rope: Option<RopeTable>,
    /// How many positions of each sequence are in the cache.
    pub(crate) lengths: Vec<usize>,
    /// For how many tokens of the last pass there are logits.
    pub(crate) logits: usize,
}

/// How many values each part of the arena has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Plan {
    block: usize,
    logits: usize,
    threads: usize,
    vocab: usize,
    width: usize,
    qkv: usize,
    queries: usize,
    ffn: usize,
    attention: usize,
    /// Whether the inputs of that width are needed in bytes.
    bytes: [bool; 3],
}

#[derive(Debug)]
struct Scratch {
    arena: AlignedBuffer<f32>,
    quantised: Quantised,
}

/// Activations in bytes, for the weights that are quantised.
#[derive(Debug)]
pub(crate) struct Quantised {
    /// Of the width of the residual stream.
    pub width: Option<Activations>,
    /// Of the width of all queries.
    pub queries: Option<Activations>,
    /// Of the width inside the feed-forward network.
    pub ffn: Option<Activations>,
}

/// The parts of the arena that a pass of some rows uses.
pub(crate) struct Buffers<'a> {
    /// The residual stream.
    pub stream: &'a mut [f32],
    /// What a norm gives, or what is added to the stream.
    pub normed: &'a mut [f32],
    /// Queries, keys and values of each row.
    pub qkv: &'a mut [f32],
    /// What attention gives.
    pub attended: &'a mut [f32],
    pub gate: &'a mut [f32],
    pub up: &'a mut [f32],
    /// Of as many rows as have been asked for.
    pub logits: &'a mut [f32],
    /// Of the attention of every thread.
    pub attention: &'a mut [f32],
    pub quantised: &'a mut Quantised,
}

impl Plan {
    fn new(model: &Model, compute: &Compute, options: &StateOptions) -> Self {
        let config = &model.config;
        let any = |layers: &dyn Fn(&LayerWeights) -> bool| model.weights.layers.iter().any(layers);
        let width = |layer: &LayerWeights| {
            layer.qkv.iter().chain(&layer.gate).chain([&layer.up]).any(LinearLayer::is_quantised)
        };
        // More tokens than there are places for cannot come, nor more logits than tokens.
        let places = options.context.unwrap_or(config.context).saturating_mul(options.sequences);
        let block = options.block.min(places);
        Self {
            block,
            logits: options.logits.min(block),
            threads: compute.pool.threads(),
            vocab: config.vocab,
            width: config.width,
            qkv: config.queries() + 2 * config.keys(),
            queries: config.queries(),
            ffn: config.ffn,
            attention: attention_on_scratch(&attention_shape(config), compute.pool.threads()),
            bytes: [
                any(&width) || model.weights.head.is_quantised(),
                any(&|layer| layer.attention_out.is_quantised()),
                any(&|layer| layer.down.is_quantised()),
            ],
        }
    }

    /// The lengths of the parts, in the order of [`Buffers`]; as large as can be where they cannot be counted.
    fn lengths(&self) -> [usize; 8] {
        let rows = self.block;
        let Self { width, qkv, queries, ffn, .. } = *self;
        let parts = [(rows, width), (rows, width), (rows, qkv), (rows, queries), (rows, ffn), (rows, ffn)];
        let mut lengths = [0; 8];
        for (length, (rows, width)) in lengths.iter_mut().zip(parts) {
            *length = rows.saturating_mul(width);
        }
        lengths[6] = self.logits.saturating_mul(self.vocab);
        lengths[7] = self.attention;
        lengths
    }

    /// Each part begins at a cache line.
    fn arena(&self) -> usize {
        let whole = |len: usize| len.checked_next_multiple_of(16).unwrap_or(usize::MAX);
        self.lengths().into_iter().map(whole).fold(0, usize::saturating_add)
    }

    /// The bytes of all parts but the last, which is the attention's own.
    fn activations(&self) -> usize {
        let lengths = self.lengths();
        4 * lengths[..lengths.len() - 1].iter().map(|len| len.next_multiple_of(16)).sum::<usize>()
    }

    fn scratch(&self) -> Scratch {
        let bytes =
            |wanted: bool, columns: usize| wanted.then(|| Activations::new(self.block.max(self.logits), columns));
        Scratch {
            arena: AlignedBuffer::zeroed(self.arena()),
            quantised: Quantised {
                width: bytes(self.bytes[0], self.width),
                queries: bytes(self.bytes[1], self.queries),
                ffn: bytes(self.bytes[2], self.ffn),
            },
        }
    }
}

impl Scratch {
    fn bytes(&self) -> usize {
        let Quantised { width, queries, ffn } = &self.quantised;
        let quantised = [width, queries, ffn].into_iter().flatten().map(Activations::bytes).sum::<usize>();
        4 * self.arena.len() + quantised
    }

    fn buffers(&mut self, plan: &Plan, rows: usize) -> Buffers<'_> {
        let mut rest = &mut self.arena[..];
        let mut take = |whole: usize, used: usize| {
            let (part, after) = std::mem::take(&mut rest).split_at_mut(whole.next_multiple_of(16));
            rest = after;
            &mut part[..used]
        };
        let whole = plan.lengths();
        Buffers {
            stream: take(whole[0], rows * plan.width),
            normed: take(whole[1], rows * plan.width),
            qkv: take(whole[2], rows * plan.qkv),
            attended: take(whole[3], rows * plan.queries),
            gate: take(whole[4], rows * plan.ffn),
            up: take(whole[5], rows * plan.ffn),
            logits: take(whole[6], whole[6]),
            attention: take(whole[7], whole[7]),
            quantised: &mut self.quantised,
        }
    }
}

/// What the attention of every layer has in common.
pub(crate) fn attention_shape(config: &Config) -> AttentionShape {
    AttentionShape {
        head_dim: config.head_dim,
        group: config.group(),
        scale: 1.0 / (config.head_dim as f32).sqrt(),
        window: config.window,
    }
}

impl State {
    /// Room for generations with `model`, to be computed by `compute` or by one with as many threads.
    pub fn new(model: &Model, compute: &Compute, options: &StateOptions) -> Result<Self> {
        let config = &model.config;
        if options.sequences == 0 || options.block == 0 || options.logits == 0 {
            return Err(Error::refused("a state needs at least one sequence, token and logit"));
        }
        let context = options.context.unwrap_or(config.context);
        if context == 0 || (config.rope.is_none() && context > config.context) {
            let most = config.context;
            return Err(Error::refused(format!(
                "a context of {context} tokens: this model has {most} learned positions"
            )));
        }
        let shape = CacheShape {
            kind: options.cache,
            layers: config.layers,
            sequences: options.sequences,
            kv_heads: config.kv_heads,
            head_dim: config.head_dim,
            context,
        };
        within_budget(&shape, options.cache_budget)?;
        let plan = Plan::new(model, compute, options);
        // Activations in bytes take about as much as their f32, and are a part of those.
        let scratch = plan.arena().saturating_mul(2 * size_of::<f32>());
        let positions = config.rope.as_ref().map_or(0, |rope| context.saturating_mul(rope.dims * size_of::<f32>()));
        memory::check(
            shape.bytes()?.saturating_add(scratch).saturating_add(positions),
            "the cache and scratch memory",
            "choose a shorter context, fewer sequences or a smaller cache type",
        )?;
        Ok(Self {
            scratch: plan.scratch(),
            plan,
            config: config.clone(),
            pooled: options.pooled,
            cache: KvCache::new(shape),
            rope: config.rope.as_ref().map(|rope| {
                let factors = model.weights.rope_factors.as_deref();
                let (pairing, dims, base) = (rope.pairing, rope.dims, rope.base);
                RopeTable::new(&RopeSpec { pairing, dims, base, position_scale: rope.position_scale, factors }, context)
            }),
            lengths: vec![0; options.sequences],
            logits: 0,
        })
    }

    /// How many sequences it holds.
    pub fn sequences(&self) -> usize {
        self.lengths.len()
    }

    /// How many positions a sequence has room for.
    pub fn context(&self) -> usize {
        self.cache.shape().context
    }

    /// How many tokens a pass computes at most.
    pub fn block(&self) -> usize {
        self.plan.block
    }

    /// How many positions of a sequence have been computed.
    ///
    /// # Panics
    /// Where there is no such sequence.
    pub fn len(&self, sequence: usize) -> usize {
        self.lengths[sequence]
    }

    /// Whether no position of a sequence has been computed.
    ///
    /// # Panics
    /// Where there is no such sequence.
    pub fn is_empty(&self, sequence: usize) -> bool {
        self.len(sequence) == 0
    }

    /// Forgets all positions of a sequence from `len` on.
    ///
    /// # Panics
    /// Where there is no such sequence.
    pub fn truncate(&mut self, sequence: usize, len: usize) {
        let length = &mut self.lengths[sequence];
        *length = len.min(*length);
    }

    /// The logits of the last pass: those of token `index` of the ones that asked for them.
    ///
    /// # Panics
    /// Where so many were not asked for.
    pub fn logits(&mut self, index: usize) -> &mut [f32] {
        assert!(index < self.logits, "logits of token {index} of {}", self.logits);
        let vocab = self.plan.vocab;
        &mut self.scratch.buffers(&self.plan, 0).logits[index * vocab..(index + 1) * vocab]
    }

    /// The memory it takes.
    pub fn memory(&self) -> Memory {
        let activations = self.plan.activations();
        Memory {
            cache: self.cache.shape().bytes().unwrap_or(usize::MAX),
            activations,
            scratch: self.scratch.bytes() - activations,
            positions: self.rope.as_ref().map_or(0, |table| 4 * table.dims() * table.positions()),
        }
    }

    /// The bytes that one more position of a sequence takes in the cache.
    pub fn cache_bytes_per_token(&self) -> usize {
        self.cache.shape().bytes_per_position()
    }

    /// For how many tokens of a pass there can be logits.
    pub(crate) fn most_logits(&self) -> usize {
        self.plan.logits
    }

    /// Whether a pass of this model on these threads fits into it.
    pub(crate) fn check(&self, config: &Config, compute: &Compute) -> Result<()> {
        if self.config != *config {
            return Err(Error::refused("the state belongs to another model"));
        }
        let (threads, most) = (compute.pool.threads(), self.plan.threads);
        if threads > most {
            return Err(Error::refused(format!("a pass on {threads} threads in a state made for {most}")));
        }
        Ok(())
    }

    /// What a pass works on.
    pub(crate) fn parts(&mut self, rows: usize) -> (Buffers<'_>, &mut KvCache, Option<&RopeTable>, &[usize]) {
        if !self.pooled {
            self.scratch = self.plan.scratch();
        }
        (self.scratch.buffers(&self.plan, rows), &mut self.cache, self.rope.as_ref(), &self.lengths)
    }
}

fn within_budget(shape: &CacheShape, budget: Option<usize>) -> Result<()> {
    let (bytes, budget) = (shape.bytes()?, budget.unwrap_or(usize::MAX));
    if bytes <= budget {
        return Ok(());
    }
    let fits = budget / (shape.bytes_per_position() * shape.sequences).max(1);
    Err(Error::refused(format!(
        "a cache of {} tokens for {} takes {} KiB, more than the budget of {} KiB: {fits} tokens would fit",
        shape.context,
        if shape.sequences == 1 { "a sequence".to_owned() } else { format!("each of {} sequences", shape.sequences) },
        bytes.div_ceil(1024),
        budget / 1024
    )))
}
