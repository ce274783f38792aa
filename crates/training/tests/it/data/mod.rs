//! From texts to batches.

mod corpus;
mod damage;
mod feed;
mod order;
mod sources;

use std::path::Path;

use training::Result;
use training::data::{Corpus, CorpusRequest, CorpusRole, DataSettings, Feed, FeedOptions, SequenceForm, Sources};
use training::vocabulary::{Vocabulary, VocabularyRequest, prepare};

use crate::folder::Folder;
use crate::vocabulary::settings;

/// Settings for sequences of this form from these inputs.
pub fn data(input: &Path, form: SequenceForm) -> DataSettings {
    DataSettings {
        input_file: input.to_str().expect("a plain path").into(),
        sequences: form,
        ..DataSettings::default()
    }
}

/// A corpus, by default of characters.
pub fn corpus(settings: &DataSettings, folder: &Folder, max_length: usize) -> Result<(Vocabulary, Corpus)> {
    let sources = Sources::find(settings, CorpusRole::Training, folder.root(), &folder.path("out"))?;
    let vocabulary = settings_of_characters(settings, &sources, folder)?;
    let corpus = build(settings, &sources, &vocabulary, folder, max_length)?;
    Ok((vocabulary, corpus))
}

fn settings_of_characters(data: &DataSettings, sources: &Sources, folder: &Folder) -> Result<Vocabulary> {
    let settings = settings("characters", None);
    let request = VocabularyRequest { settings: &settings, data, sources, base: folder.root() };
    prepare(&request, &folder.path("out"), &mut |_| true)
}

pub fn build(
    settings: &DataSettings,
    sources: &Sources,
    vocabulary: &Vocabulary,
    folder: &Folder,
    max_length: usize,
) -> Result<Corpus> {
    let request = CorpusRequest { settings, sources, validation: None, max_length, seed: 7 };
    Corpus::build(&request, vocabulary, &folder.path("out"), &mut |_| true)
}

/// The texts of one epoch, sequence by sequence: inputs and the last target.
pub fn texts(corpus: &Corpus, vocabulary: &Vocabulary, validation: bool) -> Vec<String> {
    let sequences = if validation { corpus.validation().expect("something was kept back") } else { corpus.training() };
    let mut feed = Feed::new(sequences, FeedOptions { epochs: Some(1), ..FeedOptions::default() }).expect("a feed");
    let mut texts = Vec::new();
    while let Some(batch) = feed.next().expect("batches") {
        let (tokens, targets) = (&batch.tokens[..batch.predicted], &batch.targets[..batch.predicted]);
        assert!(tokens.iter().skip(1).eq(targets.iter().take(targets.len() - 1)), "a target is the next input");
        assert!(batch.targets[batch.predicted..].iter().all(|target| *target == kernels::IGNORED_TARGET));
        let ids: Vec<u32> = tokens.iter().chain(targets.last()).copied().collect();
        texts.push(vocabulary.tokenizer().decode(&ids));
    }
    texts
}
