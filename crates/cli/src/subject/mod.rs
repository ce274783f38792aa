//! What is measured: a model in the engine, and this program.

mod build;
pub mod bundled;
mod generator;
mod sequences;
mod settings;

use std::path::{Path, PathBuf};
use std::time::Instant;

use engine::{
    Compute, Config, Encode, LoadOptions, Model, Reading, Synthetic, SyntheticSource, TensorSource, Tokenizer,
};

use kernels::quant::Format;
use record::Arithmetic;

use crate::args::ModelOptions;
use crate::commands::CommandError;

pub use build::{git, this_program};
pub use generator::{EngineModels, EngineOptions, LoadedModels};
pub use sequences::{EngineSequences, prompts};
pub use settings::Settings;

impl ModelOptions {
    /// Whether a model was named at all.
    pub fn is_some(&self) -> bool {
        self.model.is_some() || self.synthetic.is_some()
    }

    /// Random weights of these sizes.
    pub fn synthetic(sizes: &str) -> Self {
        Self { model: None, synthetic: Some(sizes.to_owned()) }
    }

    /// A file's.
    pub fn file(path: PathBuf) -> Self {
        Self { model: Some(path), synthetic: None }
    }

    /// Random weights of the same sizes in another format; nothing if the weights are not random.
    pub fn sizes_as(&self, format: Format) -> Option<Self> {
        let ModelKind::Synthetic(sizes) = self.kind() else { return None };
        Some(Self::synthetic(&format!("{sizes},type={}", format.name())))
    }

    /// Which of them it is.
    pub fn kind(&self) -> ModelKind<'_> {
        match (&self.model, &self.synthetic) {
            (Some(file), _) => ModelKind::File(file),
            (None, Some(sizes)) => ModelKind::Synthetic(sizes),
            (None, None) => ModelKind::Bundled,
        }
    }

    /// The format of most of its weights.
    pub fn written(&self) -> Result<String, CommandError> {
        Ok(numbers(&*self.open()?)?.0)
    }

    /// As it is shown.
    pub fn name(&self) -> String {
        match self.kind() {
            ModelKind::File(file) => file.display().to_string(),
            ModelKind::Synthetic(sizes) => format!("synthetic {sizes}"),
            ModelKind::Bundled => bundled::NAME.to_owned(),
        }
    }

    /// Its tensors.
    pub fn open(&self) -> Result<Box<dyn TensorSource>, CommandError> {
        match self.kind() {
            ModelKind::File(file) => Ok(engine::open(file)?),
            ModelKind::Synthetic(sizes) => Ok(Box::new(SyntheticSource::new(Synthetic::parse(sizes)?))),
            ModelKind::Bundled => Ok(Box::new(bundled::open()?)),
        }
    }

    /// Its config and tokenizer, without its weights.
    pub fn outline(&self) -> Result<(Config, Tokenizer), CommandError> {
        let source = self.open()?;
        let config = Config::read(&*source).map_err(|error| in_file(&*source, error))?;
        let tokenizer = tokenizer(&*source, config.vocab)?;
        Ok((config, tokenizer))
    }

    /// Its tokenizer alone: the rest of the file need not be a model that can be computed.
    pub fn tokenizer(&self) -> Result<Tokenizer, CommandError> {
        let source = self.open()?;
        let vocab = match source.metadata().get(TOKENIZER_KEY) {
            Some(_) => 0,
            None => Config::read(&*source).map_err(|error| in_file(&*source, error))?.vocab,
        };
        tokenizer(&*source, vocab)
    }

    /// BLAKE3 of the file, or of the recipe; `None` where there is no single file.
    pub fn blake3(&self) -> Option<String> {
        match self.kind() {
            ModelKind::File(file) => lab::blake3_of(file),
            ModelKind::Synthetic(sizes) => Some(blake3::hash(sizes.as_bytes()).to_hex().to_string()),
            ModelKind::Bundled => Some(blake3::hash(bundled::bytes()).to_hex().to_string()),
        }
    }
}

/// Where a model comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelKind<'a> {
    /// A file.
    File(&'a Path),
    /// Sizes of random weights.
    Synthetic(&'a str),
    /// The model in this program.
    Bundled,
}

/// A model that was loaded.
pub struct Subject {
    pub model: Model,
    pub tokenizer: Tokenizer,
    pub load_s: f64,
    name: String,
    format: String,
    /// The arithmetic of its matrix products.
    arithmetic: Arithmetic,
    parameters: u64,
    in_place: bool,
    /// Whether its weights are random.
    is_random: bool,
    /// Bytes of the embedding, where nothing has them but memory.
    copied: usize,
}

impl Subject {
    /// The file, the random weights, or the bundled model.
    pub fn load(named: &ModelOptions, compute: &Compute, mut load: LoadOptions<'_>) -> Result<Self, CommandError> {
        let start = Instant::now();
        let source = named.open()?;
        // Random weights are nowhere before they are made.
        let is_random = matches!(named.kind(), ModelKind::Synthetic(_));
        let (in_place, exact) = (load.in_place && !is_random, load.exact);
        let model = Model::load(&*source, compute, &mut load)?;
        let tokenizer = tokenizer(&*source, model.config.vocab)?;
        let (written, parameters) = numbers(&*source)?;
        let is_float = ["f32", "f16", "bf16"].contains(&written.as_str());
        let format = if exact && !is_float { format!("f32, from {written}") } else { written };
        let arithmetic = if is_float || exact { Arithmetic::F32 } else { Arithmetic::Int8 };
        let copied = if is_random { model.weights.embedding_bytes() } else { 0 };
        let (name, load_s) = (named.name(), start.elapsed().as_secs_f64());
        Ok(Self { model, tokenizer, load_s, name, format, arithmetic, parameters, in_place, is_random, copied })
    }

    /// For the record.
    pub fn describe(&self) -> record::Model {
        let config = &self.model.config;
        record::Model {
            name: self.name.clone(),
            architecture: config.architecture.name().to_owned(),
            parameters: self.parameters,
            active_parameters: self.model.weights.active_parameters() as u64,
            format: self.format.clone(),
            arithmetic: Some(self.arithmetic),
            weight_bytes: self.model.weights.bytes_per_token() as u64,
            weights_blake3: None,
            layers: config.layers as u64,
            width: config.width as u64,
            heads: config.heads as u64,
            kv_heads: config.kv_heads as u64,
            head_dim: config.head_dim as u64,
            vocab: config.vocab as u64,
            context: config.context as u64,
        }
    }

    /// The perplexity of a text; nothing with random weights.
    pub fn score(
        &self,
        compute: &Compute,
        text: &str,
        cache: engine::CacheType,
    ) -> engine::Result<Option<lab::TextScore>> {
        if self.is_random {
            return Ok(None);
        }
        let tokens = self.tokenizer.encode(text, Encode { add_special: true, parse_special: false });
        let nll = engine::perplexity(&self.model, compute, &tokens, Reading { cache, window: None })?;
        // The first token is not scored; where that begins a text, it stands for none of it.
        let unscored = self.tokenizer.decode(&tokens[..1]).len();
        let bytes = text.len().saturating_sub(unscored) as u64;
        Ok(Some(lab::TextScore { each: nll.each, bytes, window: nll.window as u64 }))
    }

    /// The text of tokens, up to where it would have ended; nothing with random weights.
    pub fn text(&self, tokens: &[u32]) -> Option<String> {
        if self.is_random {
            return None;
        }
        let end = tokens.iter().position(|token| self.tokenizer.is_end(*token)).unwrap_or(tokens.len());
        Some(self.tokenizer.decode(&tokens[..end]))
    }

    /// Bytes of its weights in memory, apart from the file.
    pub fn weight_bytes(&self) -> usize {
        if self.in_place { 0 } else { self.model.weights.bytes() + self.copied }
    }
}

/// Absent from files without a vocabulary.
const TOKENIZER_KEY: &str = "tokenizer.ggml.model";

/// The tokenizer of the file; one of bytes if it has none.
fn tokenizer(source: &dyn TensorSource, vocab: usize) -> Result<Tokenizer, CommandError> {
    if source.metadata().get(TOKENIZER_KEY).is_none() {
        return Ok(Tokenizer::bytes(vocab));
    }
    let tokenizer = Tokenizer::from_metadata(source.metadata()).map_err(|error| in_file(source, error))?;
    Ok(tokenizer)
}

/// The error with the name of the file, where there is one.
fn in_file(source: &dyn TensorSource, error: engine::Error) -> engine::Error {
    match source.file() {
        Some(file) => error.in_file(file),
        None => error,
    }
}

/// The format of most of the weights, and the number of all.
fn numbers(source: &dyn TensorSource) -> Result<(String, u64), CommandError> {
    let mut bytes = std::collections::BTreeMap::<&'static str, usize>::new();
    let mut count = 0;
    for name in source.names() {
        if let Some(info) = source.info(name)? {
            *bytes.entry(info.format.name()).or_default() += info.bytes()?;
            count += info.shape.iter().product::<usize>() as u64;
        }
    }
    let largest = bytes.into_iter().max_by_key(|(_, bytes)| *bytes);
    Ok((largest.map_or_else(|| "nothing".to_owned(), |(name, _)| name.to_owned()), count))
}
