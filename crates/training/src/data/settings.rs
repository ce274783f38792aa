//! What a config says about the corpus and the vocabulary. The names are those of the keys.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// `data`: the texts, and how sequences are cut from them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DataSettings {
    /// Where the texts are: a file, a pattern such as `corpus/**/*.txt`, a folder, a pipe or `-`
    /// for the standard input; or a list of these.
    pub input_file: Inputs,
    /// Texts to validate on. Without it `validation_split` keeps some of the corpus back.
    pub validation_file: Inputs,
    /// Where everything goes that training writes.
    pub output_dir: Option<PathBuf>,
    /// CorpusRole files of a folder are read; all of them, at any depth, by default.
    pub file_pattern: Option<String>,
    /// So many files are read at most, in the order of their names; 0: all.
    pub max_files: usize,
    /// Whether the order of sequences differs in every epoch. `training.shuffle` says the same; one
    /// that says yes is enough.
    pub shuffle: Option<bool>,
    /// This share of the corpus is kept back to validate: from 0 to less than 1.
    pub validation_split: f64,
    /// How sequences are cut.
    pub sequences: SequenceForm,
    /// Whether each line ends with the end token, where sequences are lines.
    pub end_lines: bool,
    /// A line with just this text parts documents, where sequences are no lines; the end token stands in its place.
    pub separator: Option<String>,
    /// A vocabulary of LoopOS. Where there is no such file, one is learned.
    pub tokenizer_vocab: Option<PathBuf>,
}

impl Default for DataSettings {
    fn default() -> Self {
        Self {
            input_file: Inputs::default(),
            validation_file: Inputs::default(),
            output_dir: None,
            file_pattern: None,
            max_files: 0,
            shuffle: None,
            validation_split: 0.0,
            sequences: SequenceForm::Lines,
            end_lines: false,
            separator: None,
            tokenizer_vocab: None,
        }
    }
}

/// One place where texts are, or several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Inputs {
    /// One; nothing where the text is empty.
    One(String),
    /// Several, read in this order.
    Many(Vec<String>),
}

impl Default for Inputs {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

impl Inputs {
    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        let all = match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Many(many) => many.as_slice(),
        };
        all.iter().map(String::as_str).filter(|one| !one.is_empty())
    }

    /// Whether none is named.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }
}

impl From<&str> for Inputs {
    fn from(one: &str) -> Self {
        Self::One(one.to_owned())
    }
}

/// How sequences are cut from the corpus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SequenceForm {
    /// Each line that is not blank, cut where it is longer than `training.max_length` tokens: what
    /// LoopOS does. Short ones are padded.
    #[default]
    Lines,
    /// The corpus is one row of tokens, its documents joined by the end token, and each sequence
    /// follows on the one before.
    Chunks,
    /// Sequences begin anywhere in that row, by chance: what nanoGPT does.
    Windows,
}

/// `tokenizer`: what the tokens are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct VocabularySettings {
    /// How tokens are made.
    pub kind: Kind,
    /// So many tokens at most, those included that steer the model. By default 10000 words, 4096
    /// byte pairs, all characters.
    pub vocab_size: Option<usize>,
    /// What comes less often is no token; by default 2 for words and byte pairs, 1 for characters.
    pub min_frequency: Option<u64>,
    /// So many bytes of a larger corpus are looked at, evenly spread over it.
    pub sample_bytes: u64,
    /// A vocabulary that is there: a GGUF file, a `tokenizer.json`, or one of LoopOS. Nothing is learned then.
    pub file: Option<PathBuf>,
}

impl Default for VocabularySettings {
    fn default() -> Self {
        Self { kind: Kind::Words, vocab_size: None, min_frequency: None, sample_bytes: 1 << 30, file: None }
    }
}

/// How tokens are made from a corpus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Pairs of bytes that come often are joined, as for GPT-2: any text can be written, and other
    /// programs can read the model.
    Bpe,
    /// Each character is a token.
    Characters,
    /// Each word in small letters is a token, each mark of punctuation too: what LoopOS does. Other
    /// programs cannot read such models.
    #[default]
    Words,
}

impl Kind {
    /// How the settings write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bpe => "bpe",
            Self::Characters => "characters",
            Self::Words => "words",
        }
    }
}
