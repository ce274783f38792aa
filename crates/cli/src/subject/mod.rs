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

use crate::args::Named;
use crate::commands::Refusal;

pub use build::this_program;
pub use generator::{EngineModels, LoadedModels, Ways};
pub use sequences::{EngineSequences, prompts};
pub use settings::Settings;

impl Named {
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

    /// Random weights of the same sizes, written in another format; nothing where weights are not random.
    pub fn sizes_as(&self, format: Format) -> Option<Self> {
        let Kind::Synthetic(sizes) = self.kind() else { return None };
        Some(Self::synthetic(&format!("{sizes},type={}", format.name())))
    }

    /// Which of them it is.
    pub fn kind(&self) -> Kind<'_> {
        match (&self.model, &self.synthetic) {
            (Some(file), _) => Kind::File(file),
            (None, Some(sizes)) => Kind::Synthetic(sizes),
            (None, None) => Kind::Bundled,
        }
    }

    /// How most of the weights are written.
    pub fn written(&self) -> Result<String, Refusal> {
        Ok(numbers(&*self.open()?)?.0)
    }

    /// As it is shown.
    pub fn name(&self) -> String {
        match self.kind() {
            Kind::File(file) => file.display().to_string(),
            Kind::Synthetic(sizes) => format!("synthetic {sizes}"),
            Kind::Bundled => bundled::NAME.to_owned(),
        }
    }

    /// Its tensors.
    pub fn open(&self) -> Result<Box<dyn TensorSource>, Refusal> {
        match self.kind() {
            Kind::File(file) => Ok(engine::open(file)?),
            Kind::Synthetic(sizes) => Ok(Box::new(SyntheticSource::new(Synthetic::parse(sizes)?))),
            Kind::Bundled => Ok(Box::new(bundled::open()?)),
        }
    }

    /// What it is, and its tokens, without its weights.
    pub fn outline(&self) -> Result<(Config, Tokenizer), Refusal> {
        let source = self.open()?;
        let config = Config::read(&*source).map_err(|error| in_file(&*source, error))?;
        let tokenizer = tokenizer(&*source, config.vocab)?;
        Ok((config, tokenizer))
    }

    /// Its tokens alone: the rest of the file need not be a model that can be computed.
    pub fn tokenizer(&self) -> Result<Tokenizer, Refusal> {
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
            Kind::File(file) => lab::blake3_of(file),
            Kind::Synthetic(sizes) => Some(blake3::hash(sizes.as_bytes()).to_hex().to_string()),
            Kind::Bundled => Some(blake3::hash(bundled::bytes()).to_hex().to_string()),
        }
    }
}

/// What a model comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind<'a> {
    /// A file.
    File(&'a Path),
    /// A recipe for random weights.
    Synthetic(&'a str),
    /// This program.
    Bundled,
}

/// A model that was loaded.
pub struct Subject {
    pub model: Model,
    pub tokenizer: Tokenizer,
    pub load_s: f64,
    name: String,
    format: String,
    /// What its matrices are multiplied in.
    arithmetic: Arithmetic,
    parameters: u64,
    in_place: bool,
    /// Whether its weights were drawn by lot.
    is_random: bool,
    /// Bytes of the embedding, where nothing has them but memory.
    copied: usize,
}

impl Subject {
    /// The file, the random weights, or the bundled model.
    pub fn load(named: &Named, compute: &Compute, mut load: LoadOptions<'_>) -> Result<Self, Refusal> {
        let start = Instant::now();
        let source = named.open()?;
        // Random weights are nowhere before they are made.
        let is_random = matches!(named.kind(), Kind::Synthetic(_));
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

    /// What a text costs it; nothing where its weights are random.
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

    /// What it wrote, up to where it would have ended; nothing where its weights are random.
    pub fn text(&self, tokens: &[u32]) -> Option<String> {
        if self.is_random {
            return None;
        }
        let end = tokens.iter().position(|token| self.tokenizer.is_end(*token)).unwrap_or(tokens.len());
        Some(self.tokenizer.decode(&tokens[..end]))
    }

    /// What its weights take beside the file.
    pub fn weight_bytes(&self) -> usize {
        if self.in_place { 0 } else { self.model.weights.bytes() + self.copied }
    }
}

/// Absent from files without a vocabulary.
const TOKENIZER_KEY: &str = "tokenizer.ggml.model";

/// The tokens of the file; bytes, where it brings none.
fn tokenizer(source: &dyn TensorSource, vocab: usize) -> Result<Tokenizer, Refusal> {
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

/// How most of the weights are written, and how many there are.
fn numbers(source: &dyn TensorSource) -> Result<(String, u64), Refusal> {
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
