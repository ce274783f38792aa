//! Every character a token.
//!
//! Files write such a vocabulary as a byte-level one whose merges put characters together, so that
//! other programs can read it; the key [`UNIT_KEY`] says that no merge is needed here.

use super::vocabulary::{NONE, Vocabulary};

/// Set to [`CHARACTER`] where every character is a token.
pub(super) const UNIT_KEY: &str = "hotloop.tokenizer.unit";
/// The value of [`UNIT_KEY`].
pub(super) const CHARACTER: &str = "character";

/// Characters that are tokens or unknown.
#[derive(Debug)]
pub(super) struct Characters {
    /// Of each character of ASCII, or [`NONE`].
    ascii: Box<[u32; 128]>,
    /// Without it unknown characters are left out.
    unknown: Option<u32>,
}

impl Characters {
    pub(super) fn new(vocabulary: &Vocabulary, unknown: Option<u32>) -> Self {
        let mut ascii = Box::new([NONE; 128]);
        for (byte, id) in (0u8..).zip(ascii.iter_mut()) {
            *id = vocabulary.find(&[byte]).or(unknown).unwrap_or(NONE);
        }
        Self { ascii, unknown }
    }

    /// The tokens of a text without special ones.
    pub(super) fn encode(&self, vocabulary: &Vocabulary, text: &str, ids: &mut Vec<u32>) {
        ids.reserve(text.len());
        for (at, character) in text.char_indices() {
            if character.is_ascii() {
                ids.extend(Some(self.ascii[character as usize]).filter(|id| *id != NONE));
            } else {
                let bytes = &text.as_bytes()[at..at + character.len_utf8()];
                ids.extend(vocabulary.find(bytes).or(self.unknown));
            }
        }
    }
}
