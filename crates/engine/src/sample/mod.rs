//! Choosing the next token from its logits.
//!
//! In this order: the repetition penalty; the `top_k` largest logits; weights e^((x − largest) · 1
//! / temperature); of these the fewest that have `top_p` of the weight; those with at least `min_p`
//! times the largest weight; one of them by chance, each as likely as its weight, counted through
//! in the order of their ids.
//!
//! The same seed gives the same tokens from the same logits on every machine: all arithmetic is
//! addition, multiplication and division of IEEE numbers in a fixed order.

mod choose;
mod random;
mod stop;
mod weights;

pub use stop::{StopSequences, VisibleText};

use choose::{Candidate, PARTS, first_with_mass, heaviest, largest_logits, room, to_weights};
use random::Random;
use weights::{BLOCK, above, largest, weigh};

use crate::{Error, Result};

/// The longest window of the repetition penalty: as long as any context.
const MAX_WINDOW: usize = 1 << 20;

/// Weights from which on tokens are looked at for `top_p`, until they have enough of the
/// probability. The last is every weight there is.
const FLOORS: [f32; 4] = [0.02, 4e-4, 8e-6, 0.0];

/// How the next token is chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct Sampling {
    /// How much chance there is: at 1 tokens are as likely as the model says, at 0 the likeliest is always taken.
    pub temperature: f32,
    /// So many of the largest logits may be chosen; 0 for all.
    pub top_k: usize,
    /// The likeliest tokens that have this much of the probability together may be chosen; 1 for all.
    pub top_p: f32,
    /// Tokens that are less likely than this times the likeliest may not be chosen; 0 for all.
    pub min_p: f32,
    /// Logits of the last tokens are divided by this if they are positive, else multiplied; 1 for none.
    pub repetition_penalty: f32,
    /// How many of the last tokens the penalty is for.
    pub repetition_window: usize,
    /// Where chance begins.
    pub seed: u64,
}

impl Default for Sampling {
    /// Lively and seldom absurd: temperature 0.8, the 40 largest logits, 0.95 of the probability,
    /// no less than a twentieth of the likeliest, no penalty.
    fn default() -> Self {
        Self {
            temperature: 0.8,
            top_k: 40,
            top_p: 0.95,
            min_p: 0.05,
            repetition_penalty: 1.0,
            repetition_window: 64,
            seed: 0,
        }
    }
}

impl Sampling {
    /// Always the likeliest token, the first of several; no penalty.
    pub fn greedy() -> Self {
        Self { temperature: 0.0, top_k: 0, top_p: 1.0, min_p: 0.0, ..Self::default() }
    }

    /// Whether every setting is in its range; if not, which one is not.
    pub fn check(&self) -> Result<()> {
        let Self { temperature, top_p, min_p, repetition_penalty, repetition_window, .. } = *self;
        let refused = |name: &str, value: f32, range: &str| Err(Error::refused(format!("{name} is {value}; {range}")));
        if !(temperature.is_finite() && temperature >= 0.0) {
            return refused("temperature", temperature, "expected 0 or more");
        }
        if !(top_p > 0.0 && top_p <= 1.0) {
            return refused("top_p", top_p, "expected more than 0 and at most 1");
        }
        if !(0.0..=1.0).contains(&min_p) {
            return refused("min_p", min_p, "expected 0 to 1");
        }
        if !(repetition_penalty.is_finite() && repetition_penalty > 0.0) {
            return refused("repetition_penalty", repetition_penalty, "expected more than 0");
        }
        if repetition_window > MAX_WINDOW {
            return Err(Error::refused(format!("repetition_window is {repetition_window}; the limit is {MAX_WINDOW}")));
        }
        Ok(())
    }
}

/// Chooses tokens, one after the other. All its memory is allocated at the beginning.
#[derive(Debug, Clone)]
pub struct Sampler {
    sampling: Sampling,
    random: Random,
    recent: Recent,
    candidates: Vec<Candidate>,
    /// Those at the cut of `top_p`.
    edge: Vec<Candidate>,
    histogram: Vec<f64>,
    weights: Vec<f32>,
    /// Of the weights, by blocks.
    sums: Vec<f32>,
}

impl Sampler {
    /// A sampler for that many logits. Settings out of range are taken for the nearest in it;
    /// [`Sampling::check`] tells.
    pub fn new(sampling: &Sampling, vocab: usize) -> Self {
        let sampling = in_range(sampling, vocab);
        let sparse = sampling.top_k > 0;
        let cut = !sparse && (sampling.top_p < 1.0 || sampling.min_p > 0.0);
        let dense = if sparse || sampling.temperature == 0.0 { 0 } else { vocab };
        let candidates = if sparse { room(sampling.top_k) } else { vocab * usize::from(cut) };
        Self {
            random: Random::new(sampling.seed),
            recent: Recent::new(&sampling, vocab),
            candidates: Vec::with_capacity(candidates),
            edge: Vec::with_capacity(vocab * usize::from(cut)),
            histogram: vec![0.0; PARTS * usize::from(cut)],
            weights: vec![0.0; dense],
            sums: vec![0.0; dense.div_ceil(BLOCK)],
            sampling,
        }
    }

    /// Begins again: chance from its seed, and no token was seen.
    pub fn restart(&mut self) {
        self.random = Random::new(self.sampling.seed);
        self.recent.restart();
    }

    /// The next token. The penalty changes the logits.
    ///
    /// Where logits are +∞, it is the first of these. NaN is not chosen, and −∞ neither, unless
    /// there is nothing else: then it is the first −∞, and token 0 where all are NaN.
    ///
    /// # Panics
    ///
    /// If no logits, or not as many as the sampler was made for.
    pub fn sample(&mut self, logits: &mut [f32]) -> u32 {
        assert!(!logits.is_empty(), "no logits");
        assert_eq!(logits.len(), self.recent.vocab, "the sampler was made for another number of logits");
        self.recent.penalise(logits, self.sampling.repetition_penalty);
        let largest = largest(logits);
        if self.sampling.temperature == 0.0 || largest.is_infinite() {
            return logits.iter().position(|logit| *logit == largest).unwrap_or(0) as u32;
        }
        if self.sampling.top_k > 0 {
            return self.sample_some(logits, largest);
        }
        weigh(logits, largest, self.sharpness(), &mut self.weights, &mut self.sums);
        if self.sampling.top_p < 1.0 || self.sampling.min_p > 0.0 { self.sample_heaviest() } else { self.sample_any() }
    }

    /// Says which token was taken, for the penalty.
    pub fn accept(&mut self, id: u32) {
        self.recent.push(id);
    }

    /// One of the largest logits.
    fn sample_some(&mut self, logits: &[f32], largest: f32) -> u32 {
        let Sampling { top_k, top_p, min_p, .. } = self.sampling;
        let sharpness = self.sharpness();
        largest_logits(logits, top_k, f32::NEG_INFINITY, &mut self.candidates);
        to_weights(&mut self.candidates, largest, sharpness);
        if top_p < 1.0 {
            let mass = mass(&self.candidates);
            first_with_mass(&mut self.candidates, mass * f64::from(top_p));
        }
        self.candidates.retain(|candidate| candidate.value >= min_p);
        self.candidates.sort_unstable_by_key(|candidate| candidate.id);
        self.draw_candidate()
    }

    /// One of all whose weights are large enough.
    fn sample_heaviest(&mut self) -> u32 {
        let Sampling { top_p, min_p, .. } = self.sampling;
        let total: f64 = self.sums.iter().map(|sum| f64::from(*sum)).sum();
        if top_p < 1.0 {
            let wanted = total * f64::from(top_p);
            // The largest weight is 1, and a few tokens often have most of it: less and less is
            // looked at until enough is found.
            for floor in FLOORS {
                self.gather(floor.max(min_p));
                if mass(&self.candidates) >= wanted || floor <= min_p {
                    break;
                }
            }
            heaviest(&mut self.candidates, wanted, &mut self.histogram, &mut self.edge);
        } else {
            self.gather(min_p);
        }
        self.draw_candidate()
    }

    /// Takes all weights from `floor` on for candidates.
    fn gather(&mut self, floor: f32) {
        self.candidates.clear();
        let below = floor.next_down();
        above(
            &self.weights,
            &mut self.candidates,
            |_| below,
            |candidates, id, value| {
                candidates.push(Candidate { value, id });
            },
        );
    }

    /// What differences of logits are multiplied with: finite, so that no difference stays none.
    fn sharpness(&self) -> f32 {
        (1.0 / self.sampling.temperature).min(f32::MAX)
    }

    /// One of all.
    fn sample_any(&mut self) -> u32 {
        let total: f64 = self.sums.iter().map(|sum| f64::from(*sum)).sum();
        let mut left = self.random.unit() * total;
        let mut block = 0;
        for (at, sum) in self.sums.iter().enumerate().filter(|(_, sum)| **sum > 0.0) {
            block = at;
            if left < f64::from(*sum) {
                break;
            }
            left -= f64::from(*sum);
        }
        let start = block * BLOCK;
        let weights = self.weights[start..].iter().take(BLOCK).copied();
        draw(weights.zip(start as u32..), left)
    }

    fn draw_candidate(&mut self) -> u32 {
        let left = self.random.unit() * mass(&self.candidates);
        draw(self.candidates.iter().map(|candidate| (candidate.value, candidate.id)), left)
    }
}

/// The one at which `left` is used up; rounding may leave a little, and then it is the last that weighs anything.
fn draw(weights: impl Iterator<Item = (f32, u32)>, mut left: f64) -> u32 {
    let mut last = 0;
    for (weight, id) in weights.filter(|(weight, _)| *weight > 0.0) {
        last = id;
        left -= f64::from(weight);
        if left < 0.0 {
            break;
        }
    }
    last
}

fn mass(candidates: &[Candidate]) -> f64 {
    candidates.iter().map(|candidate| f64::from(candidate.value)).sum()
}

/// The nearest settings that make sense. NaN means that nothing was said.
fn in_range(sampling: &Sampling, vocab: usize) -> Sampling {
    let or = |value: f32, otherwise: f32| if value.is_nan() { otherwise } else { value };
    Sampling {
        temperature: or(sampling.temperature, 1.0).clamp(0.0, f32::MAX),
        top_k: if sampling.top_k >= vocab { 0 } else { sampling.top_k },
        top_p: or(sampling.top_p, 1.0).clamp(f32::MIN_POSITIVE, 1.0),
        min_p: or(sampling.min_p, 0.0).clamp(0.0, 1.0),
        repetition_penalty: or(sampling.repetition_penalty, 1.0).clamp(f32::MIN_POSITIVE, f32::MAX),
        repetition_window: sampling.repetition_window.min(MAX_WINDOW),
        seed: sampling.seed,
    }
}

/// The last tokens, in a ring.
#[derive(Debug, Clone)]
struct Recent {
    vocab: usize,
    ring: Vec<u32>,
    window: usize,
    next: usize,
    /// In which round each token's logit was last changed, so that it is changed once.
    changed: Vec<u32>,
    round: u32,
}

impl Recent {
    fn new(sampling: &Sampling, vocab: usize) -> Self {
        let used = sampling.repetition_penalty != 1.0;
        let window = sampling.repetition_window * usize::from(used);
        let changed = vec![0; if window > 0 { vocab } else { 0 }];
        Self { vocab, ring: Vec::with_capacity(window), window, next: 0, changed, round: 0 }
    }

    fn restart(&mut self) {
        self.ring.clear();
        self.next = 0;
    }

    fn push(&mut self, id: u32) {
        if self.window == 0 || id as usize >= self.vocab {
            return;
        }
        if self.ring.len() < self.window {
            self.ring.push(id);
        } else {
            self.ring[self.next] = id;
        }
        self.next = (self.next + 1) % self.window;
    }

    fn penalise(&mut self, logits: &mut [f32], penalty: f32) {
        self.round = self.round.wrapping_add(1);
        for id in &self.ring {
            let id = *id as usize;
            if std::mem::replace(&mut self.changed[id], self.round) != self.round {
                let logit = &mut logits[id];
                *logit = if *logit > 0.0 { *logit / penalty } else { *logit * penalty };
            }
        }
    }
}
