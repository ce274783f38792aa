//! Tokens of a text that comes in pieces, cut anywhere.
//!
//! Cut at the wrong place, a word would become other tokens. So text is held back from the last
//! place on that parts words for every kind of tokenizer ([`word_end`]).

use super::sentence_piece::SPACE;
use super::special::Special;
use super::split::is_word_character;
use super::vocabulary::Vocabulary;
use super::words::Words;
use super::{Model, Tokenizer};

/// So much text is held back at most; then it is cut where it is. What has no such place in a
/// mebibyte is not text that people wrote.
const MOST_HELD: usize = 1 << 20;

/// Turns a text into tokens, piece by piece. See [`Tokenizer::encoder`].
#[derive(Debug)]
pub struct Encoder<'t> {
    tokenizer: &'t Tokenizer,
    words: Words,
    held: String,
    /// Whether some of the text is already encoded.
    begun: bool,
    may_cut: bool,
}

impl<'t> Encoder<'t> {
    pub(super) fn new(tokenizer: &'t Tokenizer) -> Self {
        let Tokenizer { vocabulary, always, model, .. } = tokenizer;
        let may_cut = match model {
            Model::SentencePiece(pieces) => pieces.knows_words() && always.is_empty(),
            _ => !always.any_has(vocabulary, b" \n"),
        };
        Self { tokenizer, words: Words::remembering(), held: String::new(), begun: false, may_cut }
    }

    /// Adds the tokens that are certain with this piece.
    pub fn push(&mut self, piece: &str, ids: &mut Vec<u32>) {
        if self.held.is_empty() {
            let cut = self.cut(piece, 0);
            self.encode(&piece[..cut], ids);
            self.held.push_str(&piece[cut..]);
            return;
        }
        // What was held back before has no place to cut, so that a long word is not searched again and again.
        let searched = self.held.len();
        self.held.push_str(piece);
        let held = std::mem::take(&mut self.held);
        let cut = self.cut(&held, searched);
        self.encode(&held[..cut], ids);
        self.held = held;
        self.held.drain(..cut);
    }

    /// Adds the tokens of what is left, at the end of the text. Then another text may follow.
    pub fn finish(&mut self, ids: &mut Vec<u32>) {
        let held = std::mem::take(&mut self.held);
        self.encode(&held, ids);
        self.held = held;
        self.held.clear();
        self.begun = false;
    }

    fn encode(&mut self, text: &str, ids: &mut Vec<u32>) {
        if !text.is_empty() {
            self.tokenizer.encode_plain(text, self.begun, &mut self.words, ids);
            self.begun = true;
        }
    }

    /// Up to where the text can be encoded; there is no such place before `searched`.
    fn cut(&self, text: &str, searched: usize) -> usize {
        let found = match self.tokenizer.model {
            _ if !self.may_cut => None,
            // To SentencePiece the end of a line is a character like any other, and so are other
            // characters that are white space.
            Model::SentencePiece(_) => {
                last(text, searched, |before, byte| byte == b' ' && !before.is_whitespace() && before != SPACE)
            }
            _ => word_end(text, searched),
        };
        found.unwrap_or(if text.len() < MOST_HELD { 0 } else { text.len() })
    }
}

/// The last place, `searched` or behind it, at which a text can be cut without changing how it is
/// split into words, by any of the rules that are known here: before a space that follows something
/// that is no white space, or before the end of a line that follows a letter or a digit.
pub fn word_end(text: &str, searched: usize) -> Option<usize> {
    last(text, searched, |before, byte| match byte {
        b' ' => !before.is_whitespace(),
        b'\n' => is_word_character(before),
        _ => false,
    })
}

/// The last place that lies well between the character before it and the byte behind it.
fn last(text: &str, searched: usize, parts: impl Fn(char, u8) -> bool) -> Option<usize> {
    let bytes = text.as_bytes();
    (searched.max(1)..bytes.len()).rev().find(|at| {
        matches!(bytes[*at], b' ' | b'\n')
            && text[..*at].chars().next_back().is_some_and(|before| parts(before, bytes[*at]))
    })
}

impl Special {
    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.ids().is_empty()
    }

    /// Whether one of these bytes is in a special text.
    fn any_has(&self, vocabulary: &Vocabulary, bytes: &[u8]) -> bool {
        let texts = self.ids().iter().filter_map(|id| vocabulary.get(*id));
        texts.flatten().any(|byte| bytes.contains(byte))
    }
}
