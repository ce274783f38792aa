//! A vocabulary of characters, in the order of their codes, and two tokens behind them: for what is
//! unknown, and for the end.
//!
//! It is written as a byte-level vocabulary whose merges put the bytes of a character together, so
//! that llama.cpp reads it too. There unknown characters are left out; here they become the unknown
//! token.

use std::collections::{HashMap, HashSet};

use engine::{Metadata, Value, byte_character};

use super::keys::{CONTROL, END_OF_TEXT, Keys, NORMAL, UNKNOWN};

/// Learns characters.
#[derive(Debug)]
pub(super) struct Learner {
    ascii: Box<[u64; 128]>,
    others: HashMap<char, u64>,
}

impl Default for Learner {
    fn default() -> Self {
        Self { ascii: Box::new([0; 128]), others: HashMap::new() }
    }
}

impl Learner {
    pub(super) fn add(&mut self, text: &str) {
        for character in text.chars() {
            match self.ascii.get_mut(character as usize) {
                Some(count) => *count += 1,
                None => *self.others.entry(character).or_default() += 1,
            }
        }
    }

    /// At most so many tokens, of characters that come so often.
    pub(super) fn finish(self, size: usize, least: u64) -> Metadata {
        let ascii = (0u8..).map(char::from).zip(*self.ascii);
        let mut counted: Vec<(char, u64)> = ascii.chain(self.others).filter(|(_, count)| *count >= least).collect();
        counted.retain(|(_, count)| *count > 0);
        counted.sort_unstable_by(|(a, often), (b, other)| other.cmp(often).then(a.cmp(b)));
        counted.truncate(size.saturating_sub(2));
        let mut characters: Vec<char> = counted.into_iter().map(|(character, _)| character).collect();
        characters.sort_unstable();
        keys(&characters)
    }
}

fn keys(characters: &[char]) -> Metadata {
    let mut keys = Keys { model: "gpt2", ..Keys::default() };
    let (mut merges, mut known) = (Vec::new(), HashSet::new());
    for character in characters {
        let mut joined = String::new();
        for byte in character.encode_utf8(&mut [0; 4]).bytes() {
            let next = byte_character(byte);
            let merge = format!("{joined} {next}");
            if !joined.is_empty() && known.insert(merge.clone()) {
                merges.push(merge);
            }
            joined.push(next);
        }
        keys.push(joined, NORMAL);
    }
    let unknown = keys.tokens.len();
    keys.push("<unk>", UNKNOWN);
    keys.push(END_OF_TEXT, CONTROL);
    keys.special = vec![("unknown", unknown), ("bos", unknown + 1), ("eos", unknown + 1), ("padding", unknown + 1)];
    keys.merges = Some(merges);
    let mut metadata = keys.metadata();
    metadata.set("hotloop.tokenizer.unit", Value::Text("character".to_owned()));
    metadata
}
