//! Models with random weights from a seed: any size, without a download.
//!
//! Weights are made tensor by tensor when they are asked for, each row from a generator of its own, so that a model of
//! billions of parameters needs no more memory than its packed form and one tensor.

use std::borrow::Cow;

use kernels::Kernels;
use kernels::quant::Format;

use crate::model::{Role, TensorSpec, tensors};
use crate::{Architecture, Array, Config, Error, Metadata, Result, Rope, Tensor, TensorInfo, TensorSource, Value};

/// What a synthetic model is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Synthetic {
    /// The family.
    pub architecture: Architecture,
    /// How many tokens.
    pub vocab: usize,
    /// Positions.
    pub context: usize,
    /// The width of the residual stream.
    pub width: usize,
    /// Layers.
    pub layers: usize,
    /// Heads of queries.
    pub heads: usize,
    /// Heads of keys and values.
    pub kv_heads: usize,
    /// Values in a head; the width divided by the heads where it is not given.
    pub head_dim: Option<usize>,
    /// The width inside the feed-forward network.
    pub ffn: usize,
    /// Whether the head is the embedding.
    pub tied: bool,
    /// How matrices are written; rows that are no whole blocks stay F16.
    pub format: Format,
    /// What all weights follow from.
    pub seed: u64,
}

impl Synthetic {
    /// The smaller of the two models of SmallMind's profiler: 470 528 parameters.
    pub const SMALL: Synthetic = Synthetic {
        architecture: Architecture::Gpt2,
        vocab: 256,
        context: 64,
        width: 128,
        layers: 2,
        heads: 4,
        kv_heads: 4,
        head_dim: None,
        ffn: 512,
        tied: false,
        format: Format::F32,
        seed: 42,
    };

    /// The larger one: 3 454 464 parameters.
    pub const MEDIUM: Synthetic =
        Synthetic { vocab: 512, context: 128, width: 256, layers: 4, heads: 8, kv_heads: 8, ffn: 1024, ..Self::SMALL };

    /// Reads `small`, `medium`, or sizes such as `d=768,layers=12,heads=12,vocab=32000,type=q4_0`;
    /// behind a name sizes change it: `medium,type=q8_0`. Without one, what is not named is
    /// LLaMA-shaped: heads of 64, as many of keys, a network of 8/3 the width, 32000 tokens, 2048
    /// positions, f32.
    pub fn parse(text: &str) -> Result<Self> {
        let mut parts = text.split(',').filter(|part| !part.is_empty()).peekable();
        let named = match parts.peek() {
            Some(&"small") => Some(Self::SMALL),
            Some(&"medium") => Some(Self::MEDIUM),
            _ => None,
        };
        let sizes_from = usize::from(named.is_some());
        let mut sizes = named.map_or_else(Sizes::default, Sizes::of);
        for part in parts.skip(sizes_from) {
            let (key, value) = part.split_once('=').ok_or_else(|| {
                Error::refused(format!("`{part}` is not a size; use small, medium, or d=768,layers=12,… ({KEYS})"))
            })?;
            sizes.set(key.trim(), value.trim())?;
        }
        sizes.finish()
    }

    /// How many numbers the model has.
    pub fn parameters(&self) -> usize {
        self.tensors().iter().map(|tensor| tensor.shape.iter().product::<usize>()).sum()
    }
}

const KEYS: &str = "arch, d, layers, heads, kv_heads, head_dim, ffn, vocab, ctx, tied, type, seed";

#[derive(Default)]
struct Sizes {
    architecture: Option<Architecture>,
    width: Option<usize>,
    layers: Option<usize>,
    heads: Option<usize>,
    kv_heads: Option<usize>,
    head_dim: Option<usize>,
    ffn: Option<usize>,
    vocab: Option<usize>,
    context: Option<usize>,
    tied: bool,
    format: Option<Format>,
    seed: Option<u64>,
}

impl Sizes {
    /// Those of a model that has a name.
    fn of(model: Synthetic) -> Self {
        Self {
            architecture: Some(model.architecture),
            width: Some(model.width),
            layers: Some(model.layers),
            heads: Some(model.heads),
            kv_heads: Some(model.kv_heads),
            head_dim: model.head_dim,
            ffn: Some(model.ffn),
            vocab: Some(model.vocab),
            context: Some(model.context),
            tied: model.tied,
            format: Some(model.format),
            seed: Some(model.seed),
        }
    }

    fn set(&mut self, key: &str, value: &str) -> Result<()> {
        let number = |most: usize| {
            let wrong = || Error::refused(format!("{key}={value}: not a whole number from 1 to {most}"));
            value.parse().ok().filter(|number| (1..=most).contains(number)).map(Some).ok_or_else(wrong)
        };
        match key {
            "arch" => self.architecture = Some(Architecture::from_name(value)?),
            "d" => self.width = number(1 << 16)?,
            "layers" => self.layers = number(1 << 10)?,
            "heads" => self.heads = number(1 << 12)?,
            "kv_heads" => self.kv_heads = number(1 << 12)?,
            "head_dim" => self.head_dim = number(1 << 12)?,
            "ffn" => self.ffn = number(1 << 18)?,
            "vocab" => self.vocab = number(1 << 20)?,
            "ctx" => self.context = number(1 << 20)?,
            "tied" => self.tied = value.parse().map_err(|_| Error::refused(format!("tied={value}: true or false")))?,
            "seed" => {
                self.seed = Some(
                    value.parse().map_err(|_| Error::refused(format!("seed={value}: not a whole number from 0 on")))?,
                )
            }
            "type" => {
                let names = || Format::ALL.iter().map(|format| format.name()).collect::<Vec<_>>().join(", ");
                let unknown = || Error::refused(format!("type={value}: unknown; known are {}", names()));
                self.format = Some(Format::from_name(value).ok_or_else(unknown)?);
            }
            _ => return Err(Error::refused(format!("`{key}` is not a size; known are {KEYS}"))),
        }
        Ok(())
    }

    fn finish(self) -> Result<Synthetic> {
        let architecture = self.architecture.unwrap_or(Architecture::Llama);
        let width = self.width.ok_or_else(|| Error::refused("the width is missing: d=…"))?;
        let layers = self.layers.ok_or_else(|| Error::refused("the number of layers is missing: layers=…"))?;
        let heads = self.heads.unwrap_or((width / 64).max(1));
        if self.head_dim.is_none() && !width.is_multiple_of(2 * heads) {
            return Err(Error::refused(format!("d={width} cannot be split into {heads} heads of even width")));
        }
        if let Some(head_dim) = self.head_dim.filter(|head_dim| !head_dim.is_multiple_of(2)) {
            return Err(Error::refused(format!("head_dim={head_dim}: not an even number")));
        }
        let kv_heads = self.kv_heads.unwrap_or(heads);
        if !heads.is_multiple_of(kv_heads) {
            return Err(Error::refused(format!("heads={heads} is not divisible by kv_heads={kv_heads}")));
        }
        let (name, features) = (architecture.name(), architecture.features());
        if !features.grouped_queries && kv_heads != heads {
            return Err(Error::refused(format!("kv_heads={kv_heads}: {name} models need as many as heads")));
        }
        // A gate takes a third matrix: with 8/3 of the width the network has as many parameters as one of 4 without.
        let usual = if features.is_gated() { (8 * width / 3).next_multiple_of(32) } else { 4 * width };
        Ok(Synthetic {
            architecture,
            vocab: self.vocab.unwrap_or(32_000),
            context: self.context.unwrap_or(2048),
            width,
            layers,
            heads,
            kv_heads,
            head_dim: self.head_dim,
            ffn: self.ffn.unwrap_or(usual),
            tied: self.tied,
            format: self.format.unwrap_or(Format::F32),
            seed: self.seed.unwrap_or(Synthetic::SMALL.seed),
        })
    }
}

/// A tensor that can be made.
#[derive(Debug)]
struct Recipe {
    name: String,
    shape: Vec<usize>,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    /// Normal numbers of the deviation 0.02, in the model's format.
    Matrix,
    /// The same as f32.
    Floats,
    Ones,
    Zeros,
}

impl Synthetic {
    fn tensors(&self) -> Vec<Recipe> {
        let recipe = |wanted: TensorSpec| {
            let kind = match wanted.role {
                Role::Matrix | Role::Residual => Kind::Matrix,
                Role::Positions | Role::Bias => Kind::Floats,
                Role::NormWeight => Kind::Ones,
                Role::NormBias => Kind::Zeros,
            };
            Recipe { name: wanted.name, shape: wanted.shape, kind }
        };
        tensors(&self.config(), self.tied).into_iter().map(recipe).collect()
    }

    fn config(&self) -> Config {
        let head_dim = self.head_dim.unwrap_or(self.width / self.heads);
        Config {
            architecture: self.architecture,
            vocab: self.vocab,
            context: self.context,
            width: self.width,
            layers: self.layers,
            heads: self.heads,
            kv_heads: self.kv_heads,
            head_dim,
            ffn: self.ffn,
            norm_eps: 1e-5,
            rope: Rope::usual(self.architecture, head_dim, 10_000.0),
            window: None,
        }
    }

    fn metadata(&self) -> Metadata {
        let mut all = Metadata::default();
        self.config().write(&mut all);
        all.set("general.name", Value::Text(format!("synthetic, seed {}", self.seed)));
        tokens(&mut all, self.vocab);
        all
    }
}

/// A vocabulary for those who want one: every byte, then words without a meaning.
fn tokens(all: &mut Metadata, vocab: usize) {
    const SPECIAL: usize = 3;
    let token = |id: usize| match id {
        0 => "<unk>".to_owned(),
        1 => "<s>".to_owned(),
        2 => "</s>".to_owned(),
        _ if id < SPECIAL + 256 => format!("<0x{:02X}>", id - SPECIAL),
        _ => format!("\u{2581}t{id}"),
    };
    // The kinds of GGUF: normal 1, unknown 2, control 3, byte 6.
    let kind = |id: usize| match id {
        0 => 2,
        1 | 2 => 3,
        _ if id < SPECIAL + 256 => 6,
        _ => 1,
    };
    if vocab < SPECIAL + 256 {
        return;
    }
    all.set("tokenizer.ggml.model", Value::Text("llama".into()));
    all.set("tokenizer.ggml.tokens", Value::Array(Array::Text((0..vocab).map(token).collect())));
    all.set("tokenizer.ggml.scores", Value::Array(Array::Float((0..vocab).map(|id| -(id as f32)).collect())));
    all.set("tokenizer.ggml.token_type", Value::Array(Array::Signed((0..vocab).map(kind).collect())));
    all.set("tokenizer.ggml.bos_token_id", Value::Unsigned(1));
    all.set("tokenizer.ggml.eos_token_id", Value::Unsigned(2));
}

/// Makes the tensors of a [`Synthetic`].
#[derive(Debug)]
pub struct SyntheticSource {
    spec: Synthetic,
    metadata: Metadata,
    recipes: Vec<Recipe>,
    kernels: Kernels,
}

impl SyntheticSource {
    /// A source of that model's tensors.
    pub fn new(spec: Synthetic) -> Self {
        Self { metadata: spec.metadata(), recipes: spec.tensors(), spec, kernels: Kernels::best() }
    }

    fn recipe(&self, name: &str) -> Option<&Recipe> {
        self.recipes.iter().find(|recipe| recipe.name == name)
    }

    fn format(&self, recipe: &Recipe) -> Format {
        let whole = |format: &Format| recipe.shape[0].is_multiple_of(format.block_len());
        match recipe.kind {
            Kind::Matrix => Some(self.spec.format).filter(whole).unwrap_or(Format::F16),
            _ => Format::F32,
        }
    }
}

impl TensorSource for SyntheticSource {
    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn names(&self) -> Vec<&str> {
        self.recipes.iter().map(|recipe| recipe.name.as_str()).collect()
    }

    fn info(&self, name: &str) -> Result<Option<TensorInfo>> {
        let info = |recipe: &Recipe| TensorInfo {
            name: recipe.name.clone(),
            format: self.format(recipe),
            shape: recipe.shape.clone(),
        };
        Ok(self.recipe(name).map(info))
    }

    fn tensor(&self, name: &str) -> Result<Option<Tensor<'_>>> {
        let Some(recipe) = self.recipe(name) else { return Ok(None) };
        let (format, width) = (self.format(recipe), recipe.shape[0]);
        let too_large = || Error::refused(format!("tensor {name}: its size exceeds any memory"));
        let row_bytes = format.row_bytes(width).ok_or_else(too_large)?;
        let rows: usize = recipe.shape[1..].iter().product();
        let mut data = vec![0; row_bytes.checked_mul(rows).ok_or_else(too_large)?];
        let mut values = vec![0.0; width];
        for (row, bytes) in data.chunks_mut(row_bytes).enumerate() {
            fill(&mut values, recipe.kind, hash(self.spec.seed, name, row as u64));
            self.kernels.quantise(format, &values, bytes);
        }
        let (name, shape) = (Cow::Borrowed(recipe.name.as_str()), recipe.shape.clone());
        Ok(Some(Tensor { name, format, shape, data: Cow::Owned(data) }))
    }
}

fn fill(values: &mut [f32], kind: Kind, seed: u64) {
    match kind {
        Kind::Ones => values.fill(1.0),
        Kind::Zeros => values.fill(0.0),
        Kind::Matrix | Kind::Floats => {
            let mut state = seed;
            values.iter_mut().for_each(|value| *value = 0.02 * normal(&mut state));
        }
    }
}

/// Nearly normal: the sum of four even numbers of 16 bits, of the deviation 1.
pub(crate) fn normal(state: &mut u64) -> f32 {
    let bits = next(state);
    let sum: u64 = (0..4).map(|part| bits >> (16 * part) & 0xffff).sum();
    // The variance of one is 65536² / 12.
    const SCALE: f32 = 1.0 / (65_536.0 * 0.577_350_26);
    (sum as f32 - 131_070.0) * SCALE
}

/// SplitMix64.
pub(crate) fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

pub(crate) fn hash(seed: u64, name: &str, row: u64) -> u64 {
    let mut state = seed;
    for byte in name.bytes() {
        state = next(&mut state) ^ u64::from(byte);
    }
    state ^= row.wrapping_mul(0xd6e8_feb8_6659_fd93);
    next(&mut state)
}
