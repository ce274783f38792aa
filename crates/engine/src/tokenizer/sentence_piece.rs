//! Pair encoding by scores, as SentencePiece has it for LLaMA: words are characters, of two
//! neighbours the token with the best score is joined first, and characters without a token become
//! their bytes.
//!
//! Files write the space as U+2581. Here it is a space: tokens are kept as the text that they stand for.

use super::merge::{Joined, Pair, Pairs, Symbol};
use super::vocabulary::{Kind, NONE, Vocabulary};
use super::words::Words;
use crate::{Error, Result};

/// What stands for the space in files.
pub(super) const SPACE: char = '\u{2581}';

/// The scores and the bytes.
#[derive(Debug)]
pub(super) struct SentencePiece {
    /// Of each token: the smaller, the better its score.
    ranks: Vec<u32>,
    /// The token of each byte, or [`NONE`].
    bytes: Box<[u32; 256]>,
    /// What stands for a character without a token whose bytes have none; without it such characters are left out.
    unknown: Option<u32>,
    /// Whether a text begins with a space that was not there.
    space_before: bool,
    /// No token has a space behind something else, so that no token crosses the beginning of a word.
    words: bool,
}

/// A text to encode.
#[derive(Debug, Clone, Copy)]
pub(super) struct Text<'t> {
    pub(super) text: &'t str,
    /// Something was before it, so that it gets no space.
    pub(super) goes_on: bool,
}

impl SentencePiece {
    /// Takes the scores, one for each token.
    pub(super) fn new(
        vocabulary: &Vocabulary,
        scores: &[f32],
        unknown: Option<u32>,
        space_before: bool,
    ) -> Result<Self> {
        if scores.len() != vocabulary.len() {
            let (scores, tokens) = (scores.len(), vocabulary.len());
            return Err(Error::malformed(format!("key tokenizer.ggml.scores: {scores} scores for {tokens} tokens")));
        }
        if let Some(id) = scores.iter().position(|score| score.is_nan()) {
            return Err(Error::malformed(format!("key tokenizer.ggml.scores: the score of token {id} is NaN")));
        }
        let mut bytes = Box::new([NONE; 256]);
        for id in vocabulary.of_kind(Kind::Byte) {
            if let Some(&[byte]) = vocabulary.get(id) {
                bytes[usize::from(byte)] = id;
            }
        }
        let pieces = [Kind::Normal, Kind::UserDefined].into_iter().flat_map(|kind| vocabulary.of_kind(kind));
        let words = pieces.filter_map(|id| vocabulary.get(id)).all(|piece| !has_space_inside(piece));
        Ok(Self { ranks: scores.iter().map(|score| rank(*score)).collect(), bytes, unknown, space_before, words })
    }

    /// Whether a text begins with a space that was not there.
    pub(super) fn space_before(&self) -> bool {
        self.space_before
    }

    /// Whether no token crosses the beginning of a word.
    pub(super) fn knows_words(&self) -> bool {
        self.words
    }

    /// The tokens of a text without special ones, or of a text that goes on.
    pub(super) fn encode(&self, vocabulary: &Vocabulary, text: Text<'_>, words: &mut Words, ids: &mut Vec<u32>) {
        let Text { text, goes_on } = text;
        let mut spaced = String::with_capacity(text.len() + 1);
        if self.space_before && !goes_on {
            spaced.push(' ');
        }
        // The character that stands for the space cannot be told from it, in the models' own tokenizers neither.
        spaced.extend(text.split(SPACE).enumerate().flat_map(|(at, part)| [if at > 0 { " " } else { "" }, part]));
        let mut known = words.known(spaced.len());
        let mut rest = spaced.as_str();
        while !rest.is_empty() {
            let (word, after) = rest.split_at(if self.words { word_length(rest) } else { rest.len() });
            known.encode(word.as_bytes(), ids, |merger, symbols, ids| {
                symbols.clear();
                symbols.extend(word.char_indices().map(|(start, character)| Symbol {
                    start: start as u32,
                    id: vocabulary.find(&word.as_bytes()[start..start + character.len_utf8()]).unwrap_or(NONE),
                }));
                merger.merge(&Scores { pieces: self, vocabulary }, word.as_bytes(), symbols);
                self.push_ids(word.as_bytes(), symbols, ids);
            });
            rest = after;
        }
    }

    fn push_ids(&self, word: &[u8], symbols: &[Symbol], ids: &mut Vec<u32>) {
        for (at, symbol) in symbols.iter().enumerate() {
            if symbol.id != NONE {
                ids.push(symbol.id);
                continue;
            }
            let end = symbols.get(at + 1).map_or(word.len(), |next| next.start as usize);
            let start = ids.len();
            let bytes = word[symbol.start as usize..end].iter();
            ids.extend(bytes.map(|byte| self.bytes[usize::from(*byte)]));
            if ids[start..].contains(&NONE) {
                ids.truncate(start);
                ids.extend(self.unknown);
            }
        }
    }
}

struct Scores<'a> {
    pieces: &'a SentencePiece,
    vocabulary: &'a Vocabulary,
}

impl Pairs for Scores<'_> {
    fn join(&self, pair: Pair<'_>) -> Option<Joined> {
        let id = self.vocabulary.find(pair.text)?;
        Some(Joined { rank: self.pieces.ranks[id as usize], id })
    }
}

/// Numbers in the opposite order of the scores, which are not NaN.
fn rank(score: f32) -> u32 {
    // Adding zero makes −0 the same as 0.
    let bits = (score + 0.0).to_bits();
    let rising = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
    !rising
}

/// Whether a space follows something else.
fn has_space_inside(piece: &[u8]) -> bool {
    piece.windows(2).any(|two| two[0] != b' ' && two[1] == b' ')
}

/// How far it is to the next space that follows something else.
fn word_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    bytes.windows(2).position(|two| two[0] != b' ' && two[1] == b' ').map_or(bytes.len(), |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn better_scores_have_smaller_ranks() {
        let scores = [f32::INFINITY, 3.0, 1e-30, 0.0, -1e-30, -2.0, -31740.0, f32::NEG_INFINITY];
        assert!(scores.windows(2).all(|two| rank(two[0]) < rank(two[1])));
        assert_eq!(rank(0.0), rank(-0.0));
        assert!(rank(f32::NEG_INFINITY) < u32::MAX);
    }

    #[test]
    fn words_begin_with_their_spaces() {
        assert_eq!(word_length(" a  b"), 2);
        assert_eq!(word_length("  b c"), 3);
        assert_eq!(word_length("   "), 3);
        assert!(has_space_inside(b"a b") && !has_space_inside(b"  ab"));
    }
}
