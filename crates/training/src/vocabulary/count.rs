//! Counting words, in memory that does not grow with the corpus.

use std::collections::HashMap;

use engine::word_end;

/// More different words than this are not kept: the rarest are forgotten. Some hundred megabytes.
const MOST_WORDS: usize = 1 << 21;
/// Longer words are no words, and would become tokens that no text has.
const LONGEST_WORD: usize = 256;
/// Text in which no word ends is cut after so many bytes.
const MOST_HELD: usize = 1 << 20;

/// How often each word comes.
#[derive(Debug, Default)]
pub(super) struct Words {
    counts: HashMap<Box<str>, u64>,
    /// What came this often or less was forgotten.
    forgotten: u64,
}

impl Words {
    pub(super) fn add(&mut self, word: &str) {
        if let Some(count) = self.counts.get_mut(word) {
            *count += 1;
        } else if word.len() <= LONGEST_WORD {
            self.counts.insert(word.into(), 1);
            if self.counts.len() > MOST_WORDS {
                self.forget();
            }
        }
    }

    /// CorpusRole words are forgotten follows from the counts alone, so that a corpus always gives the same vocabulary.
    fn forget(&mut self) {
        while self.counts.len() > MOST_WORDS / 2 {
            self.forgotten += 1;
            let most = self.forgotten;
            self.counts.retain(|_, count| *count > most);
        }
    }

    pub(super) fn into_counts(self) -> HashMap<Box<str>, u64> {
        self.counts
    }
}

/// Text that comes in pieces, passed on in pieces that end with a word.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    held: String,
}

impl Pieces {
    pub(super) fn push(&mut self, text: &str, mut whole: impl FnMut(&str)) {
        let searched = self.held.len();
        self.held.push_str(text);
        let forced = if self.held.len() < MOST_HELD { 0 } else { self.held.len() };
        let cut = word_end(&self.held, searched).unwrap_or(forced);
        whole(&self.held[..cut]);
        self.held.drain(..cut);
    }

    pub(super) fn finish(&mut self, mut whole: impl FnMut(&str)) {
        whole(&self.held);
        self.held.clear();
    }
}
