//! Who comes when: random, and the same for the same seed.

/// Random numbers: splitmix64 by Steele, Lea and Flood. Shuffling a few arms asks for no better ones.
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    /// The numbers below `count`, in any order.
    pub(super) fn shuffled(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for last in (1..count).rev() {
            // The upper half of the product: below `last + 1`, and as good as even for so few.
            let chosen = ((u128::from(self.next()) * (last as u128 + 1)) >> 64) as usize;
            order.swap(last, chosen);
        }
        order
    }
}

/// The orders of rounds: in every block of as many rounds as there are arms, each arm has each place once.
#[derive(Debug)]
pub(super) struct Schedule {
    arms: usize,
    /// The order of the arms in this block, and by how much it is turned in each round that is left.
    block: (Vec<usize>, Vec<usize>),
}

impl Schedule {
    pub(super) fn new(arms: usize) -> Self {
        Self { arms, block: (Vec::new(), Vec::new()) }
    }

    /// The order of the next round.
    pub(super) fn next(&mut self, random: &mut Random) -> Vec<usize> {
        if self.block.1.is_empty() {
            self.block = (random.shuffled(self.arms), random.shuffled(self.arms));
        }
        let (arms, turns) = &mut self.block;
        let turn = turns.pop().unwrap_or(0);
        (0..self.arms).map(|place| arms[(place + turn) % self.arms]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn in_a_block_each_arm_has_each_place_once() {
        for arms in 1..6 {
            let (mut random, mut schedule) = (Random::new(arms as u64), Schedule::new(arms));
            for _ in 0..20 {
                let block: Vec<_> = (0..arms).map(|_| schedule.next(&mut random)).collect();
                for place in 0..arms {
                    let there: BTreeSet<usize> = block.iter().map(|round| round[place]).collect();
                    assert_eq!(there.len(), arms, "{block:?}");
                }
            }
        }
    }

    #[test]
    fn blocks_differ_and_seeds_decide() {
        let orders = |seed| {
            let (mut random, mut schedule) = (Random::new(seed), Schedule::new(3));
            (0..60).map(|_| schedule.next(&mut random)).collect::<Vec<_>>()
        };
        assert_eq!(orders(1), orders(1));
        assert_ne!(orders(1), orders(2));
        let all: BTreeSet<_> = orders(1).into_iter().collect();
        assert_eq!(all.len(), 6, "every order of three comes in sixty rounds");
    }

    #[test]
    fn every_order_comes_about_as_often() {
        let mut random = Random::new(7);
        let mut firsts = [0; 4];
        (0..4_000).for_each(|_| firsts[random.shuffled(4)[0]] += 1);
        assert!(firsts.iter().all(|count| (850..1_150).contains(count)), "{firsts:?}");
    }
}
