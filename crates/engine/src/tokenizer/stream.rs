//! Text as its tokens come: whole characters only.

use super::vocabulary::Kind;
use super::{Model, Tokenizer, plain_words};

/// What stands for bytes that are no text, and for ids that are no tokens.
const REPLACEMENT: &str = "\u{FFFD}";

/// Turns tokens into text, one by one. See [`Tokenizer::stream`].
///
/// All that it returns, put together, is what [`String::from_utf8_lossy`] makes of the tokens' bytes.
#[derive(Debug, Clone)]
pub struct Stream<'t> {
    tokenizer: &'t Tokenizer,
    decoder: Decoder,
    text: String,
}

/// The bytes of a character that is not complete yet: at most three between calls.
#[derive(Debug, Clone, Default)]
pub(super) struct Decoder {
    bytes: Vec<u8>,
}

impl<'t> Stream<'t> {
    pub(super) fn new(tokenizer: &'t Tokenizer) -> Self {
        Self { tokenizer, decoder: Decoder::default(), text: String::new() }
    }

    /// The text that is complete with this token. It is empty while a character is not, and for
    /// tokens that steer the model.
    pub fn push(&mut self, id: u32) -> &str {
        self.text.clear();
        self.decoder.push(shown(self.tokenizer, id), &mut self.text);
        &self.text
    }

    /// What is left at the end: U+FFFD if a character was never completed. Then the stream can be used again.
    pub fn finish(&mut self) -> &str {
        self.text.clear();
        self.decoder.finish(&mut self.text);
        &self.text
    }
}

impl Decoder {
    /// Adds to `text` what is complete with these bytes.
    pub(super) fn push(&mut self, bytes: &[u8], text: &mut String) {
        self.bytes.extend_from_slice(bytes);
        let mut kept = 0;
        let mut chunks = self.bytes.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            text.push_str(chunk.valid());
            let wrong = chunk.invalid();
            // The beginning of a character is wrong if something else follows; at the end the rest may still come.
            if chunks.peek().is_none() && std::str::from_utf8(wrong).is_err_and(|error| error.error_len().is_none()) {
                kept = wrong.len();
            } else if !wrong.is_empty() {
                text.push_str(REPLACEMENT);
            }
        }
        self.bytes.drain(..self.bytes.len() - kept);
    }

    /// Adds what stands for a character that was never completed.
    pub(super) fn finish(&mut self, text: &mut String) {
        if !self.bytes.is_empty() {
            text.push_str(REPLACEMENT);
            self.bytes.clear();
        }
    }
}

/// The bytes that a token shows.
pub(super) fn shown(tokenizer: &Tokenizer, id: u32) -> &[u8] {
    match tokenizer.vocabulary.kind(id) {
        None => REPLACEMENT.as_bytes(),
        Some(Kind::Control) => &[],
        Some(Kind::Unknown) if matches!(tokenizer.model, Model::PlainWords(_)) => plain_words::UNKNOWN,
        Some(_) => tokenizer.vocabulary.get(id).unwrap_or_default(),
    }
}
