//! Byte-level pair encoding, learned by the `tokenizers` crate from words that are counted and
//! split here, as GPT-2 splits them.

use std::collections::HashSet;

use engine::{Metadata, byte_character, gpt2_words};
use serde::Deserialize;
use tokenizers::AddedToken;
use tokenizers::models::bpe::{BPE, BpeTrainer};

use super::count::{Pieces, Words};
use super::keys::{CONTROL, END_OF_TEXT, Keys, NORMAL};
use crate::{Error, Result};

/// The end token and all bytes.
pub(super) const LEAST: usize = 257;

/// Learns pairs.
#[derive(Debug, Default)]
pub(super) struct Learner {
    words: Words,
    pieces: Pieces,
}

/// What the crate says of what it has learned.
#[derive(Deserialize)]
struct Learned {
    vocab: std::collections::HashMap<String, usize>,
    merges: Vec<(String, String)>,
}

impl Learner {
    pub(super) fn add(&mut self, text: &str) {
        let words = &mut self.words;
        self.pieces.push(text, |text| gpt2_words(text, |word| words.add(word)));
    }

    pub(super) fn end(&mut self) {
        let words = &mut self.words;
        self.pieces.finish(|text| gpt2_words(text, |word| words.add(word)));
    }

    /// At most so many tokens, of pairs that come so often.
    pub(super) fn finish(self, size: usize, least: u64) -> Result<Metadata> {
        if size < LEAST {
            let message = format!("tokenizer.vocab_size: {size} tokens cannot hold all 256 bytes and the end token");
            return Err(Error::new(message, "choose at least 257, or tokenizer.kind = characters"));
        }
        let counts = self.words.into_counts().into_iter();
        let counts = counts.map(|(word, count)| (word.bytes().map(byte_character).collect(), count)).collect();
        let alphabet: HashSet<char> = (0..=255).map(byte_character).collect();
        let trainer = BpeTrainer::builder()
            .vocab_size(size)
            .min_frequency(least)
            .initial_alphabet(alphabet)
            .special_tokens(vec![AddedToken::from(END_OF_TEXT, true)])
            .show_progress(false)
            .build();
        let mut model = BPE::default();
        let wrong =
            |what: String| Error::new(format!("cannot learn byte pairs: {what}"), "please report this with the corpus");
        trainer.do_train(&counts, &mut model).map_err(|error| wrong(error.to_string()))?;
        let learned = serde_json::to_value(&model).and_then(serde_json::from_value::<Learned>);
        Ok(keys(learned.map_err(|error| wrong(error.to_string()))?))
    }
}

fn keys(learned: Learned) -> Metadata {
    let mut tokens: Vec<(usize, String)> = learned.vocab.into_iter().map(|(token, id)| (id, token)).collect();
    tokens.sort_unstable();
    let mut keys = Keys { model: "gpt2", ..Keys::default() };
    let mut end = 0;
    for (id, token) in tokens {
        let is_end = token == END_OF_TEXT;
        end = if is_end { id } else { end };
        keys.push(token, if is_end { CONTROL } else { NORMAL });
    }
    keys.special = vec![("bos", end), ("eos", end), ("padding", end)];
    keys.merges = Some(learned.merges.into_iter().map(|(left, right)| format!("{left} {right}")).collect());
    keys.metadata()
}
