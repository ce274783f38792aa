//! Whole words, as LoopOS has them: a text is cut at white space, every mark of punctuation is a
//! word of its own, letters of ASCII are made small, and what has no token is unknown.
//!
//! A token holds its word with the space before it, a mark alone: put together they are the text,
//! up to white space and large letters.

use super::vocabulary::Vocabulary;

/// What an unknown word is shown as.
pub(super) const UNKNOWN: &[u8] = b" <unk>";

/// Words that are tokens or unknown.
#[derive(Debug)]
pub(super) struct PlainWords {
    /// Without it unknown words are left out.
    pub(super) unknown: Option<u32>,
}

impl PlainWords {
    /// The tokens of a text without special ones.
    pub(super) fn encode(&self, vocabulary: &Vocabulary, text: &str, ids: &mut Vec<u32>) {
        let mut token = Vec::new();
        plain_words(text, |word| {
            token.clear();
            push_token(word, &mut token);
            token.make_ascii_lowercase();
            ids.extend(vocabulary.find(&token).or(self.unknown));
        });
    }
}

/// Hands every word of a text to `word`, as it is written there.
///
/// Space and punctuation are those of ASCII; all other characters are letters.
pub fn plain_words<'t>(text: &'t str, mut word: impl FnMut(&'t str)) {
    let mut start = 0;
    for (at, byte) in text.bytes().enumerate() {
        let is_mark = byte.is_ascii_punctuation();
        if !is_mark && !matches!(byte, b'\t'..=b'\r' | b' ') {
            continue;
        }
        if start < at {
            word(&text[start..at]);
        }
        if is_mark {
            word(&text[at..=at]);
        }
        start = at + 1;
    }
    if start < text.len() {
        word(&text[start..]);
    }
}

/// Adds the bytes that a word stands for in a text.
pub(super) fn push_token(word: &str, bytes: &mut Vec<u8>) {
    if !word.as_bytes().first().is_some_and(u8::is_ascii_punctuation) {
        bytes.push(b' ');
    }
    bytes.extend_from_slice(word.as_bytes());
}
