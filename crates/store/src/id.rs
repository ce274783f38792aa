//! The ids of runs.

use std::fmt;

/// BLAKE3 of a run's text, as 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(String);

/// Digits of a full id.
const DIGITS: usize = 64;
/// Digits that lists show: enough to distinguish a million runs.
const SHORT_DIGITS: usize = 12;

impl Id {
    /// The id of a text.
    pub fn of(text: &[u8]) -> Self {
        Self::from_hash(blake3::hash(text))
    }

    pub(crate) fn from_hash(hash: blake3::Hash) -> Self {
        Self(hash.to_hex().to_string())
    }

    /// Parses a full id in lower case.
    pub fn parse(text: &str) -> Option<Self> {
        (text.len() == DIGITS && text.bytes().all(is_digit)).then(|| Self(text.to_owned()))
    }

    /// All its digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// As many digits as lists show.
    pub fn short(&self) -> &str {
        &self.0[..SHORT_DIGITS]
    }

    /// The folder that its file is in.
    pub(crate) fn folder(&self) -> &str {
        &self.0[..2]
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether it is a digit of an id.
pub(crate) fn is_digit(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_ids_are_ids() {
        let id = Id::of(b"text");
        assert_eq!(Id::parse(id.as_str()), Some(id.clone()));
        assert_eq!(id.short().len(), SHORT_DIGITS);
        for wrong in ["", "abcd", &id.as_str().to_uppercase(), &format!("{id}0"), &id.as_str().replace('a', "g")] {
            assert!(wrong == id.as_str() || Id::parse(wrong).is_none(), "{wrong}");
        }
    }
}
