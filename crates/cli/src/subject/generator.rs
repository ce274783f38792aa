//! The engine, as the lab asks for it.

use std::rc::Rc;

use engine::{CacheType, Compute, Encode, LoadOptions, Sampler, Sampling, State, StateOptions};
use lab::{Generator, ModelChoice, ModelOutline, ModelUse, Models, ReservedMemory, TextScore};
use record::{Memory, MemoryPart};

use super::Subject;
use crate::args::ModelOptions;

/// How the engine is to compute.
#[derive(Debug, Clone)]
pub struct EngineOptions {
    pub cache: CacheType,
    pub in_place: bool,
    pub exact: bool,
    pub pooled: bool,
    pub keeps: bool,
    pub sampling: Sampling,
}

/// Makes models of the engine.
pub struct EngineModels<'a> {
    pub compute: &'a Compute,
    /// The model that was asked for.
    pub model: ModelOptions,
    pub options: EngineOptions,
}

impl EngineModels<'_> {
    fn model(&self, which: ModelChoice) -> ModelOptions {
        match which {
            ModelChoice::Given => self.model.clone(),
            ModelChoice::Small => ModelOptions::synthetic("small"),
            ModelChoice::Medium => ModelOptions::synthetic("medium"),
        }
    }
}

impl Models for EngineModels<'_> {
    fn outline(&self, which: ModelChoice, text: Option<&str>) -> Result<ModelOutline, String> {
        let (config, tokenizer) = self.model(which).outline().map_err(|error| error.message)?;
        let encode = Encode { add_special: true, parse_special: false };
        let tokens = text.map(|text| tokenizer.encode(text, encode));
        Ok(ModelOutline { vocab: config.vocab, context: config.context, tokens })
    }

    fn create(&self, which: ModelChoice, usage: ModelUse) -> Result<Box<dyn Generator + '_>, String> {
        let named = self.model(which);
        let load = LoadOptions { in_place: self.options.in_place, exact: self.options.exact, progress: None };
        let subject = Subject::load(&named, self.compute, load).map_err(|error| error.message)?;
        let generator = EngineGenerator::new(self, Rc::new(subject), usage).map_err(|error| error.to_string())?;
        Ok(Box::new(generator))
    }

    fn threads(&self) -> usize {
        self.compute.pool.threads()
    }
}

/// The same of a model that is there already, which several may share.
pub struct LoadedModels<'a> {
    pub models: EngineModels<'a>,
    pub subject: Rc<Subject>,
}

impl Models for LoadedModels<'_> {
    fn outline(&self, which: ModelChoice, text: Option<&str>) -> Result<ModelOutline, String> {
        self.models.outline(which, text)
    }

    fn create(&self, _: ModelChoice, usage: ModelUse) -> Result<Box<dyn Generator + '_>, String> {
        let generator = EngineGenerator::new(&self.models, Rc::clone(&self.subject), usage);
        Ok(Box::new(generator.map_err(|error| error.to_string())?))
    }

    fn threads(&self) -> usize {
        self.models.threads()
    }
}

/// One model with the memory of one generation.
struct EngineGenerator<'a> {
    compute: &'a Compute,
    subject: Rc<Subject>,
    options: StateOptions,
    state: State,
    sampler: Sampler,
    /// All tokens so far, where keys and values are not kept.
    tokens: Option<Vec<u32>>,
}

impl<'a> EngineGenerator<'a> {
    fn new(models: &EngineModels<'a>, subject: Rc<Subject>, usage: ModelUse) -> engine::Result<Self> {
        let (config, engine) = (&subject.model.config, &models.options);
        let context = usage.positions.clamp(1, config.context);
        let options = StateOptions {
            context: Some(context),
            cache: engine.cache,
            pooled: engine.pooled && usage.pooled,
            ..StateOptions::default()
        };
        let state = State::new(&subject.model, models.compute, &options)?;
        let sampler = Sampler::new(&engine.sampling, config.vocab);
        let keeps = engine.keeps && usage.keeps;
        let tokens = (!keeps).then(|| Vec::with_capacity(context));
        Ok(Self { compute: models.compute, subject, options, state, sampler, tokens })
    }
}

impl Generator for EngineGenerator<'_> {
    fn describe(&self) -> record::Model {
        self.subject.describe()
    }

    fn memory(&self) -> Memory {
        let memory = self.state.memory();
        let part = |purpose: &str, bytes: usize| MemoryPart {
            purpose: purpose.to_owned(),
            bytes: bytes as u64,
            ..MemoryPart::default()
        };
        let in_memory = self.subject.weight_bytes();
        let bytes = if in_memory == 0 { self.subject.model.weights.bytes() } else { in_memory };
        let weights = MemoryPart { mapped: in_memory == 0, ..part("weights", bytes) };
        Memory {
            model: self.subject.describe().name,
            parts: vec![
                weights,
                part("kv_cache", memory.cache),
                part("activations", memory.activations),
                part("scratch", memory.scratch + memory.positions),
                part("gradients", 0),
                part("optimiser", 0),
            ],
            cache_per_token_formula: Some(self.state.cache_bytes_per_token() as f64),
            ..Memory::default()
        }
    }

    fn restart(&mut self) {
        self.state.truncate(0, 0);
        self.sampler.restart();
        if let Some(tokens) = &mut self.tokens {
            tokens.clear();
        }
    }

    fn forward(&mut self, tokens: &[u32]) -> Result<(), String> {
        let tokens = match &mut self.tokens {
            None => tokens,
            Some(all) => {
                self.state.truncate(0, 0);
                all.extend_from_slice(tokens);
                all
            }
        };
        let result = self.subject.model.prefill(self.compute, &mut self.state, 0, tokens);
        result.map_err(|error| error.to_string())
    }

    fn choose(&mut self) -> u32 {
        self.sampler.sample(self.state.logits(0))
    }

    fn room(&self, positions: usize) -> Result<ReservedMemory, String> {
        // One token at a time: then scratch memory does not depend on the number of positions.
        let options = StateOptions { context: Some(positions), block: 1, ..self.options };
        let state = State::new(&self.subject.model, self.compute, &options).map_err(|error| error.to_string())?;
        let memory = state.memory();
        Ok(ReservedMemory { other_bytes: memory.positions as u64, held: Box::new(state) })
    }

    fn text(&self, tokens: &[u32]) -> Option<String> {
        self.subject.text(tokens)
    }

    fn score(&self, text: &str) -> Result<Option<TextScore>, String> {
        self.subject.score(self.compute, text, self.options.cache).map_err(|error| error.to_string())
    }
}
