//! Byte-level pair encoding, as GPT-2 and those after it have it: words are bytes, and a list of
//! merges tells which are joined first.
//!
//! Files write bytes as characters that can be seen: those that are printable stand for themselves,
//! the others for the characters from U+0100 on.

use std::collections::HashMap;

use super::hash::Seeded;
use super::merge::{Joined, Merger, Pair, Pairs, Symbol};
use super::split::Split;
use super::vocabulary::{NONE, Vocabulary};
use super::words::Words;
use crate::{Error, Result};

/// More merges than this are no vocabulary: known ones have some hundred thousand.
const MAX_MERGES: usize = 1 << 23;

/// The merges and how texts are cut.
#[derive(Debug)]
pub(super) struct ByteLevel {
    split: Split,
    /// A word that is a token needs no merges.
    whole_words: bool,
    merges: HashMap<u64, Joined, Seeded>,
    /// The token of each byte, or [`NONE`]. Some vocabularies lack bytes that their training never
    /// saw; they are left out, as the reference does: what such files name as unknown is the token
    /// that ends a text.
    bytes: Box<[u32; 256]>,
}

/// How words are found and when merges are needed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    pub(super) split: Split,
    pub(super) whole_words: bool,
}

impl ByteLevel {
    /// Reads the merges, of which earlier ones come first.
    pub(super) fn new(vocabulary: &Vocabulary, merges: &[String], rules: Rules) -> Result<Self> {
        if merges.len() > MAX_MERGES {
            return Err(Error::malformed(format!("{} merges; the limit is {MAX_MERGES}", merges.len())));
        }
        let mut bytes = Box::new([NONE; 256]);
        for (byte, id) in (0..=u8::MAX).zip(bytes.iter_mut()) {
            *id = vocabulary.find(&[byte]).unwrap_or(NONE);
        }
        if bytes.iter().all(|id| *id == NONE) {
            return Err(Error::malformed("no token is a single byte, so no text can be encoded"));
        }
        let mut pairs = HashMap::with_capacity_and_hasher(merges.len(), Seeded::default());
        let mut text = Vec::new();
        for (rank, merge) in (0u32..).zip(merges) {
            let merged = read_merge(vocabulary, merge, &mut text)
                .map_err(|what| Error::malformed(format!("merge {rank}, {merge:?}: {what}")))?;
            let Some((left, right, id)) = merged else { continue };
            // The first of equal merges counts.
            pairs.entry(key(left, right)).or_insert(Joined { rank, id });
        }
        let Rules { split, whole_words } = rules;
        Ok(Self { split, whole_words, merges: pairs, bytes })
    }

    /// The tokens of a text without special ones.
    pub(super) fn encode(&self, vocabulary: &Vocabulary, text: &str, words: &mut Words, ids: &mut Vec<u32>) {
        let mut known = words.known(text.len());
        self.split.words(text, |word| {
            known.encode(word.as_bytes(), ids, |merger, symbols, ids| {
                self.encode_word(vocabulary, word.as_bytes(), (merger, symbols), ids);
            });
        });
    }

    fn encode_word(
        &self,
        vocabulary: &Vocabulary,
        word: &[u8],
        room: (&mut Merger, &mut Vec<Symbol>),
        ids: &mut Vec<u32>,
    ) {
        if self.whole_words
            && let Some(id) = vocabulary.find(word)
        {
            ids.push(id);
            return;
        }
        let (merger, symbols) = room;
        symbols.clear();
        symbols.extend((0u32..).zip(word).map(|(start, byte)| Symbol { start, id: self.bytes[usize::from(*byte)] }));
        merger.merge(self, word, symbols);
        ids.extend(symbols.iter().map(|symbol| symbol.id).filter(|id| *id != NONE));
    }
}

impl Pairs for ByteLevel {
    fn join(&self, pair: Pair<'_>) -> Option<Joined> {
        self.merges.get(&key(pair.left, pair.right)).copied()
    }
}

fn key(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

/// The two tokens and what they become; `None` where one of them is no bytes, so that no text has it.
fn read_merge(
    vocabulary: &Vocabulary,
    merge: &str,
    text: &mut Vec<u8>,
) -> std::result::Result<Option<(u32, u32, u32)>, String> {
    // A token never begins with the space that parts them.
    let space = merge.char_indices().skip(1).find(|(_, character)| *character == ' ');
    let (left, right) = space.map(|(at, _)| merge.split_at(at)).ok_or("no space between two tokens")?;
    let right = &right[1..];
    text.clear();
    let is_left = push_bytes(left, text);
    let middle = text.len();
    if !(push_bytes(right, text) && is_left) {
        return Ok(None);
    }
    let find = |bytes, name: &str| vocabulary.find(bytes).ok_or_else(|| format!("{name:?} is not a token"));
    let whole = vocabulary.find(text).ok_or("the two together are not a token")?;
    Ok(Some((find(&text[..middle], left)?, find(&text[middle..], right)?, whole)))
}

/// Adds the bytes that a token's characters stand for, and says whether all of them stand for one.
/// A token with a character that stands for none is shown as it is written; texts never become it.
pub(super) fn push_bytes(token: &str, bytes: &mut Vec<u8>) -> bool {
    let start = bytes.len();
    for character in token.chars() {
        let Some(byte) = byte_of(character) else {
            bytes.truncate(start);
            bytes.extend_from_slice(token.as_bytes());
            return false;
        };
        bytes.push(byte);
    }
    true
}

/// The character that files write for a byte.
pub fn byte_character(byte: u8) -> char {
    let others = match byte {
        0x00..=0x20 => u32::from(byte),
        0x7F..=0xA0 => u32::from(byte) - 0x7F + 0x21,
        0xAD => 0x43,
        _ => return char::from(byte),
    };
    char::from_u32(0x100 + others).unwrap_or_default()
}

/// The byte that a character stands for.
fn byte_of(character: char) -> Option<u8> {
    match u32::from(character) {
        code @ (0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF) => Some(code as u8),
        // The others in their order: 0x00 to 0x20, 0x7F to 0xA0, 0xAD.
        code @ 0x100..=0x120 => Some((code - 0x100) as u8),
        code @ 0x121..=0x142 => Some((code - 0x121 + 0x7F) as u8),
        0x143 => Some(0xAD),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_one_character() {
        let mut bytes: Vec<u8> = (0..0x400).filter_map(char::from_u32).filter_map(byte_of).collect();
        assert_eq!(bytes.len(), 256);
        bytes.sort_unstable();
        bytes.dedup();
        assert_eq!(bytes.len(), 256);
        assert!((0..=255).all(|byte| byte_of(byte_character(byte)) == Some(byte)));
        assert_eq!(byte_of('Ġ'), Some(b' '));
        assert_eq!(byte_of('Ċ'), Some(b'\n'));
    }
}
