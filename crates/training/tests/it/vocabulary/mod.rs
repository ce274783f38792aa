//! Vocabularies: learned and given.

mod given;
mod learned;
mod llama_cpp;
mod peer;

use training::data::{Kind, VocabularySettings};
use training::vocabulary::{Vocabulary, train};

/// Settings for a kind by its name.
pub fn settings(kind: &str, vocab_size: Option<usize>) -> VocabularySettings {
    let kind = match kind {
        "bpe" => Kind::Bpe,
        "characters" => Kind::Characters,
        _ => Kind::Words,
    };
    VocabularySettings { kind, vocab_size, ..VocabularySettings::default() }
}

/// A vocabulary that was learned from a text.
pub fn learned(kind: &str, vocab_size: Option<usize>, text: &str) -> Vocabulary {
    let metadata = train(&settings(kind, vocab_size), [text]).expect("a vocabulary");
    Vocabulary::new(&metadata).expect("a vocabulary that can be read")
}
