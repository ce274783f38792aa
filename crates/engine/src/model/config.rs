//! What a model is: its architecture and sizes.

use kernels::RopePairing;

use super::architecture::{Architecture, Features, NormKind};
use crate::{Array, Error, Metadata, PAIRING_ADJACENT, PAIRING_HALVES, PAIRING_KEY, Result, TensorSource, Value};

/// What all weights follow from.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// What it is made of.
    pub architecture: Architecture,
    /// How many tokens there are.
    pub vocab: usize,
    /// The positions it was made for.
    pub context: usize,
    /// The width of the residual stream.
    pub width: usize,
    /// How many layers.
    pub layers: usize,
    /// Heads of queries.
    pub heads: usize,
    /// Heads of keys and values.
    pub kv_heads: usize,
    /// Values in a head.
    pub head_dim: usize,
    /// The width inside the feed-forward network.
    pub ffn: usize,
    /// What keeps the norms' roots from zero.
    pub norm_eps: f32,
    /// How positions turn queries and keys; nothing where positions are learned.
    pub rope: Option<Rope>,
    /// How many positions a query sees at most.
    pub window: Option<usize>,
}

/// How positions turn queries and keys.
#[derive(Debug, Clone, PartialEq)]
pub struct Rope {
    /// Which values are turned together.
    pub pairing: RopePairing,
    /// How many values of a head are turned.
    pub dims: usize,
    /// The base of the frequencies.
    pub base: f64,
    /// One over the factor by which the context was stretched linearly.
    pub position_scale: f64,
}

/// Larger sizes than any model has: files that claim them are wrong, and sums of them do not overflow.
const LARGEST_WIDTH: usize = 1 << 20;
const MOST_LAYERS: usize = 1 << 12;
const MOST_TOKENS: usize = 1 << 24;
const LONGEST_CONTEXT: usize = 1 << 28;

/// The keys of an architecture that are read here, or change nothing that is computed.
const KNOWN_KEYS: [&str; 22] = [
    "attention.causal",
    "attention.head_count",
    "attention.head_count_kv",
    "attention.key_length",
    "attention.layer_norm_epsilon",
    "attention.layer_norm_rms_epsilon",
    "attention.sliding_window",
    "attention.value_length",
    "block_count",
    "context_length",
    "embedding_length",
    "feed_forward_length",
    "rope.dimension_count",
    "rope.freq_base",
    "rope.scale_linear",
    "rope.scaling.attn_factor",
    "rope.scaling.factor",
    "rope.scaling.type",
    // What the other kinds of scaling need, which are refused; how the file was made.
    "rope.scaling.finetuned",
    "rope.scaling.original_context_length",
    "tensor_data_layout",
    "vocab_size",
];

impl Config {
    /// Read from the metadata and the shapes of the tensors.
    pub fn read(source: &dyn TensorSource) -> Result<Self> {
        let keys = Keys::new(source.metadata())?;
        let architecture = keys.architecture;
        let width = keys.size("embedding_length", LARGEST_WIDTH)?;
        let heads = keys.size("attention.head_count", LARGEST_WIDTH)?;
        let kv_heads = keys.size_or("attention.head_count_kv", LARGEST_WIDTH, heads)?;
        let head_dim = keys.size_or("attention.key_length", LARGEST_WIDTH, width / heads)?;
        let config = Self {
            architecture,
            vocab: vocab(source)?,
            context: keys.size("context_length", LONGEST_CONTEXT)?,
            width,
            layers: keys.size("block_count", MOST_LAYERS)?,
            heads,
            kv_heads,
            head_dim,
            ffn: keys.size("feed_forward_length", LARGEST_WIDTH)?,
            norm_eps: keys.epsilon()?,
            rope: keys.rope(head_dim)?,
            window: keys.window()?,
        };
        keys.refuse_unknown(&config)?;
        config.check()?;
        Ok(config)
    }

    /// Whether the sizes make sense together.
    pub fn check(&self) -> Result<()> {
        let sizes =
            [self.vocab, self.context, self.width, self.layers, self.heads, self.kv_heads, self.head_dim, self.ffn];
        if sizes.contains(&0) {
            return Err(Error::malformed("the model has a size of zero"));
        }
        if !self.heads.is_multiple_of(self.kv_heads) {
            let (heads, kv_heads) = (self.heads, self.kv_heads);
            return Err(Error::malformed(format!("{heads} heads are not divisible by {kv_heads} key/value heads")));
        }
        if self.queries() > LARGEST_WIDTH || self.keys() > LARGEST_WIDTH {
            return Err(Error::malformed(format!(
                "{} heads of {} values exceed the size limit",
                self.heads, self.head_dim
            )));
        }
        if let Some(rope) = &self.rope
            && (!rope.dims.is_multiple_of(2) || rope.dims > self.head_dim)
        {
            let (dims, head) = (rope.dims, self.head_dim);
            return Err(Error::malformed(format!("RoPE cannot rotate {dims} values of a head of {head} in pairs")));
        }
        Ok(())
    }

    /// The width of all queries of a token.
    pub fn queries(&self) -> usize {
        self.heads.saturating_mul(self.head_dim)
    }

    /// The width of all keys of a token, and of its values.
    pub fn keys(&self) -> usize {
        self.kv_heads.saturating_mul(self.head_dim)
    }

    /// Sets the keys of GGUF from which [`Config::read`] makes this config again.
    pub(crate) fn write(&self, all: &mut Metadata) {
        let architecture = self.architecture.name();
        let mut set = |key: &str, value: Value| drop(all.set(key.replace('*', architecture), value));
        let count = |number: usize| Value::Unsigned(number as u64);
        set("general.architecture", Value::Text(architecture.into()));
        set("*.context_length", count(self.context));
        set("*.embedding_length", count(self.width));
        set("*.block_count", count(self.layers));
        set("*.feed_forward_length", count(self.ffn));
        set("*.attention.head_count", count(self.heads));
        if self.queries() != self.width {
            set("*.attention.key_length", count(self.head_dim));
            set("*.attention.value_length", count(self.head_dim));
        }
        if let Some(window) = self.window {
            set("*.attention.sliding_window", count(window));
        }
        let features = self.features();
        if features.grouped_queries {
            set("*.attention.head_count_kv", count(self.kv_heads));
        }
        set(&format!("*.attention.{}", features.norm.epsilon_key()), Value::Float(f64::from(self.norm_eps)));
        if let Some(rope) = &self.rope {
            set("*.vocab_size", count(self.vocab));
            rope.write(self.architecture, all);
        }
    }

    /// What the model is made of.
    pub fn features(&self) -> &'static Features {
        self.architecture.features()
    }

    /// Heads of queries that share a head of keys.
    pub fn group(&self) -> usize {
        self.heads / self.kv_heads
    }
}

impl NormKind {
    /// The key of what keeps its root from zero, behind `attention.`.
    fn epsilon_key(self) -> &'static str {
        match self {
            NormKind::LayerNorm => "layer_norm_epsilon",
            NormKind::RmsNorm => "layer_norm_rms_epsilon",
        }
    }
}

impl Rope {
    /// That of an architecture's usual models: whole heads of `dims` values are rotated; nothing
    /// where positions are learned.
    pub fn usual(architecture: Architecture, dims: usize, base: f64) -> Option<Self> {
        let pairing = architecture.features().rope_pairing()?;
        Some(Self { pairing, dims, base, position_scale: 1.0 })
    }

    fn write(&self, architecture: Architecture, all: &mut Metadata) {
        let mut set = |key: &str, value: Value| drop(all.set(format!("{}.{key}", architecture.name()), value));
        set("rope.dimension_count", Value::Unsigned(self.dims as u64));
        set("rope.freq_base", Value::Float(self.base));
        if self.position_scale != 1.0 {
            set("rope.scaling.type", Value::Text("linear".into()));
            set("rope.scaling.factor", Value::Float(1.0 / self.position_scale));
        }
        if Some(self.pairing) != architecture.features().rope_pairing() {
            let pairing = if self.pairing == RopePairing::Halves { PAIRING_HALVES } else { PAIRING_ADJACENT };
            all.set(PAIRING_KEY, Value::Text(pairing.into()));
        }
    }
}

/// The number of rows of the embedding: metadata may count tokens that have none.
fn vocab(source: &dyn TensorSource) -> Result<usize> {
    let missing = || Error::malformed("the tensor token_embd.weight is missing: not a complete model");
    let embedding = source.info("token_embd.weight")?.ok_or_else(missing)?;
    match embedding.shape[..] {
        [_, tokens] if (1..=MOST_TOKENS).contains(&tokens) => Ok(tokens),
        _ => Err(Error::malformed(format!("tensor token_embd.weight: invalid shape {:?}", embedding.shape))),
    }
}

/// The keys of one architecture: `llama.block_count` and so on.
struct Keys<'a> {
    metadata: &'a Metadata,
    architecture: Architecture,
}

impl<'a> Keys<'a> {
    fn new(metadata: &'a Metadata) -> Result<Self> {
        let missing = || Error::malformed("the key general.architecture is missing: not a model");
        let name = metadata.text("general.architecture")?.ok_or_else(missing)?;
        Ok(Self { metadata, architecture: Architecture::from_name(name)? })
    }

    fn key(&self, name: &str) -> String {
        format!("{}.{name}", self.architecture.name())
    }

    fn size(&self, name: &str, most: usize) -> Result<usize> {
        let key = self.key(name);
        let size = self.metadata.count(&key)?;
        self.within(&key, size.ok_or_else(|| Error::malformed(format!("the key {key} is missing")))?, most)
    }

    fn size_or(&self, name: &str, most: usize, otherwise: usize) -> Result<usize> {
        let key = self.key(name);
        let size = self.metadata.count(&key)?.unwrap_or(otherwise);
        self.within(&key, size, most)
    }

    fn within(&self, key: &str, size: usize, most: usize) -> Result<usize> {
        let wrong = || Error::malformed(format!("key {key}: {size} is not between 1 and {most}"));
        if (1..=most).contains(&size) { Ok(size) } else { Err(wrong()) }
    }

    fn number(&self, name: &str) -> Result<Option<f64>> {
        let key = self.key(name);
        let number = self.metadata.number(&key)?;
        match number {
            Some(number) if !number.is_finite() => {
                Err(Error::malformed(format!("key {key}: {number} is not a finite number")))
            }
            _ => Ok(number),
        }
    }

    fn epsilon(&self) -> Result<f32> {
        let name = self.architecture.features().norm.epsilon_key();
        let eps = self.number(&format!("attention.{name}"))?.unwrap_or(1e-5);
        if (0.0..1.0).contains(&eps) {
            Ok(eps as f32)
        } else {
            Err(Error::malformed(format!("invalid norm epsilon {eps}")))
        }
    }

    fn rope(&self, head_dim: usize) -> Result<Option<Rope>> {
        let Some(usual) = self.architecture.features().rope_pairing() else { return Ok(None) };
        let base = self.number("rope.freq_base")?.unwrap_or(10_000.0);
        if base <= 0.0 {
            return Err(Error::malformed(format!("key {}: {base} is not positive", self.key("rope.freq_base"))));
        }
        let dims = self.size_or("rope.dimension_count", LARGEST_WIDTH, head_dim)?;
        Ok(Some(Rope { pairing: self.pairing(usual)?, dims, base, position_scale: 1.0 / self.stretch()? }))
    }

    /// That of the architecture's GGUF files, unless our own key names another: rows of other files have another order.
    fn pairing(&self, usual: RopePairing) -> Result<RopePairing> {
        match self.metadata.text(PAIRING_KEY)? {
            None => Ok(usual),
            Some(PAIRING_HALVES) => Ok(RopePairing::Halves),
            Some(PAIRING_ADJACENT) => Ok(RopePairing::Adjacent),
            Some(other) => Err(Error::malformed(format!(
                "key {PAIRING_KEY}: `{other}` is neither {PAIRING_HALVES} nor {PAIRING_ADJACENT}"
            ))),
        }
    }

    /// By how much the context was stretched linearly.
    fn stretch(&self) -> Result<f64> {
        let kind_key = self.key("rope.scaling.type");
        let kind = self.metadata.text(&kind_key)?;
        let factor = match self.number("rope.scaling.factor")? {
            Some(factor) => Some(factor),
            None => self.number("rope.scale_linear")?,
        };
        match (kind, factor) {
            (Some("none"), _) | (None, None) => Ok(1.0),
            (Some("linear") | None, Some(factor)) if factor > 0.0 && factor.is_normal() => Ok(factor),
            (Some("linear") | None, Some(0.0)) => Ok(1.0),
            (Some("linear"), None) => Ok(1.0),
            (Some("linear") | None, Some(factor)) => {
                Err(Error::malformed(format!("invalid RoPE scaling factor {factor}")))
            }
            (Some(other), _) => Err(Error::unsupported(format!(
                "key {kind_key}: RoPE scaling `{other}` is not supported; supported are none and linear"
            ))),
        }
    }

    fn window(&self) -> Result<Option<usize>> {
        let key = self.key("attention.sliding_window");
        Ok(self.metadata.count(&key)?.filter(|window| *window > 0))
    }

    /// What a model of a known family may have that changes its result, and that is not there.
    fn refuse_unknown(&self, config: &Config) -> Result<()> {
        let value_length = self.size_or("attention.value_length", LARGEST_WIDTH, config.head_dim)?;
        if value_length != config.head_dim {
            return Err(Error::unsupported("keys and values of different lengths are not supported"));
        }
        let refused = [
            ("expert_count", "a mixture of experts"),
            ("attention.max_alibi_bias", "ALiBi positions"),
            ("attn_logit_softcapping", "capped scores"),
            ("final_logit_softcapping", "capped logits"),
            ("logit_scale", "scaled logits"),
            ("embedding_scale", "scaled embeddings"),
            ("residual_scale", "a scaled residual stream"),
        ];
        for (name, what) in refused {
            if self.number(name)?.is_some_and(|value| value != 0.0) {
                return Err(Error::unsupported(format!("key {}: {what} is not supported", self.key(name))));
            }
        }
        if self.metadata.bool(&self.key("attention.causal"))? == Some(false) {
            let key = self.key("attention.causal");
            return Err(Error::unsupported(format!("key {key}: attention to later tokens is not supported")));
        }
        let factor = "rope.scaling.attn_factor";
        if self.number(factor)?.is_some_and(|factor| factor != 1.0) {
            return Err(Error::unsupported(format!("key {}: scaled scores are not supported", self.key(factor))));
        }
        self.refuse_unread()
    }

    /// A key that is not known here may change what the model computes. Those that say that
    /// something is not there may stay.
    fn refuse_unread(&self) -> Result<()> {
        let prefix = self.key("");
        for (key, value) in self.metadata.iter() {
            let Some(name) = key.strip_prefix(&prefix) else { continue };
            if !KNOWN_KEYS.contains(&name) && !is_off(value) {
                let family = self.architecture.name();
                return Err(Error::unsupported(format!(
                    "key {key}: unknown for {family} models, and it may change their results"
                )));
            }
        }
        Ok(())
    }
}

/// Whether a value says that there is nothing of the kind.
fn is_off(value: &Value) -> bool {
    match value {
        Value::Unsigned(0) | Value::Signed(0) | Value::Bool(false) => true,
        Value::Float(number) => *number == 0.0,
        Value::Text(text) => text.is_empty() || text == "none",
        Value::Array(Array::Unsigned(all)) => all.iter().all(|number| *number == 0),
        Value::Array(array) => array.is_empty(),
        _ => false,
    }
}
