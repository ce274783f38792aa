//! Everything a training needs, made from its settings or read from a checkpoint.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use engine::train::{Network, NetworkOptions, Optimiser, OptimiserKind, Parameters};
use engine::{Architecture, Config, Rope};
use record::TrainingStart;

use super::{Run, TrainingObserver, clock, resume};
use crate::checkpoint::{self, Checkpoint, Folder, Lock, State};
use crate::config::{ModelFamily, OptimizerKind, Settings};
use crate::data::{Corpus, CorpusRequest, CorpusRole, Feed, FeedOptions, Position, Sources};
use crate::schedule::{LearningRate, Span};
use crate::vocabulary::{self, Vocabulary, VocabularyRequest};
use crate::{Error, Result};

/// What a training is made of.
pub(super) struct Build {
    pub(super) vocabulary: Vocabulary,
    pub(super) corpus: Corpus,
    pub(super) parameters: Parameters,
    pub(super) network: Network,
    pub(super) optimiser: Optimiser,
    pub(super) rate: LearningRate,
    pub(super) feed: Feed,
    pub(super) validation: Option<Feed>,
    pub(super) folder: Folder,
    pub(super) state: State,
    pub(super) span: Span,
    /// Batches of a step.
    pub(super) step_batches: u64,
    /// What has to be known.
    notes: Vec<String>,
    /// Where the texts are.
    texts: Vec<String>,
    /// Whether checkpoints of an earlier training are in the folder still. They go aside when the
    /// first one is written: until then nothing has taken their place.
    pub(super) has_earlier: bool,
    /// Keeps other trainings from writing to the folder of everything else.
    _output: Option<Lock>,
    /// The step it goes on from, and the checkpoint.
    pub(super) resumed: Option<(u64, PathBuf)>,
}

pub(super) fn build(settings: &Settings, resume: Option<&Path>, watch: &mut dyn TrainingObserver) -> Result<Build> {
    let folder = Folder::open(&settings.checkpoints())?;
    let output = folder.lock_beside(&settings.output())?;
    let checkpoint = resume.map(|resume| checkpoint::find(resume, &settings.checkpoints())).transpose()?;
    let mut notes = Vec::new();
    if let Some(checkpoint) = &checkpoint {
        notes.extend(resume::compare(checkpoint, settings)?);
    }
    let earlier = folder.earlier().filter(|_| checkpoint.is_none());
    if let Some(aside) = &earlier {
        notes.push(format!(
            "checkpoints of an earlier training move to {} when this one saves its first",
            aside.display()
        ));
    }
    let (vocabulary, corpus, texts) = texts(settings, checkpoint.as_ref(), watch)?;
    notes.extend(vocabulary.notes().iter().cloned());
    notes.extend(corpus.notes());
    let begin = State { corpus: corpus.contents().to_vec(), settings: settings.clone(), ..State::default() };
    let (state, parameters) = match &checkpoint {
        Some(checkpoint) => (resume::state(checkpoint, begin)?, checkpoint.parameters()?),
        None => (begin, random(settings, &vocabulary)?),
    };
    let network = network(settings, &parameters, corpus.length())?;
    let optimiser = optimiser(settings, &parameters, checkpoint.as_ref())?;
    let (feed, validation) = feeds(settings, &corpus, state.position)?;
    let step_batches = settings.training.gradient_accumulation as u64;
    let span = span(settings, feed.batches_per_epoch().div_ceil(step_batches));
    let training = &settings.training;
    let mut rate =
        LearningRate::new(settings.schedule(), training.learning_rate, training.schedule.warmup_steps, span)?;
    rate.state = state.schedule;
    let resumed = checkpoint.map(|checkpoint| (state.step, checkpoint.path().to_owned()));
    Ok(Build {
        vocabulary,
        corpus,
        parameters,
        network,
        optimiser,
        rate,
        feed,
        validation,
        folder,
        state,
        span,
        step_batches,
        notes,
        texts,
        has_earlier: earlier.is_some(),
        _output: output,
        resumed,
    })
}

/// The vocabulary and the tokens, and where the texts are.
fn texts(
    settings: &Settings,
    checkpoint: Option<&Checkpoint>,
    watch: &mut dyn TrainingObserver,
) -> Result<(Vocabulary, Corpus, Vec<String>)> {
    let (data, here, folder) = (&settings.data, Path::new(""), settings.output().join("corpus"));
    // A stream is over when a training goes on; what was kept of it is not.
    let find = if checkpoint.is_some() { Sources::find_again } else { Sources::find };
    let sources = find(data, CorpusRole::Training, here, &folder)?;
    let validation =
        if data.validation_file.is_empty() { None } else { Some(find(data, CorpusRole::Validation, here, &folder)?) };
    let mut watcher = |progress| {
        watch.preparing(progress);
        !watch.wants_to_stop()
    };
    let vocabulary = match checkpoint {
        Some(checkpoint) => Vocabulary::new(engine::TensorSource::metadata(checkpoint))?,
        None => {
            let request = VocabularyRequest { settings: &settings.tokenizer, data, sources: &sources, base: here };
            vocabulary::prepare(&request, &folder, &mut watcher)?
        }
    };
    let request = CorpusRequest {
        settings: data,
        sources: &sources,
        validation: validation.as_ref(),
        max_length: settings.training.max_length,
        seed: settings.training.random_seed,
    };
    let corpus = Corpus::build(&request, &vocabulary, &folder, &mut watcher)?;
    corpus.prune(&folder);
    let mut texts: Vec<String> = data.input_file.iter().map(str::to_owned).collect();
    texts.push(format!("{} tokens: {}", vocabulary.len(), settings.tokenizer.kind.name()));
    Ok((vocabulary, corpus, texts))
}

/// Weights to begin with.
fn random(settings: &Settings, vocabulary: &Vocabulary) -> Result<Parameters> {
    Ok(Parameters::random(model(settings, vocabulary)?, settings.model.tied, settings.training.random_seed)?)
}

/// The sizes of the model, as the engine takes them.
fn model(settings: &Settings, vocabulary: &Vocabulary) -> Result<Config> {
    let model = &settings.model;
    let head_dim = model.d_model / model.num_heads;
    let architecture = match model.architecture {
        ModelFamily::Gpt2 => Architecture::Gpt2,
        ModelFamily::Llama => Architecture::Llama,
    };
    let config = Config {
        architecture,
        vocab: vocabulary.len(),
        context: model.context.unwrap_or(settings.training.max_length),
        width: model.d_model,
        layers: model.num_layers,
        heads: model.num_heads,
        kv_heads: model.kv_heads.unwrap_or(model.num_heads),
        head_dim,
        ffn: settings.ffn(),
        norm_eps: model.norm_epsilon,
        rope: Rope::usual(architecture, head_dim, model.rope_base),
        window: None,
    };
    config.check()?;
    Ok(config)
}

fn network(settings: &Settings, parameters: &Parameters, length: usize) -> Result<Network> {
    let training = &settings.training;
    let (batch, dropout, recompute) = (training.batch_size, training.dropout, training.recompute);
    Ok(Network::new(&parameters.config, &parameters.layout, NetworkOptions { batch, length, dropout, recompute })?)
}

/// As it was, or before its first step.
fn optimiser(settings: &Settings, parameters: &Parameters, checkpoint: Option<&Checkpoint>) -> Result<Optimiser> {
    let training = &settings.training;
    let kind = match training.optimizer {
        OptimizerKind::Adamw => {
            OptimiserKind::AdamW { beta1: training.beta1, beta2: training.beta2, eps: training.eps }
        }
        OptimizerKind::Sgd => OptimiserKind::Sgd { momentum: training.momentum },
    };
    let mut optimiser = Optimiser::new(kind, training.weight_decay, &parameters.layout)?;
    if let Some(checkpoint) = checkpoint {
        checkpoint.read_optimiser(&parameters.layout, &mut optimiser)?;
    }
    Ok(optimiser)
}

/// Batches to learn from, from there on, and those to validate on.
fn feeds(settings: &Settings, corpus: &Corpus, start: Position) -> Result<(Feed, Option<Feed>)> {
    let training = &settings.training;
    let options = FeedOptions {
        batch: training.batch_size,
        shuffle: settings.shuffles(),
        seed: training.random_seed,
        start,
        epochs: if training.max_steps > 0 { None } else { Some(training.num_epochs as u64) },
        batches: (training.max_batches_per_epoch > 0).then_some(training.max_batches_per_epoch),
        prefetch: training.prefetch_batches,
        workers: training.num_workers,
    };
    let validation = FeedOptions {
        shuffle: false,
        start: Position::default(),
        epochs: Some(1),
        batches: (training.validation_batches > 0).then_some(training.validation_batches),
        workers: 1,
        ..options
    };
    let feed = Feed::new(corpus.training(), options)?;
    Ok((feed, corpus.validation().map(|sequences| Feed::new(sequences, validation)).transpose()?))
}

/// How many steps there are.
fn span(settings: &Settings, steps_per_epoch: u64) -> Span {
    let training = &settings.training;
    let epochs = (training.num_epochs as u64).saturating_mul(steps_per_epoch);
    Span { steps: if training.max_steps > 0 { training.max_steps } else { epochs }, steps_per_epoch }
}

impl Run<'_> {
    /// What there is to tell before the first step.
    pub(super) fn started(&self) -> TrainingStart {
        let (parts, training) = (&self.parts, &self.settings.training);
        let work = parts.network.flops();
        let cells = (training.batch_size * parts.corpus.length()) as u64;
        let bytes = |values: usize| (size_of::<f32>() * values) as u64;
        let gradients = bytes(parts.network.gradients().len());
        TrainingStart {
            time: clock::now(),
            model: self.sizes(),
            parameters: parts.parameters.layout.entries().iter().map(|entry| entry.range.len() as u64).sum(),
            vocabulary: parts.vocabulary.len() as u64,
            tokens: parts.corpus.training().targets(),
            sequences: parts.corpus.training().len(),
            validation_tokens: parts.corpus.validation().map_or(0, |sequences| sequences.targets()),
            steps_per_epoch: parts.span.steps_per_epoch,
            steps: parts.span.steps,
            tokens_per_step: cells * parts.step_batches,
            threads: self.compute.pool.threads() as u64,
            flops_per_step: (work.forward + work.backward + work.recomputed) * parts.step_batches,
            epochs: (training.max_steps == 0).then_some(training.num_epochs as u64),
            bytes_per_step: None,
            memory: BTreeMap::from([
                ("weights".to_owned(), bytes(parts.parameters.values.len())),
                ("gradients".to_owned(), gradients),
                ("optimiser".to_owned(), parts.optimiser.memory() as u64),
                ("activations".to_owned(), parts.network.memory() as u64 - gradients),
            ]),
            corpus: parts.texts.clone(),
            seed: Some(training.random_seed),
            weights_blake3: Some(hash(&parts.parameters.values)),
            corpus_blake3: Some(parts.corpus.contents().join(" ")),
            resumed_at: parts.resumed.as_ref().map(|(step, _)| *step),
            notes: parts.notes.clone(),
        }
    }

    /// The sizes of the model by their names in the config.
    fn sizes(&self) -> BTreeMap<String, serde_json::Value> {
        let config = &self.parts.parameters.config;
        let mut sizes = BTreeMap::from([("architecture".to_owned(), config.architecture.name().into())]);
        let counts = [
            ("d_model", config.width),
            ("num_heads", config.heads),
            ("kv_heads", config.kv_heads),
            ("num_layers", config.layers),
            ("d_ff", config.ffn),
            ("context", config.context),
            ("max_length", self.settings.training.max_length),
            ("batch_size", self.settings.training.batch_size),
        ];
        sizes.extend(counts.map(|(name, count)| (name.to_owned(), count.into())));
        sizes.insert("tied".to_owned(), self.settings.model.tied.into());
        sizes
    }
}

/// What tells whether weights are the same.
fn hash(values: &[f32]) -> String {
    let mut hash = blake3::Hasher::new();
    let mut piece = Vec::with_capacity(1 << 16);
    for values in values.chunks(1 << 14) {
        piece.clear();
        piece.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        hash.update(&piece);
    }
    hash.finalize().to_hex().to_string()
}

/// Refused where a checkpoint and the settings belong to different trainings.
pub(super) fn refused(message: String) -> Error {
    Error::new(message, "use the config of that training, or start without --resume")
}
