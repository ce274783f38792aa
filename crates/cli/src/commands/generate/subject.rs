//! The model that generates, with its tokens.

use std::time::Instant;

use engine::{Compute, LoadOptions, Model, Synthetic, SyntheticSource, TensorSource, Tokenizer};
use record::GeneratingModel;

use crate::args::Generate;
use crate::commands::{PERCENT, Refusal, progress};

/// A model that was loaded.
pub struct Subject {
    pub model: Model,
    pub tokenizer: Tokenizer,
    pub load_s: f64,
    name: String,
    format: String,
    in_place: bool,
}

impl Subject {
    /// The file, the random weights, or the bundled model.
    pub fn load(options: &Generate, compute: &Compute) -> Result<Self, Refusal> {
        let start = Instant::now();
        let (name, source): (String, Box<dyn TensorSource>) = match (&options.model, &options.synthetic) {
            (Some(file), _) => (file.display().to_string(), engine::open(file)?),
            (None, sizes) => {
                let sizes = sizes.as_deref().unwrap_or("small");
                (format!("synthetic {sizes}"), Box::new(SyntheticSource::new(Synthetic::parse(sizes)?)))
            }
        };
        let in_place = options.machine.in_place;
        let bar = progress(PERCENT, "reading weights");
        let mut show = |done: usize, total: usize| {
            bar.set_length(total as u64);
            bar.set_position(done as u64);
        };
        let load = LoadOptions { in_place, exact: options.machine.exact, progress: Some(&mut show) };
        let model = Model::load(&*source, compute, &mut { load });
        bar.finish_and_clear();
        let model = model?;
        let tokenizer = tokenizer(&*source, &model)?;
        let format = largest_format(&*source)?;
        Ok(Self { model, tokenizer, load_s: start.elapsed().as_secs_f64(), name, format, in_place })
    }

    /// For the record.
    pub fn describe(&self) -> GeneratingModel {
        let config = &self.model.config;
        GeneratingModel {
            name: self.name.clone(),
            architecture: config.architecture.name().to_owned(),
            active_parameters: self.model.weights.active_parameters() as u64,
            format: self.format.clone(),
            layers: config.layers as u64,
            width: config.width as u64,
            vocab: config.vocab as u64,
        }
    }

    /// What its weights take beside the file.
    pub fn weight_bytes(&self) -> usize {
        if self.in_place { 0 } else { self.model.weights.bytes() }
    }
}

/// The tokens of the file; bytes, where it brings none.
fn tokenizer(source: &dyn TensorSource, model: &Model) -> Result<Tokenizer, Refusal> {
    if source.metadata().get("tokenizer.ggml.model").is_none() {
        return Ok(Tokenizer::bytes(model.config.vocab));
    }
    let named = |error: engine::Error| match source.file() {
        Some(file) => error.in_file(file),
        None => error,
    };
    let tokenizer = Tokenizer::from_metadata(source.metadata()).map_err(named)?;
    Ok(tokenizer)
}

/// How most of the weights are written.
fn largest_format(source: &dyn TensorSource) -> Result<String, Refusal> {
    let mut bytes = std::collections::BTreeMap::<&'static str, usize>::new();
    for name in source.names() {
        if let Some(info) = source.info(name)? {
            *bytes.entry(info.format.name()).or_default() += info.bytes()?;
        }
    }
    let largest = bytes.into_iter().max_by_key(|(_, bytes)| *bytes);
    Ok(largest.map_or_else(|| "nothing".to_owned(), |(name, _)| name.to_owned()))
}
