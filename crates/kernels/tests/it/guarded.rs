//! Slices at odd places, between values that must not change.

/// No kernel makes this NaN of numbers.
const CANARY: u32 = 0x7fc0_beef;
const AROUND: usize = 32;

/// A slice that begins `offset` values after an aligned place.
pub struct Guarded {
    buffer: Vec<f32>,
    begin: usize,
    len: usize,
}

impl Guarded {
    pub fn new(values: &[f32], offset: usize) -> Self {
        let canary = f32::from_bits(CANARY);
        let mut buffer = vec![canary; values.len() + 3 * AROUND];
        let begin = buffer.as_ptr().align_offset(64).min(AROUND) + AROUND / 2 + offset;
        buffer[begin..begin + values.len()].copy_from_slice(values);
        Self { buffer, begin, len: values.len() }
    }

    /// `len` values that no kernel should read before it writes them.
    pub fn unset(len: usize, offset: usize) -> Self {
        Self::new(&vec![f32::from_bits(CANARY); len], offset)
    }

    pub fn get(&self) -> &[f32] {
        &self.buffer[self.begin..self.begin + self.len]
    }

    /// The slice is given to `f`; what lies around it must be as before.
    #[track_caller]
    pub fn with<T>(&mut self, f: impl FnOnce(&mut [f32]) -> T) -> T {
        let result = f(&mut self.buffer[self.begin..self.begin + self.len]);
        let (before, after) = (&self.buffer[..self.begin], &self.buffer[self.begin + self.len..]);
        assert!(before.iter().all(|x| x.to_bits() == CANARY), "written before the beginning");
        assert!(after.iter().all(|x| x.to_bits() == CANARY), "written beyond the end");
        result
    }
}

/// Lengths from nothing to more than eight vectors of sixteen, each at some odd places.
pub fn lengths_and_offsets() -> impl Iterator<Item = (usize, usize)> {
    (0..=130).flat_map(|len| [0, 1, 2, 3, 7].map(|offset| (len, offset)))
}
