//! Hashing for short keys: a few multiplications instead of the standard library's cipher, which
//! takes longer than all the rest of a lookup.
//!
//! The seed comes from the standard library and differs between processes, so that a file cannot be
//! written to make keys collide. Nothing here depends on the order of entries, so the ids do not
//! depend on the seed.

use std::hash::{BuildHasher, Hasher, RandomState};

/// Any odd number with bits that look random will do; this is the fraction of the golden ratio.
const MIX: u64 = 0x9E37_79B9_7F4A_7C15;

/// Makes hashers that share a seed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seeded(u64);

impl Default for Seeded {
    fn default() -> Self {
        Self(RandomState::new().hash_one(MIX))
    }
}

impl BuildHasher for Seeded {
    type Hasher = Folded;

    fn build_hasher(&self) -> Folded {
        Folded(self.0)
    }
}

/// A product of 128 bits, folded in half, for every eight bytes.
#[derive(Debug)]
pub(super) struct Folded(u64);

impl Folded {
    fn add(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word) * u128::from(MIX);
        self.0 = (product as u64) ^ ((product >> 64) as u64);
    }
}

impl Hasher for Folded {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.add(u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        // The length keeps apart what differs by zeros at the end alone.
        self.add(u64::from_le_bytes(last));
        self.add(bytes.len() as u64);
    }

    fn write_u8(&mut self, byte: u8) {
        self.add(u64::from(byte));
    }

    fn write_u64(&mut self, word: u64) {
        self.add(word);
    }

    fn write_usize(&mut self, word: usize) {
        self.add(word as u64);
    }

    fn finish(&self) -> u64 {
        // Tables look at the lowest and the highest bits; both depend on every bit after one more round.
        let product = u128::from(self.0) * u128::from(MIX);
        (product as u64) ^ ((product >> 64) as u64)
    }
}
