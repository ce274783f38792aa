//! Joining the symbols of a word, the best pair first, until no two neighbours make a token.
//!
//! Both kinds of tokenizers do the same here; they differ in what makes a pair good ([`Pairs`]). Of
//! equally good pairs the leftmost is joined first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::vocabulary::NONE;

/// Words up to this many symbols are searched from end to end for their best pair; longer ones keep
/// their pairs in a queue, so that a word of a megabyte takes n·log n. With a queue for nearly all
/// words English text took a quarter longer; between 16 and 200 no difference could be seen.
const SHORT: usize = 32;

/// A piece of a word: its token, if it is one, and where it begins. It ends where the next begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Symbol {
    pub(super) start: u32,
    pub(super) id: u32,
}

/// Two neighbours, for [`Pairs::join`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Pair<'w> {
    pub(super) left: u32,
    pub(super) right: u32,
    /// What both are together.
    pub(super) text: &'w [u8],
}

/// What two neighbours become, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Joined {
    /// Smaller ones come first; less than `u32::MAX`.
    pub(super) rank: u32,
    pub(super) id: u32,
}

/// Which pairs may be joined.
pub(super) trait Pairs {
    /// What these neighbours become, if they may be joined.
    fn join(&self, pair: Pair<'_>) -> Option<Joined>;
}

/// No pair.
const APART: Joined = Joined { rank: u32::MAX, id: NONE };

/// The memory that joining needs, kept from word to word.
#[derive(Debug, Default)]
pub(super) struct Merger {
    /// What each symbol and its right neighbour become.
    joined: Vec<Joined>,
    links: Vec<Link>,
    queue: BinaryHeap<Reverse<Waiting>>,
}

/// Neighbours of a symbol in a long word.
#[derive(Debug, Clone, Copy)]
struct Link {
    previous: u32,
    next: u32,
    /// The symbol's length; zero once it is part of its left neighbour.
    length: u32,
}

/// A pair in the queue. The order of the fields is the order in which pairs are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Waiting {
    rank: u32,
    left: u32,
    id: u32,
    /// Of both together. Symbols only grow, so a pair whose lengths still add up to this is still the same pair.
    length: u32,
}

impl Merger {
    /// Joins the symbols of `word` until nothing can be joined.
    pub(super) fn merge(&mut self, pairs: &impl Pairs, word: &[u8], symbols: &mut Vec<Symbol>) {
        if symbols.len() <= SHORT {
            self.merge_short(pairs, word, symbols);
        } else {
            self.merge_long(pairs, word, symbols);
        }
    }

    fn merge_short(&mut self, pairs: &impl Pairs, word: &[u8], symbols: &mut Vec<Symbol>) {
        self.joined.clear();
        self.joined.extend((0..symbols.len()).map(|at| join_at(pairs, word, symbols, at)));
        loop {
            let mut best = (u32::MAX, 0);
            for (at, joined) in self.joined.iter().enumerate() {
                if joined.rank < best.0 {
                    best = (joined.rank, at);
                }
            }
            let (rank, at) = best;
            if rank == u32::MAX {
                return;
            }
            symbols[at].id = self.joined[at].id;
            symbols.remove(at + 1);
            self.joined.remove(at + 1);
            self.joined[at] = join_at(pairs, word, symbols, at);
            if at > 0 {
                self.joined[at - 1] = join_at(pairs, word, symbols, at - 1);
            }
        }
    }

    fn merge_long(&mut self, pairs: &impl Pairs, word: &[u8], symbols: &mut Vec<Symbol>) {
        self.link(word, symbols);
        self.queue.clear();
        for left in 0..symbols.len() {
            self.wait(pairs, word, symbols, left as u32);
        }
        while let Some(Reverse(best)) = self.queue.pop() {
            let left = self.links[best.left as usize];
            let Some(&right) = self.links.get(left.next as usize) else { continue };
            if left.length == 0 || left.length + right.length != best.length {
                continue;
            }
            symbols[best.left as usize].id = best.id;
            self.links[left.next as usize].length = 0;
            self.links[best.left as usize] = Link { length: best.length, next: right.next, ..left };
            if let Some(after) = self.links.get_mut(right.next as usize) {
                after.previous = best.left;
            }
            self.wait(pairs, word, symbols, best.left);
            if left.previous != NONE {
                self.wait(pairs, word, symbols, left.previous);
            }
        }
        let mut links = self.links.iter();
        symbols.retain(|_| links.next().is_some_and(|link| link.length > 0));
    }

    fn link(&mut self, word: &[u8], symbols: &[Symbol]) {
        let count = symbols.len() as u32;
        self.links.clear();
        self.links.extend((0..count).map(|at| Link {
            previous: at.checked_sub(1).unwrap_or(NONE),
            next: if at + 1 < count { at + 1 } else { NONE },
            length: end_of(word, symbols, at as usize) - symbols[at as usize].start,
        }));
    }

    /// Puts the pair of a symbol and its right neighbour into the queue, if it may be joined.
    fn wait(&mut self, pairs: &impl Pairs, word: &[u8], symbols: &[Symbol], at: u32) {
        let link = self.links[at as usize];
        let Some(next) = self.links.get(link.next as usize) else { return };
        let (left, right) = (symbols[at as usize], symbols[link.next as usize]);
        let length = link.length + next.length;
        let text = &word[left.start as usize..(left.start + length) as usize];
        if let Some(joined) = pairs.join(Pair { left: left.id, right: right.id, text }) {
            self.queue.push(Reverse(Waiting { rank: joined.rank, left: at, id: joined.id, length }));
        }
    }
}

fn end_of(word: &[u8], symbols: &[Symbol], at: usize) -> u32 {
    symbols.get(at + 1).map_or(word.len() as u32, |next| next.start)
}

fn join_at(pairs: &impl Pairs, word: &[u8], symbols: &[Symbol], at: usize) -> Joined {
    let Some(&[left, right]) = symbols.get(at..at + 2) else { return APART };
    let text = &word[left.start as usize..end_of(word, symbols, at + 1) as usize];
    pairs.join(Pair { left: left.id, right: right.id, text }).unwrap_or(APART)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Joins two symbols if their text hashes to something small: about as many pairs as real vocabularies have.
    struct Odd(u32);

    impl Pairs for Odd {
        fn join(&self, pair: Pair<'_>) -> Option<Joined> {
            let hash = pair.text.iter().fold(self.0, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193));
            (hash % 3 != 0).then_some(Joined { rank: hash % 16, id: hash & 0xFFFF })
        }
    }

    #[test]
    fn short_and_long_words_are_joined_alike() {
        let mut merger = Merger::default();
        for round in 0..400u32 {
            let word: Vec<u8> =
                (0..round % 80).map(|at| b"abc"[(round.wrapping_mul(at + 7) >> 3) as usize % 3]).collect();
            let symbols: Vec<Symbol> =
                word.iter().zip(0..).map(|(byte, start)| Symbol { start, id: u32::from(*byte) }).collect();
            let (mut short, mut long) = (symbols.clone(), symbols);
            merger.merge_short(&Odd(round), &word, &mut short);
            merger.merge_long(&Odd(round), &word, &mut long);
            assert_eq!(short, long, "round {round}");
        }
    }
}
