//! A vocabulary of whole words, as LoopOS makes it: six tokens that steer, then words in the order
//! of how often they come.

use engine::{Metadata, plain_words};

use super::count::{Pieces, Words};
use super::keys::{CONTROL, Keys, NORMAL, UNKNOWN};

/// The tokens before the words, in LoopOS's order.
pub(super) const SPECIAL: [(&str, i64); 6] = [
    ("<pad>", CONTROL),
    ("<unk>", UNKNOWN),
    ("<bos>", CONTROL),
    ("<eos>", CONTROL),
    ("<|user|>", CONTROL),
    ("<|assistant|>", CONTROL),
];
/// Longer words are not read from files.
pub(super) const LONGEST: usize = 4000;

/// Learns words.
#[derive(Debug, Default)]
pub(super) struct Learner {
    words: Words,
    pieces: Pieces,
}

impl Learner {
    pub(super) fn add(&mut self, text: &str) {
        let words = &mut self.words;
        self.pieces.push(text, |text| count(words, text));
    }

    pub(super) fn end(&mut self) {
        let words = &mut self.words;
        self.pieces.finish(|text| count(words, text));
    }

    /// At most so many tokens, of words that come so often.
    pub(super) fn finish(self, size: usize, least: u64) -> Metadata {
        let mut words: Vec<(Box<str>, u64)> = self.words.into_counts().into_iter().collect();
        words.retain(|(word, count)| *count >= least && SPECIAL.iter().all(|(name, _)| **name != **word));
        // Words that come equally often stand in the order of their bytes, so that a corpus always
        // gives the same vocabulary.
        words.sort_unstable_by(|(a, often), (b, other)| other.cmp(often).then_with(|| a.cmp(b)));
        words.truncate(size.saturating_sub(SPECIAL.len()));
        keys(words.into_iter().map(|(word, _)| String::from(word)))
    }
}

fn count(words: &mut Words, text: &str) {
    let mut small = String::new();
    plain_words(text, |word| {
        if word.bytes().any(|byte| byte.is_ascii_uppercase()) {
            small.clear();
            small.push_str(word);
            small.make_ascii_lowercase();
            words.add(&small);
        } else {
            words.add(word);
        }
    });
}

/// The vocabulary of these words, behind the tokens that steer.
pub(super) fn keys(words: impl Iterator<Item = String>) -> Metadata {
    let mut keys = Keys { model: "hotloop-words", ..Keys::default() };
    for (name, kind) in SPECIAL {
        keys.push(name, kind);
    }
    for word in words {
        keys.push(word, NORMAL);
    }
    keys.special = vec![("padding", 0), ("unknown", 1), ("bos", 2), ("eos", 3)];
    keys.metadata()
}
