//! From text to tokens and back, as the model's file tells.
//!
//! A text is cut at its special tokens, the rest into words, and the words' symbols are joined, the
//! best pair first: `special` → `split` (or spaces, in `sentence_piece`) → `merge`. Both kinds of
//! tokenizers take time n·log n at worst, whatever the text and whatever the file.

mod byte_level;
mod bytes;
mod characters;
mod encoder;
mod hash;
mod merge;
mod plain_words;
mod read;
mod sentence_piece;
mod special;
mod split;
mod stream;
mod vocabulary;
mod words;

use byte_level::ByteLevel;
pub use byte_level::byte_character;
use characters::Characters;
pub use encoder::{Encoder, word_end};
use plain_words::PlainWords;
pub use plain_words::plain_words;
use sentence_piece::{SentencePiece, Text};
use special::{Special, TextPart};
pub use split::gpt2_words;
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
    unknown: Option<u32>,
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
    Characters(Characters),
    PlainWords(PlainWords),
    Bytes,
}

/// How a text is to be encoded. By default it is plain text: nothing is added, and no text is special.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Encode {
    /// Puts BOS before and EOS behind the text, if the file says so.
    pub add_special: bool,
    /// Takes texts such as `<|im_start|>` for the tokens of that name. Not for what users write:
    /// they could speak for the system.
    pub parse_special: bool,
}

impl Tokenizer {
    /// The tokenizer that a file describes. Kinds that are not known here are refused by name,
    /// because a guess would give wrong tokens.
    pub fn from_metadata(metadata: &Metadata) -> Result<Self> {
        read::tokenizer(metadata)
    }

    /// A tokenizer for models without a vocabulary, at least one token: bytes where there are 256
    /// tokens or more, else characters modulo their number. Every token can be shown on a terminal.
    pub fn bytes(vocab: usize) -> Self {
        let vocabulary = bytes::vocabulary(vocab.max(1));
        Self {
            always: Special::new(&vocabulary, &[]),
            special: Special::new(&vocabulary, &[]),
            vocabulary,
            model: Model::Bytes,
            bos: None,
            eos: None,
            unknown: None,
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
            TextPart::Token(id) => ids.push(id),
            TextPart::Text(text) => self.encode_part(Text { text, goes_on: false }, &mut words, &mut ids),
        });
        ids.extend(self.after.filter(|_| options.add_special));
        ids
    }

    /// Adds the tokens of a plain text, or of one that goes on.
    fn encode_plain(&self, text: &str, mut goes_on: bool, words: &mut Words, ids: &mut Vec<u32>) {
        self.always.parts(&self.vocabulary, text, |part| match part {
            TextPart::Token(id) => ids.push(id),
            TextPart::Text(text) => self.encode_part(Text { text, goes_on: std::mem::take(&mut goes_on) }, words, ids),
        });
    }

    /// Adds the tokens of a text without special ones.
    fn encode_part(&self, text: Text<'_>, words: &mut Words, ids: &mut Vec<u32>) {
        let vocabulary = &self.vocabulary;
        match &self.model {
            Model::SentencePiece(pieces) => pieces.encode(vocabulary, text, words, ids),
            Model::ByteLevel(merges) => merges.encode(vocabulary, text.text, words, ids),
            Model::Characters(characters) => characters.encode(vocabulary, text.text, ids),
            Model::PlainWords(plain) => plain.encode(vocabulary, text.text, ids),
            Model::Bytes => bytes::encode(vocabulary.len(), text.text, ids),
        }
    }

    /// Tokens as the text comes, piece by piece: together those of [`Tokenizer::encode`] with
    /// nothing added. For texts larger than memory, and for many short ones, because words that
    /// come again are known.
    pub fn encoder(&self) -> Encoder<'_> {
        Encoder::new(self)
    }

    /// The text of tokens: what [`Tokenizer::encode`] made them from, without those that steer the model.
    ///
    /// Where the encoder puts a space before a text, that space is taken away again; a [`Stream`],
    /// which goes on with a text, keeps it.
    pub fn decode(&self, ids: &[u32]) -> String {
        let mut text = String::with_capacity(ids.len() * 4);
        let mut decoder = Decoder::default();
        let added_space = match &self.model {
            Model::SentencePiece(pieces) => pieces.space_before(),
            Model::PlainWords(_) => true,
            Model::ByteLevel(_) | Model::Characters(_) | Model::Bytes => false,
        };
        let mut at_start = true;
        for id in ids {
            let bytes = shown(self, *id);
            let skip = added_space && at_start && bytes.first() == Some(&b' ');
            decoder.push(&bytes[usize::from(skip)..], &mut text);
            at_start = self.begins_text_behind(*id);
        }
        decoder.finish(&mut text);
        text
    }

    /// Whether the encoder puts a space before what follows this token.
    fn begins_text_behind(&self, id: u32) -> bool {
        match (&self.model, self.vocabulary.kind(id)) {
            (Model::PlainWords(_), kind) => kind == Some(Kind::Control),
            (_, kind) => matches!(kind, Some(Kind::Control | Kind::UserDefined | Kind::Unknown)),
        }
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

    /// The token that stands for what has none.
    pub fn unknown(&self) -> Option<u32> {
        self.unknown
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
