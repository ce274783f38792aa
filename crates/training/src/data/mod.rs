//! The corpus: texts found, encoded once into a file of tokens, and handed out in batches.
//!
//! [`Sources`] are the files, [`Corpus`] is what became of them, [`Feed`] makes batches of it on
//! threads of its own. Nothing here holds a corpus in memory, and every batch follows from the seed
//! and its [`Position`], so that a training can go on anywhere.

mod at;
mod corpus;
mod facts;
mod feed;
mod order;
mod out;
mod sequences;
mod settings;
mod sources;
pub(crate) mod text;
mod tokens;
mod write;

pub use corpus::{Corpus, CorpusRequest};
pub use facts::CorpusFacts;
pub use feed::{Batch, Feed, FeedOptions, Position};
pub use order::Permutation;
pub use sequences::Sequences;
pub use settings::{DataSettings, Inputs, Kind, SequenceForm, VocabularySettings};
pub use sources::{CorpusRole, Sources};
pub use text::Replaced;

/// How far something is that takes long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// What is done.
    pub stage: Stage,
    /// So many bytes of the corpus are.
    pub done: u64,
    /// Of so many.
    pub total: u64,
}

/// What is done before the first step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The corpus is read to learn a vocabulary.
    Vocabulary,
    /// The corpus is turned into tokens.
    Encoding,
}

/// Is told how far it is, and says whether to go on.
pub type ProgressCallback<'a> = &'a mut dyn FnMut(Progress) -> bool;
