//! The tokens: what bytes each stands for, of what kind it is, and which token a text is.

use std::hash::{BuildHasher, Hasher};

use super::hash::Seeded;

/// A place of the table of texts that holds no token; also "no token" among the symbols of a word.
pub(super) const NONE: u32 = u32::MAX;

/// What a token is for. The numbers are those of the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A piece of text.
    Normal,
    /// Stands for what has no token.
    Unknown,
    /// Steers the model, and is not text: begin, end, whose turn it is.
    Control,
    /// A text that is always one token.
    UserDefined,
    /// A place that the training left empty.
    Unused,
    /// One byte.
    Byte,
}

impl Kind {
    /// The kind with this number; nothing is known of others. Zero means that the writer did not say.
    pub(super) fn from_number(number: i64) -> Option<Self> {
        Some(match number {
            0 | 1 => Self::Normal,
            2 => Self::Unknown,
            3 => Self::Control,
            4 => Self::UserDefined,
            5 => Self::Unused,
            6 => Self::Byte,
            _ => return None,
        })
    }
}

/// All tokens. Their bytes lie one behind the other, because a vector for each would cost more than the bytes.
#[derive(Debug)]
pub(super) struct Vocabulary {
    bytes: Vec<u8>,
    ends: Vec<u32>,
    kinds: Vec<Kind>,
    /// Open addressing with linear steps; at most half full. Beside each id stand the upper bits of
    /// its hash, so that nothing else has to be read of tokens that lie in the way.
    table: Vec<Entry>,
    seed: Seeded,
    longest: usize,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    hash: u32,
    id: u32,
}

impl Vocabulary {
    /// An empty vocabulary with room for that many tokens. `count` must be checked by the caller.
    pub(super) fn with_capacity(count: usize) -> Self {
        Self {
            bytes: Vec::with_capacity(count * 8),
            ends: Vec::with_capacity(count),
            kinds: Vec::with_capacity(count),
            table: vec![Entry { hash: 0, id: NONE }; (count * 2).next_power_of_two().max(2)],
            seed: Seeded::default(),
            longest: 0,
        }
    }

    /// Adds a token behind the last one. It is not found by its text before [`Vocabulary::enter`].
    pub(super) fn push(&mut self, bytes: &[u8], kind: Kind) {
        self.bytes.extend_from_slice(bytes);
        self.ends.push(self.bytes.len() as u32);
        self.kinds.push(kind);
    }

    /// Lets a token be found by its bytes. The first of several with the same bytes is found; empty ones never are.
    pub(super) fn enter(&mut self, id: u32) {
        let Some(bytes) = self.get(id).filter(|bytes| !bytes.is_empty()) else { return };
        let longest = self.longest.max(bytes.len());
        if let Err((place, hash)) = self.search(bytes) {
            self.table[place] = Entry { hash, id };
            self.longest = longest;
        }
    }

    /// How many tokens there are.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The bytes of a token.
    pub(super) fn get(&self, id: u32) -> Option<&[u8]> {
        let id = id as usize;
        let end = *self.ends.get(id)? as usize;
        let start = if id == 0 { 0 } else { self.ends[id - 1] as usize };
        Some(&self.bytes[start..end])
    }

    /// The kind of a token.
    pub(super) fn kind(&self, id: u32) -> Option<Kind> {
        self.kinds.get(id as usize).copied()
    }

    /// The tokens of a kind.
    pub(super) fn of_kind(&self, kind: Kind) -> impl Iterator<Item = u32> {
        (0u32..).zip(&self.kinds).filter(move |(_, other)| **other == kind).map(|(id, _)| id)
    }

    /// The token with these bytes.
    pub(super) fn find(&self, bytes: &[u8]) -> Option<u32> {
        // Most texts that are asked for are no tokens; those that are too long need no hash.
        if bytes.len() > self.longest {
            return None;
        }
        self.search(bytes).ok()
    }

    /// The token with these bytes, or the place where it would be, with the hash that would stand there.
    fn search(&self, bytes: &[u8]) -> Result<u32, (usize, u32)> {
        let mut hasher = self.seed.build_hasher();
        hasher.write(bytes);
        let hash = hasher.finish();
        let (mask, upper) = (self.table.len() - 1, (hash >> 32) as u32);
        let mut place = hash as usize & mask;
        loop {
            let entry = self.table[place];
            if entry.id == NONE {
                return Err((place, upper));
            }
            if entry.hash == upper && self.get(entry.id) == Some(bytes) {
                return Ok(entry.id);
            }
            place = (place + 1) & mask;
        }
    }
}
