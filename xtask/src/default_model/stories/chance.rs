//! Chance that follows from a seed: the same on every machine.

/// A sequence of numbers that look random (SplitMix64).
pub struct Chance(u64);

impl Chance {
    /// The sequence of this seed; neighbouring seeds have nothing in common.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// One of so many.
    pub fn below(&mut self, count: usize) -> usize {
        // The upper half of a product: no division, and no place is favoured by more than one part in 2⁵⁰.
        ((u128::from(self.number()) * count as u128) >> 64) as usize
    }

    /// One of these.
    pub fn pick<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.below(of.len())]
    }
}
