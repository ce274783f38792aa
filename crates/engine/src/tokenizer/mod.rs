//! From text to tokens and back, as the model's file tells.
//!
//! A text is cut at its special tokens, the rest into words, and the words' symbols are joined, the best pair first:
//! `special` → `split` (or spaces, in `sentence_piece`) → `merge`. Both kinds of tokenizers take time n·log n at worst, whatever the
//! text and whatever the file.

mod byte_level;
mod bytes;
mod hash;
mod merge;
mod read;
mod sentence_piece;
mod special;
mod split;
mod stream;
mod vocabulary;
mod words;

use byte_level::ByteLevel;
use sentence_piece::SentencePiece;
use special::{Part, Special};
pub use stream::Stream;
use stream::{Decoder, shown};
use vocabulary::{Kind, Vocabulary};
use words::Words;

use crate::{Metadata, Result};

/// Text to tokens and back. It never changes, and threads may share it.
#[derive(Debug)]
pub struct Tokenizer {
    vocabulary: Vocabulary,
    model: Model,
    /// Texts that are one token wherever they stand.
    always: Special,
    /// These, and those that are tokens only where the caller trusts the text.
    special: Special,
    bos: Option<u32>,
    eos: Option<u32>,
    before: Option<u32>,
    after: Option<u32>,
    /// In rising order.
    ends: Vec<u32>,
    chat_template: Option<String>,
}

#[derive(Debug)]
enum Model {
    SentencePiece(SentencePiece),
    ByteLevel(ByteLevel),
    Bytes,
}

/// How a text is to be encoded. By default it is plain text: nothing is added, and no text is special.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Encode {
    /// Puts BOS before and EOS behind the text, if the file says so.
    pub add_special: bool,
    /// Takes texts such as `<|im_start|>` for the tokens of that name. Not for what users write: they could speak for the system.
    pub parse_special: bool,
}

impl Tokenizer {
    /// The tokenizer that a file describes. Kinds that are not known here are refused by name, because a guess would give wrong tokens.
    pub fn from_metadata(metadata: &Metadata) -> Result<Self> {
        read::tokenizer(metadata)
    }

    /// A tokenizer for models without a vocabulary, at least one token: bytes where there are 256 tokens or more, else characters
    /// modulo their number. Every token can be shown on a terminal.
    pub fn bytes(vocab: usize) -> Self {
        let vocabulary = bytes::vocabulary(vocab.max(1));
        Self {
            always: Special::new(&vocabulary, &[]),
            special: Special::new(&vocabulary, &[]),
            vocabulary,
            model: Model::Bytes,
            bos: None,
            eos: None,
            before: None,
            after: None,
            ends: Vec::new(),
            chat_template: None,
        }
    }

    /// The tokens of a text.
    ///
    /// # Panics
    ///
    /// If a word, or the text between two special tokens of a vocabulary that knows no words, is 4 GiB long.
    pub fn encode(&self, text: &str, options: Encode) -> Vec<u32> {
        // English text has four bytes per token or more; the rest grows.
        let mut ids = Vec::with_capacity(text.len() / 4 + 2);
        let mut words = Words::default();
        ids.extend(self.before.filter(|_| options.add_special));
        let special = if options.parse_special { &self.special } else { &self.always };
        special.parts(&self.vocabulary, text, |part| match part {
            Part::Token(id) => ids.push(id),
            Part::Text(text) => match &self.model {
                Model::SentencePiece(pieces) => pieces.encode(&self.vocabulary, text, &mut words, &mut ids),
                Model::ByteLevel(merges) => merges.encode(&self.vocabulary, text, &mut words, &mut ids),
                Model::Bytes => bytes::encode(self.vocabulary.len(), text, &mut ids),
            },
        });
        ids.extend(self.after.filter(|_| options.add_special));
        ids
    }

    /// The text of tokens: what [`Tokenizer::encode`] made them from, without those that steer the model.
    ///
    /// Where the encoder puts a space before a text, that space is taken away again; a [`Stream`], which goes on with a text, keeps it.
    pub fn decode(&self, ids: &[u32]) -> String {
        let mut text = String::with_capacity(ids.len() * 4);
        let mut decoder = Decoder::default();
        let added_space = matches!(&self.model, Model::SentencePiece(pieces) if pieces.space_before());
        let mut at_start = true;
        for id in ids {
            let bytes = shown(self, *id);
            let skip = added_space && at_start && bytes.first() == Some(&b' ');
            decoder.push(&bytes[usize::from(skip)..], &mut text);
            at_start = matches!(self.vocabulary.kind(*id), Some(Kind::Control | Kind::UserDefined | Kind::Unknown));
        }
        decoder.finish(&mut text);
        text
    }

    /// Text as its tokens come, of a text that goes on: with the space before its first word.
    pub fn stream(&self) -> Stream<'_> {
        Stream::new(self)
    }

    /// The bytes that a token stands for, or the name of one that steers the model. They need not be whole characters.
    pub fn token_bytes(&self, id: u32) -> Option<&[u8]> {
        self.vocabulary.get(id)
    }

    /// How many tokens there are.
    pub fn vocab_len(&self) -> usize {
        self.vocabulary.len()
    }

    /// The token at the beginning of texts.
    pub fn bos(&self) -> Option<u32> {
        self.bos
    }

    /// The token at the end of texts.
    pub fn eos(&self) -> Option<u32> {
        self.eos
    }

    /// Whether nothing should be generated after this token: the end of the text, of a turn or of a message.
    pub fn is_end(&self, id: u32) -> bool {
        self.ends.binary_search(&id).is_ok()
    }

    /// The template that turns a conversation into a prompt, if the file has one.
    pub fn chat_template(&self) -> Option<&str> {
        self.chat_template.as_deref()
    }
}
