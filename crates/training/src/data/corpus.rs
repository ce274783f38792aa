//! A corpus as tokens: made once, found again as long as nothing changed, and divided into what is
//! learned and what is kept back.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::order::{Choice, hash};
use super::sequences::SequencePart;
use super::tokens::{TokenFile, VERSION};
use super::write::{self, Plan};
use super::{CorpusFacts, DataSettings, ProgressCallback, SequenceForm, Sequences, Sources};
use crate::vocabulary::Vocabulary;
use crate::{Error, Result};

/// What makes the choice of validation lines differ from other uses of the seed.
const VALIDATION: u64 = 0x7661_6C69_6461_7465;

/// Sequences to learn from and to validate on.
#[derive(Debug)]
pub struct Corpus {
    training: Sequences,
    validation: Option<Sequences>,
    facts: CorpusFacts,
    validation_facts: Option<CorpusFacts>,
    files: Vec<PathBuf>,
    contents: Vec<String>,
    reused: bool,
}

/// What a corpus is made from.
#[derive(Debug, Clone, Copy)]
pub struct CorpusRequest<'a> {
    /// How sequences are cut and how many are kept back.
    pub settings: &'a DataSettings,
    /// The texts.
    pub sources: &'a Sources,
    /// Texts to validate on, instead of some of those.
    pub validation: Option<&'a Sources>,
    /// `training.max_length`: tokens of a line at most, of which all but the last are inputs; of
    /// other sequences the inputs.
    pub max_length: usize,
    /// `training.random_seed`, which decides which lines are kept back.
    pub seed: u64,
}

impl Corpus {
    /// Encodes the texts, unless `folder` has them as they are now.
    ///
    /// # Errors
    /// Where settings contradict each other, a file cannot be read or written, or there is too little text.
    pub fn build(
        request: &CorpusRequest<'_>,
        vocabulary: &Vocabulary,
        folder: &Path,
        watcher: ProgressCallback<'_>,
    ) -> Result<Self> {
        check(request)?;
        let (tokens, reused) = find_or_make(request, request.sources, vocabulary, folder, watcher)?;
        let validation = match request.validation {
            None => None,
            Some(sources) => Some(find_or_make(request, sources, vocabulary, folder, watcher)?.0),
        };
        Self::divide(request, tokens, validation, reused)
    }

    fn divide(
        request: &CorpusRequest<'_>,
        tokens: Arc<TokenFile>,
        validation: Option<Arc<TokenFile>>,
        reused: bool,
    ) -> Result<Self> {
        let split = if validation.is_some() { 0.0 } else { request.settings.validation_split };
        let mut files = vec![tokens.path().to_owned()];
        files.extend(validation.as_ref().map(|file| file.path().to_owned()));
        let contents = [Some(&tokens), validation.as_ref()].into_iter().flatten().map(|file| file.contents()).collect();
        let length = length(request, &tokens, validation.as_deref());
        let facts = tokens.trailer.facts.clone();
        let validation_facts = validation.as_ref().map(|file| file.trailer.facts.clone());
        let (first, kept) = parts(request, &tokens, split);
        let training = Sequences::new(tokens.clone(), first, length)?;
        let validation = match (validation, kept) {
            (Some(file), _) => {
                let all = parts(request, &file, 0.0).0;
                Some(Sequences::new(file, for_validation(all), length)?)
            }
            (None, Some(kept)) => Some(Sequences::new(tokens, for_validation(kept), length)?),
            (None, None) => None,
        };
        if training.is_empty() || validation.as_ref().is_some_and(Sequences::is_empty) {
            let message = format!("the corpus has {} tokens: too few to train on", facts.tokens);
            return Err(Error::new(message, "add text, or hold out less (data.validation_split)"));
        }
        Ok(Self { training, validation, facts, validation_facts, files, contents, reused })
    }

    /// Removes token files of other texts or settings from the folder: those that were not needed
    /// for this corpus. A training that locks its folder is the only one that reads them. What
    /// cannot be removed stays.
    pub fn prune(&self, folder: &Path) {
        let Ok(entries) = std::fs::read_dir(folder) else { return };
        let is_tokens = |name: &str| name.starts_with("tokens-") && name.ends_with(".bin");
        for path in entries.flatten().map(|entry| entry.path()) {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if is_tokens(name) && !self.files.contains(&path) {
                std::fs::remove_file(path).ok();
            }
        }
    }

    /// What is learned from.
    #[must_use]
    pub fn training(&self) -> &Sequences {
        &self.training
    }

    /// What was kept back.
    #[must_use]
    pub fn validation(&self) -> Option<&Sequences> {
        self.validation.as_ref()
    }

    /// How many tokens a row of a batch has.
    #[must_use]
    pub fn length(&self) -> usize {
        self.training.length()
    }

    /// What was read.
    #[must_use]
    pub fn facts(&self) -> &CorpusFacts {
        &self.facts
    }

    /// What people should know about the texts, in sentences.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let validation = self.validation_facts.iter().flat_map(CorpusFacts::notes);
        self.facts.notes().into_iter().chain(validation.map(|note| format!("validation: {note}"))).collect()
    }

    /// The files of tokens. Their names follow from all that decides what is in them.
    #[must_use]
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// The hash of the tokens in each of them: a checkpoint that keeps these can tell whether the
    /// corpus is still the same, wherever it is now.
    #[must_use]
    pub fn contents(&self) -> &[String] {
        &self.contents
    }

    /// Whether the tokens were there already.
    #[must_use]
    pub fn reused(&self) -> bool {
        self.reused
    }
}

fn check(request: &CorpusRequest<'_>) -> Result<()> {
    let split = request.settings.validation_split;
    if !(0.0..1.0).contains(&split) {
        let message = format!("data.validation_split = {split}: out of range");
        return Err(Error::new(message, "choose a number from 0 up to, but not including, 1, such as 0.1"));
    }
    // A length is a number of 32 bits in the network, and a row is in memory as a whole.
    if !(2..=1 << 24).contains(&request.max_length) {
        let message = format!("training.max_length = {}: too short", request.max_length);
        return Err(Error::new(message, "choose at least 2 tokens, such as 128"));
    }
    Ok(())
}

/// The tokens of these sources: those that are there, or new ones.
fn find_or_make(
    request: &CorpusRequest<'_>,
    sources: &Sources,
    vocabulary: &Vocabulary,
    folder: &Path,
    watcher: ProgressCallback<'_>,
) -> Result<(Arc<TokenFile>, bool)> {
    let settings = request.settings;
    let plan = Plan {
        form: settings.sequences,
        max_length: request.max_length,
        end_lines: settings.end_lines,
        separator: settings.separator.as_deref().filter(|text| !text.is_empty()),
    };
    let name = format!("tokens-{}.bin", key(&plan, sources, vocabulary));
    let path = folder.join(&name);
    // A damaged file is one that has to be made again.
    if let Ok(file) = TokenFile::open(&path) {
        return Ok((Arc::new(file), true));
    }
    let path = write::write(sources, vocabulary.tokenizer(), plan, (folder, &name), watcher)?;
    Ok((Arc::new(TokenFile::open(&path)?), false))
}

/// A name for all that decides what the tokens are.
fn key(plan: &Plan<'_>, sources: &Sources, vocabulary: &Vocabulary) -> String {
    let mut hash = blake3::Hasher::new();
    hash.update(&VERSION.to_le_bytes());
    hash.update(vocabulary.fingerprint());
    match plan.form {
        SequenceForm::Lines => hash.update(format!("lines {} {}", plan.max_length, plan.end_lines).as_bytes()),
        SequenceForm::Chunks | SequenceForm::Windows => hash.update(format!("row {:?}", plan.separator).as_bytes()),
    };
    sources.add_to(&mut hash);
    hash.finalize().to_hex()[..32].to_owned()
}

/// How many inputs a row has. Lines are not filled up beyond the longest there is.
fn length(request: &CorpusRequest<'_>, tokens: &TokenFile, validation: Option<&TokenFile>) -> usize {
    if request.settings.sequences != SequenceForm::Lines {
        return request.max_length;
    }
    let longest = tokens.trailer.longest.max(validation.map_or(0, |file| file.trailer.longest));
    (longest as usize).min(request.max_length).saturating_sub(1).max(1)
}

/// What is learned, and what is kept back.
fn parts(request: &CorpusRequest<'_>, file: &TokenFile, split: f64) -> (SequencePart, Option<SequencePart>) {
    if let Some(all) = file.trailer.sequences {
        let kept = share(all, split);
        let choice = Choice::new(all, kept, hash(request.seed, VALIDATION));
        let training = SequencePart::Stored { choice, chosen: false, count: all - kept };
        return (training, (split > 0.0).then_some(SequencePart::Stored { choice, chosen: true, count: kept }));
    }
    let all = file.trailer.tokens;
    // As nanoGPT cuts it: the first part is rounded down.
    let first = if split > 0.0 { (all as f64 * (1.0 - split)) as u64 } else { all };
    let training = match request.settings.sequences {
        SequenceForm::Windows => SequencePart::Windows { range: 0..first },
        SequenceForm::Chunks | SequenceForm::Lines => SequencePart::Chunks { range: 0..first },
    };
    (training, (split > 0.0).then_some(SequencePart::Chunks { range: first..all }))
}

/// So many of all; at least one, and not all, where there are two.
fn share(all: u64, split: f64) -> u64 {
    if split <= 0.0 || all == 0 {
        return 0;
    }
    ((all as f64 * split).round() as u64).clamp(1, all.saturating_sub(1).max(1))
}

/// Validation reads all there is, so that its losses can be compared.
fn for_validation(part: SequencePart) -> SequencePart {
    match part {
        SequencePart::Windows { range } => SequencePart::Chunks { range },
        other => other,
    }
}
