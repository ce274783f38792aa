//! Random numbers that follow from a seed, so that a trial can be repeated with the same orders.

/// A Weyl sequence whose numbers are mixed.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        for _ in 0..2 {
            mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        }
        mixed ^ (mixed >> 32)
    }

    /// Below the bound, which is not 0. Bounds are small, so that the remainder hardly favours any number.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// Every order is as likely as every other.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}
