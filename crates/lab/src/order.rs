//! Random but reproducible orders of arms and rounds.

/// Random numbers: splitmix64 by Steele, Lea and Flood. Shuffling a few arms asks for no better ones.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        // The upper half of the product: as good as even for limits that are far below 2^64.
        ((u128::from(self.next()) * u128::from(limit)) >> 64) as u64
    }

    /// The numbers below `count`, in any order.
    pub(crate) fn shuffled(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for last in (1..count).rev() {
            order.swap(last, self.below(last as u64 + 1) as usize);
        }
        order
    }
}

/// Orders of a block's rounds that are tried.
const TRIES: usize = 48;

/// The order of arms in each round.
///
/// Rounds come from Williams designs with random names: in every block of as many rounds as there are arms each arm has each place once,
/// and within the rounds of a design each arm follows each other arm equally often. The rounds of a block are put into the order in which
/// that holds across rounds as well. So neither a drift nor what the process before left behind favours an arm. With three arms or more no
/// arm follows itself; with two that is as frequent for both.
#[derive(Debug)]
pub(crate) struct Schedule {
    arms: usize,
    /// Blocks that are still to come, the next one last, with the rounds that are left of each.
    blocks: Vec<Vec<Vec<usize>>>,
    /// The arm that worked last.
    last: Option<usize>,
    /// How often an arm (the second index) began a round behind another one (the first).
    followed: Vec<Vec<u64>>,
}

impl Schedule {
    pub(crate) fn new(arms: usize) -> Self {
        Self { arms, blocks: Vec::new(), last: None, followed: vec![vec![0; arms]; arms] }
    }

    /// The order of the rounds before those that count. The first round that counts follows it.
    pub(crate) fn warm_up(&mut self, random: &mut Random) -> Vec<usize> {
        let order = random.shuffled(self.arms);
        self.last = order.last().copied();
        order
    }

    /// The order of the next round.
    pub(crate) fn next(&mut self, random: &mut Random) -> Vec<usize> {
        self.blocks.retain(|block| !block.is_empty());
        if self.blocks.is_empty() {
            self.blocks = design(self.arms, random);
        }
        let Some(block) = self.blocks.last() else { return Vec::new() };
        let orders = (0..TRIES).map(|_| random.shuffled(block.len())).min_by_key(|order| self.cost(block, order));
        let next = orders.and_then(|order| order.first().copied()).unwrap_or(0);
        let round = self.blocks.last_mut().map(|block| block.swap_remove(next)).unwrap_or_default();
        if let (Some(last), Some(first)) = (self.last, round.first()) {
            self.followed[last][*first] += 1;
        }
        self.last = round.last().copied();
        round
    }

    /// How bad it would be to do the rounds of a block in this order: how often an arm would follow itself that need not, then how
    /// unevenly arms would follow each other.
    fn cost(&self, block: &[Vec<usize>], order: &[usize]) -> (usize, u64) {
        let (mut itself, mut uneven, mut last) = (0, 0, self.last);
        let mut added: Vec<(usize, usize)> = Vec::with_capacity(order.len());
        for round in order.iter().map(|place| &block[*place]) {
            if let Some(pair) = last.zip(round.first().copied()) {
                itself += usize::from(pair.0 == pair.1 && self.arms > 2);
                let before =
                    self.followed[pair.0][pair.1] + added.iter().filter(|other| **other == pair).count() as u64;
                uneven += 2 * before + 1;
                added.push(pair);
            }
            last = round.last().copied();
        }
        (itself, uneven)
    }
}

/// The rounds of a Williams design with random names, as blocks in which each arm has each place once: one block of an even number of
/// arms, two of an odd one.
fn design(arms: usize, random: &mut Random) -> Vec<Vec<Vec<usize>>> {
    let names = random.shuffled(arms);
    // 0, 1, n−1, 2, n−2, …: neighbours differ by every number once.
    let first =
        (0..arms).map(|place| if place % 2 == 1 { place.div_ceil(2) } else { (arms - place / 2) % arms.max(1) });
    let first: Vec<usize> = first.collect();
    let rounds = |first: &[usize]| -> Vec<Vec<usize>> {
        (0..arms).map(|turn| first.iter().map(|arm| names[(arm + turn) % arms]).collect()).collect()
    };
    let block = rounds(&first);
    if arms.is_multiple_of(2) {
        return vec![block];
    }
    // Backwards each arm follows those that it led before.
    let backwards: Vec<usize> = first.iter().rev().copied().collect();
    let mut blocks = vec![block, rounds(&backwards)];
    if random.next().is_multiple_of(2) {
        blocks.reverse();
    }
    blocks
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

    /// How often each arm (the second index) worked right behind another one (the first), with a launch every so many rounds.
    fn followers(arms: usize, rounds: usize, of_a_launch: usize, seed: u64) -> Vec<Vec<u32>> {
        let (mut random, mut schedule) = (Random::new(seed), Schedule::new(arms));
        let mut counts = vec![vec![0; arms]; arms];
        let mut last = 0;
        for round in 0..rounds {
            if round % of_a_launch == 0 {
                last = *schedule.warm_up(&mut random).last().expect("there are arms");
            }
            for arm in schedule.next(&mut random) {
                counts[last][arm] += 1;
                last = arm;
            }
        }
        counts
    }

    #[test]
    fn each_arm_follows_each_other_equally_often() {
        for (arms, rounds, of_a_launch) in [(3, 48, 6), (4, 48, 6), (5, 120, 12), (6, 60, 6), (3, 12, 3)] {
            for seed in 0..20 {
                let counts = followers(arms, rounds, of_a_launch, seed);
                let others = (0..arms).flat_map(|last| (0..arms).map(move |arm| (last, arm))).filter(|(a, b)| a != b);
                let others: Vec<u32> = others.map(|(last, arm)| counts[last][arm]).collect();
                let (least, most) = (others.iter().min().expect("pairs"), others.iter().max().expect("pairs"));
                assert!(most - least <= if arms == 3 { 2 } else { 4 }, "{arms} arms, seed {seed}: {counts:?}");
                let itself: u32 = (0..arms).map(|arm| counts[arm][arm]).sum();
                assert!(itself <= 3 && (arms == 5 || itself == 0), "{arms} arms, seed {seed}: {counts:?}");
            }
        }
    }

    #[test]
    fn of_two_arms_both_follow_themselves_as_often() {
        for seed in 0..20 {
            let counts = followers(2, 48, 6, seed);
            let apart = |one: u32, other: u32| one.abs_diff(other);
            assert!(apart(counts[0][0], counts[1][1]) <= 6 && apart(counts[0][1], counts[1][0]) <= 6, "{counts:?}");
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
