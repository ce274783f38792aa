//! Sequences of a corpus by their number: which tokens each is made of.

use std::ops::Range;
use std::sync::Arc;

use kernels::IGNORED_TARGET;

use super::order::{Choice, below, hash};
use super::tokens::TokenFile;
use crate::Result;

/// What stands where a sequence has no more tokens. Nothing is learned there, so that any token would do.
const PADDING: u32 = 0;

/// Sequences to learn from, or to validate on. Any can be read at any time, by several threads; copies share the file.
#[derive(Debug, Clone)]
pub struct Sequences {
    tokens: Arc<TokenFile>,
    part: SequencePart,
    length: usize,
    targets: u64,
}

/// CorpusRole sequences these are.
#[derive(Debug, Clone)]
pub(super) enum SequencePart {
    /// Those that were chosen of all, or those that were left.
    Stored { choice: Choice, chosen: bool, count: u64 },
    /// One after another from a range of tokens.
    Chunks { range: Range<u64> },
    /// From anywhere in a range of tokens.
    Windows { range: Range<u64> },
}

/// One row of a batch.
#[derive(Debug)]
pub(super) struct Row<'a> {
    pub(super) tokens: &'a mut [u32],
    pub(super) targets: &'a mut [u32],
}

/// Memory for reading, kept from row to row.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    bytes: Vec<u8>,
    ids: Vec<u32>,
}

impl Sequences {
    /// Sequences of `length` tokens, each with the one that follows.
    pub(super) fn new(tokens: Arc<TokenFile>, part: SequencePart, length: usize) -> Result<Self> {
        let mut sequences = Self { tokens, part, length, targets: 0 };
        sequences.targets = sequences.count_targets()?;
        Ok(sequences)
    }

    /// How many there are in one epoch. Of windows, as many as would lie side by side.
    #[must_use]
    pub fn len(&self) -> u64 {
        match &self.part {
            SequencePart::Stored { count, .. } => *count,
            SequencePart::Chunks { range } | SequencePart::Windows { range } => {
                steps(range).div_ceil(self.length as u64)
            }
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many tokens a row has; shorter sequences are filled up.
    #[must_use]
    pub fn length(&self) -> usize {
        self.length
    }

    /// How many tokens are predicted in one epoch.
    #[must_use]
    pub fn targets(&self) -> u64 {
        self.targets
    }

    /// Whether the same number is another sequence in every epoch.
    pub(super) fn are_random(&self) -> bool {
        matches!(self.part, SequencePart::Windows { .. })
    }

    /// Reads a sequence; returns how many tokens are to be predicted. `key` decides where windows begin.
    pub(super) fn read(&self, number: u64, key: u64, row: &mut Row<'_>, scratch: &mut Scratch) -> Result<usize> {
        let (start, end) = self.range(number, key)?;
        let Scratch { bytes, ids } = scratch;
        ids.resize((end - start) as usize, 0);
        self.tokens.read(start, ids, bytes)?;
        let count = ids.len().saturating_sub(1);
        row.tokens[..count].copy_from_slice(&ids[..count]);
        row.targets[..count].copy_from_slice(ids.get(1..).unwrap_or_default());
        pad(&mut row.tokens[count..], &mut row.targets[count..]);
        Ok(count)
    }

    /// The tokens of a sequence, with the one behind its last input.
    fn range(&self, number: u64, key: u64) -> Result<(u64, u64)> {
        let length = self.length as u64;
        match &self.part {
            SequencePart::Stored { choice, chosen, .. } => {
                self.tokens.sequence(if *chosen { choice.chosen(number) } else { choice.left(number) })
            }
            SequencePart::Chunks { range } => {
                let start = range.start + number * length;
                Ok((start, (start + length + 1).min(range.end)))
            }
            SequencePart::Windows { range } => {
                let places = (range.end - range.start).saturating_sub(length).max(1);
                let start = range.start + below(hash(key, number), places);
                Ok((start, (start + length + 1).min(range.end)))
            }
        }
    }

    fn count_targets(&self) -> Result<u64> {
        match &self.part {
            SequencePart::Chunks { range } => Ok(steps(range)),
            SequencePart::Windows { range } => Ok(self.len() * (self.length as u64).min(steps(range))),
            SequencePart::Stored { choice, chosen, .. } => {
                let all = self.tokens.trailer.tokens - self.tokens.trailer.sequences.unwrap_or_default();
                let mut some = 0;
                for rank in 0..choice.count() {
                    let (start, end) = self.tokens.sequence(choice.chosen(rank))?;
                    some += end - start - 1;
                }
                Ok(if *chosen { some } else { all - some })
            }
        }
    }
}

/// Fills what is left of a row.
pub(super) fn pad(tokens: &mut [u32], targets: &mut [u32]) {
    tokens.fill(PADDING);
    targets.fill(IGNORED_TARGET);
}

/// From how many tokens of a range the next one can be predicted.
fn steps(range: &Range<u64>) -> u64 {
    (range.end - range.start).saturating_sub(1)
}
