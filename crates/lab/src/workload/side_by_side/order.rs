//! Who works when: at random, the same for the same seed, and balanced.

use crate::workload::tokens::at_random;

/// Orders of rounds. In every block of as many rounds as there are arms each arm has each place once; every second block is the one
/// before it backwards, so that no arm always follows the same one.
pub(super) struct Order {
    seed: u64,
    arms: usize,
    /// The last block.
    block: Vec<Vec<usize>>,
    /// Rounds of it that are left.
    left: usize,
    is_backwards: bool,
}

impl Order {
    pub(super) fn new(seed: u64, arms: usize) -> Self {
        Order { seed, arms, block: Vec::new(), left: 0, is_backwards: true }
    }

    /// The order of the next round.
    pub(super) fn next(&mut self) -> Vec<usize> {
        if self.left == 0 {
            self.is_backwards = !self.is_backwards;
            if self.is_backwards {
                self.block.iter_mut().for_each(|round| round.reverse());
            } else {
                let (arms, turns) = (self.shuffled(), self.shuffled());
                let round = |turn: &usize| (0..self.arms).map(|place| arms[(place + turn) % self.arms]).collect();
                self.block = turns.iter().map(round).collect();
            }
            self.left = self.block.len();
        }
        self.left -= 1;
        self.block[self.left].clone()
    }

    /// All arms, each order as likely as any other.
    pub(super) fn shuffled(&mut self) -> Vec<usize> {
        self.seed = self.seed.wrapping_add(1);
        let mut order: Vec<usize> = (0..self.arms).collect();
        let chances = at_random(self.seed, 1 << 32, self.arms);
        for (last, chance) in chances.into_iter().enumerate().skip(1) {
            order.swap(last, chance as usize % (last + 1));
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    #[test]
    fn all_orders_come_about_equally_often() {
        let mut order = Order::new(7, 3);
        let mut counts = BTreeMap::<Vec<usize>, u32>::new();
        for _ in 0..6_000 {
            *counts.entry(order.next()).or_default() += 1;
        }
        assert_eq!(counts.len(), 6);
        assert!(counts.values().all(|count| (850..1_150).contains(count)), "{counts:?}");
    }

    #[test]
    fn places_and_predecessors_are_balanced() {
        for arms in 1..6 {
            let mut order = Order::new(arms as u64, arms);
            let mut followers = BTreeMap::<[usize; 2], u32>::new();
            for _ in 0..40 {
                let block: Vec<_> = (0..arms).map(|_| order.next()).collect();
                for place in 0..arms {
                    let there: BTreeSet<usize> = block.iter().map(|round| round[place]).collect();
                    assert_eq!(there.len(), arms, "{block:?}");
                }
                for pair in block.iter().flat_map(|round| round.windows(2)) {
                    *followers.entry([pair[0], pair[1]]).or_default() += 1;
                }
            }
            assert!(followers.iter().all(|([a, b], count)| followers[&[*b, *a]] == *count), "{followers:?}");
        }
    }
}
