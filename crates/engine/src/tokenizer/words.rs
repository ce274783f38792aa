//! Words that were already encoded: in a text most of them come again, and their ids are already in the result.

use std::collections::HashMap;
use std::ops::Range;

use super::hash::Seeded;
use super::merge::{Merger, Symbol};

/// Texts shorter than this repeat too little.
const MIN_TEXT: usize = 1 << 10;
/// Longer words seldom come again.
const MAX_WORD: usize = 48;
/// So many words are remembered; then no more.
const MAX_WORDS: usize = 1 << 16;

/// The memory that encoding needs, kept from text to text.
#[derive(Debug, Default)]
pub(super) struct Words {
    merger: Merger,
    symbols: Vec<Symbol>,
    /// Where texts come in pieces, many of them short.
    remembered: Option<Remembered>,
}

/// The words of all texts so far, with their ids.
#[derive(Debug, Default)]
struct Remembered {
    places: HashMap<Box<[u8]>, Range<usize>, Seeded>,
    ids: Vec<u32>,
}

/// The words of one text so far.
pub(super) struct Known<'w, 't> {
    words: &'w mut Words,
    /// Where the ids of a word lie in the result.
    places: Option<HashMap<&'t [u8], Range<usize>, Seeded>>,
}

impl Words {
    /// Words that are remembered from text to text.
    pub(super) fn remembering() -> Self {
        Self { remembered: Some(Remembered::default()), ..Self::default() }
    }

    /// Nothing known yet of a text of that length.
    pub(super) fn known<'t>(&mut self, length: usize) -> Known<'_, 't> {
        let places = (length >= MIN_TEXT && self.remembered.is_none()).then(HashMap::default);
        Known { words: self, places }
    }
}

impl<'t> Known<'_, 't> {
    /// Adds the ids of a word: from its earlier place, or by `encode`.
    pub(super) fn encode(
        &mut self,
        word: &'t [u8],
        ids: &mut Vec<u32>,
        encode: impl FnOnce(&mut Merger, &mut Vec<Symbol>, &mut Vec<u32>),
    ) {
        let remembered = self.words.remembered.as_ref().and_then(|remembered| remembered.get(word));
        if let Some(found) = remembered {
            ids.extend_from_slice(found);
            return;
        }
        let places = self.places.as_mut().filter(|_| word.len() <= MAX_WORD);
        if let Some(range) = places.as_ref().and_then(|places| places.get(word)) {
            ids.extend_from_within(range.clone());
            return;
        }
        let start = ids.len();
        assert!(u32::try_from(word.len()).is_ok(), "a word of {} bytes: the limit is 4 GiB", word.len());
        encode(&mut self.words.merger, &mut self.words.symbols, ids);
        if let Some(places) = places.filter(|places| places.len() < MAX_WORDS) {
            places.insert(word, start..ids.len());
        }
        if let Some(remembered) = &mut self.words.remembered {
            remembered.add(word, &ids[start..]);
        }
    }
}

impl Remembered {
    fn get(&self, word: &[u8]) -> Option<&[u32]> {
        self.places.get(word).map(|range| &self.ids[range.clone()])
    }

    fn add(&mut self, word: &[u8], ids: &[u32]) {
        if word.len() <= MAX_WORD && self.places.len() < MAX_WORDS {
            let start = self.ids.len();
            self.ids.extend_from_slice(ids);
            self.places.insert(word.into(), start..self.ids.len());
        }
    }
}
