//! Vocabularies: learned from a corpus or taken over from a file, with the keys and names of GGUF.
//!
//! The keys are the ones that an exported model carries, so that training and generating split texts the same way.

mod bpe;
mod characters;
mod count;
mod given;
mod keys;
mod words;

use std::path::Path;

use engine::{Metadata, Tokenizer};

use crate::data::text::{self, Piece, Sample};
use crate::data::{DataSettings, Kind, Progress, ProgressCallback, Sources, Stage, VocabularySettings};
use crate::{Error, Result};

/// What the tokens are.
#[derive(Debug)]
pub struct Vocabulary {
    metadata: Metadata,
    tokenizer: Tokenizer,
    fingerprint: [u8; 32],
    notes: Vec<String>,
}

impl Vocabulary {
    /// The vocabulary of these keys; those that are not about tokens are left out.
    ///
    /// # Errors
    /// Where they contradict each other or describe a kind that is not known.
    pub fn new(metadata: &Metadata) -> Result<Self> {
        let metadata = keys::of_tokenizer(metadata);
        let tokenizer = Tokenizer::from_metadata(&metadata)?;
        Ok(Self { fingerprint: keys::fingerprint(&metadata), metadata, tokenizer, notes: Vec::new() })
    }

    /// The keys for a model's file.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// What encodes and decodes.
    #[must_use]
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// How many tokens there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tokenizer.vocab_len()
    }

    /// Whether there are none, which cannot be.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What tells it from others.
    #[must_use]
    pub fn fingerprint(&self) -> &[u8; 32] {
        &self.fingerprint
    }

    /// What people should know about it, in sentences.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}

/// What a vocabulary is made from.
#[derive(Debug, Clone, Copy)]
pub struct VocabularyRequest<'a> {
    /// What the tokens are to be.
    pub settings: &'a VocabularySettings,
    /// Names a vocabulary of LoopOS, perhaps.
    pub data: &'a DataSettings,
    /// The texts to learn from.
    pub sources: &'a Sources,
    /// Relative paths are below it.
    pub base: &'a Path,
}

/// The vocabulary that the settings name, or one that is learned from the corpus; `folder` keeps it for the next time.
///
/// # Errors
/// Where a file cannot be read or is no vocabulary, or where nothing can be learned.
pub fn prepare(request: &VocabularyRequest<'_>, folder: &Path, watcher: ProgressCallback<'_>) -> Result<Vocabulary> {
    let VocabularyRequest { settings, data, sources, base } = *request;
    if let Some(file) = &settings.file {
        return Vocabulary::new(&given::read(&base.join(file))?);
    }
    let mut notes = Vec::new();
    if let Some(file) = &data.tokenizer_vocab {
        let path = base.join(file);
        if path.exists() {
            return Vocabulary::new(&given::read(&path)?);
        }
        notes.push(format!("data.tokenizer_vocab: {} does not exist; learning a vocabulary", path.display()));
    }
    let sample = Sample::at_most(settings.sample_bytes, sources);
    if sample.every > 1 {
        notes.push(format!("the vocabulary is learned from one of every {} MiB of the corpus", sample.every));
    }
    let name = format!("vocabulary-{}.gguf", key(settings, sources));
    let path = folder.join(&name);
    let kept = engine::gguf::File::open(&path).ok().and_then(|file| {
        use engine::TensorSource;
        Vocabulary::new(file.metadata()).ok()
    });
    let mut vocabulary = match kept {
        Some(vocabulary) => vocabulary,
        None => {
            let metadata = learn(settings, sources, sample, watcher)?;
            std::fs::create_dir_all(folder).map_err(|error| engine::Error::io(folder, &error))?;
            engine::gguf::Writer::create(&path, true, &metadata, Vec::new())?.finish()?;
            Vocabulary::new(&metadata)?
        }
    };
    vocabulary.notes = notes;
    Ok(vocabulary)
}

/// Learns a vocabulary from texts, each a document.
///
/// # Errors
/// Where there are too few tokens for the kind, or nothing to learn from.
pub fn train<'t>(settings: &VocabularySettings, texts: impl IntoIterator<Item = &'t str>) -> Result<Metadata> {
    let mut learner = Learner::new(settings);
    for text in texts {
        learner.add(text);
        learner.end();
    }
    learner.finish()
}

fn learn(
    settings: &VocabularySettings,
    sources: &Sources,
    sample: Sample,
    watcher: ProgressCallback<'_>,
) -> Result<Metadata> {
    let mut learner = Learner::new(settings);
    let total = sources.bytes() / sample.every;
    let mut done = 0;
    text::read(sources, sample, |piece| {
        match piece {
            Piece::Text(text) => {
                done += text.len() as u64;
                learner.add(text);
            }
            Piece::End => learner.end(),
        }
        watcher(Progress { stage: Stage::Vocabulary, done, total }).then_some(()).ok_or_else(Error::interrupted)
    })?;
    learner.finish()
}

/// A name for all that decides what is learned.
fn key(settings: &VocabularySettings, sources: &Sources) -> String {
    let VocabularySettings { kind, vocab_size, min_frequency, sample_bytes, file: _ } = settings;
    let mut hash = blake3::Hasher::new();
    // Raised when learning changes.
    hash.update(b"1");
    hash.update(format!("{} {vocab_size:?} {min_frequency:?} {sample_bytes}", kind.name()).as_bytes());
    sources.add_to(&mut hash);
    hash.finalize().to_hex()[..32].to_owned()
}

/// Learns one kind of vocabulary.
#[derive(Debug)]
struct Learner {
    kind: OfKind,
    size: usize,
    least: u64,
}

#[derive(Debug)]
enum OfKind {
    Bpe(bpe::Learner),
    Characters(Box<characters::Learner>),
    Words(words::Learner),
}

impl Learner {
    fn new(settings: &VocabularySettings) -> Self {
        let (kind, size, least) = match settings.kind {
            Kind::Bpe => (OfKind::Bpe(bpe::Learner::default()), 4096, 2),
            Kind::Characters => (OfKind::Characters(Box::default()), usize::MAX, 1),
            Kind::Words => (OfKind::Words(words::Learner::default()), 10_000, 2),
        };
        Self { kind, size: settings.vocab_size.unwrap_or(size), least: settings.min_frequency.unwrap_or(least) }
    }

    fn add(&mut self, text: &str) {
        match &mut self.kind {
            OfKind::Bpe(learner) => learner.add(text),
            OfKind::Characters(learner) => learner.add(text),
            OfKind::Words(learner) => learner.add(text),
        }
    }

    /// The end of a document.
    fn end(&mut self) {
        match &mut self.kind {
            OfKind::Bpe(learner) => learner.end(),
            OfKind::Characters(_) => {}
            OfKind::Words(learner) => learner.end(),
        }
    }

    fn finish(self) -> Result<Metadata> {
        let Self { kind, size, least } = self;
        match kind {
            OfKind::Bpe(learner) => learner.finish(size, least),
            OfKind::Characters(learner) => Ok(learner.finish(size, least)),
            OfKind::Words(learner) => Ok(learner.finish(size, least)),
        }
    }
}
