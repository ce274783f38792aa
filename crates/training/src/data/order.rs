//! The order of sequences: a permutation that is computed, not stored, so that a corpus of any size
//! can be shuffled and an epoch can be entered anywhere.

/// Rounds of mixing. Four make a Feistel network hard to tell from chance; more cost a nanosecond each.
const ROUNDS: u64 = 6;

/// An order of the numbers below a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Permutation {
    length: u64,
    key: u64,
    /// Bits of one half.
    half: u32,
}

impl Permutation {
    /// The order of the numbers below `length` that belongs to this key.
    #[must_use]
    pub fn new(length: u64, key: u64) -> Self {
        let bits = 64 - length.saturating_sub(1).leading_zeros();
        Self { length, key, half: bits.div_ceil(2).max(1) }
    }

    /// The number at this place of the order.
    ///
    /// # Panics
    /// If there is no such place.
    #[must_use]
    pub fn at(&self, place: u64) -> u64 {
        assert!(place < self.length, "place {place} of {}", self.length);
        // Numbers beyond the bound are mixed again: the network is a permutation of a range that is
        // less than four times as large, and whoever leaves the bound comes back into it.
        let mut number = self.mix(place);
        while number >= self.length {
            number = self.mix(number);
        }
        number
    }

    fn mix(&self, number: u64) -> u64 {
        let mask = (1u64 << self.half) - 1;
        let (mut left, mut right) = (number >> self.half, number & mask);
        for round in 0..ROUNDS {
            (left, right) = (right, left ^ (hash(self.key, round << 32 ^ right) & mask));
        }
        left << self.half | right
    }
}

/// A number that looks random and follows from two others (the finisher of splitmix64, twice).
pub(crate) fn hash(key: u64, number: u64) -> u64 {
    finish(finish(key.wrapping_add(0x9E37_79B9_7F4A_7C15)) ^ number)
}

fn finish(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

/// A number below `end` that follows from what looks random.
pub(crate) fn below(random: u64, end: u64) -> u64 {
    ((u128::from(random) * u128::from(end)) >> 64) as u64
}

/// Some numbers of a range chosen by chance, one in each of equal parts, and those between them:
/// both can be asked for by their rank, and nothing is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Choice {
    length: u64,
    chosen: u64,
    key: u64,
}

impl Choice {
    /// Chooses so many of the numbers below `length`; not more than there are.
    pub(crate) fn new(length: u64, chosen: u64, key: u64) -> Self {
        Self { length, chosen: chosen.min(length), key }
    }

    /// How many were chosen.
    pub(crate) fn count(&self) -> u64 {
        self.chosen
    }

    /// The chosen number of this rank.
    pub(crate) fn chosen(&self, rank: u64) -> u64 {
        let (start, end) = (self.start(rank), self.start(rank + 1));
        start + below(hash(self.key, rank), end - start)
    }

    /// The number of this rank among those that were not chosen.
    pub(crate) fn left(&self, rank: u64) -> u64 {
        if self.chosen == 0 {
            return rank;
        }
        // The part in which it lies: the last with no more than `rank` numbers before it that were not chosen.
        let (mut low, mut high) = (0, self.chosen - 1);
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if self.start(middle) - middle <= rank { low = middle } else { high = middle - 1 }
        }
        let number = rank + low;
        if number >= self.chosen(low) { number + 1 } else { number }
    }

    /// Where a part begins.
    fn start(&self, part: u64) -> u64 {
        (u128::from(part) * u128::from(self.length) / u128::from(self.chosen.max(1))) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chosen_and_left_are_all_numbers_in_order() {
        for length in [1, 2, 3, 7, 64, 1000] {
            for chosen in [0, 1, 2, length / 10, length / 2, length * 9 / 10, length] {
                let choice = Choice::new(length, chosen, 42);
                let chosen = chosen.min(length);
                let some: Vec<u64> = (0..chosen).map(|rank| choice.chosen(rank)).collect();
                let others: Vec<u64> = (0..length - chosen).map(|rank| choice.left(rank)).collect();
                assert!(some.is_sorted() && others.is_sorted(), "{length} {chosen}");
                let mut all: Vec<u64> = some.into_iter().chain(others).collect();
                all.sort_unstable();
                assert_eq!(all, (0..length).collect::<Vec<_>>(), "{chosen} of {length}");
            }
        }
    }
}
