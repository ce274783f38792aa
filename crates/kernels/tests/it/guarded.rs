//! Slices at odd places, between values that must not change, before memory that cannot be touched.

use crate::effort::sizes;
use crate::fenced::Fenced;

/// No kernel makes this NaN of numbers.
const CANARY: u32 = 0x7fc0_beef;
/// Values before a slice.
const BEFORE: usize = if cfg!(miri) { 1 } else { 32 };

/// A slice that ends `offset` values before the end of its memory. Its length and `offset` together
/// make its alignment; a touch beyond the `offset` values is no wrong number but the end of the
/// process.
pub struct Guarded {
    memory: Fenced,
    len: usize,
}

impl Guarded {
    pub fn new(values: &[f32], offset: usize) -> Self {
        let mut memory = Fenced::new(BEFORE + values.len() + offset);
        memory.values_mut().fill(f32::from_bits(CANARY));
        memory.values_mut()[BEFORE..][..values.len()].copy_from_slice(values);
        Self { memory, len: values.len() }
    }

    /// `len` values that no kernel should read before it writes them.
    pub fn unset(len: usize, offset: usize) -> Self {
        Self::new(&vec![f32::from_bits(CANARY); len], offset)
    }

    pub fn get(&self) -> &[f32] {
        &self.memory.values()[BEFORE..][..self.len]
    }

    /// The slice is given to `f`; what lies around it must be as before.
    #[track_caller]
    pub fn with<T>(&mut self, f: impl FnOnce(&mut [f32]) -> T) -> T {
        let result = f(&mut self.memory.values_mut()[BEFORE..][..self.len]);
        let (before, rest) = self.memory.values().split_at(BEFORE);
        assert!(before.iter().all(|x| x.to_bits() == CANARY), "written before the beginning");
        assert!(rest[self.len..].iter().all(|x| x.to_bits() == CANARY), "written beyond the end");
        result
    }
}

/// Lengths from nothing to more than eight vectors of sixteen, each at some odd places.
pub fn lengths_and_offsets() -> impl Iterator<Item = (usize, usize)> {
    let offsets: &[usize] = if cfg!(miri) { &[0] } else { &[0, 1, 2, 3, 7] };
    sizes(0..=130).flat_map(|len| offsets.iter().map(move |&offset| (len, offset)))
}
