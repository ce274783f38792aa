//! Runs a model over some tokens, and says how far two results are from each other.

use std::fmt;

use engine::{CacheType, Compute, LoadOptions, Model, Segment, State, StateOptions, TensorSource};

/// A model of a source that is whole.
pub fn load(source: &dyn TensorSource, compute: &Compute) -> Model {
    Model::load(source, compute, &mut LoadOptions::default()).unwrap()
}

/// A state whose cache loses nothing, with room for the logits of `block` tokens in a pass.
pub fn exact(block: usize) -> StateOptions {
    StateOptions { block, logits: block, cache: CacheType::F32, ..StateOptions::default() }
}

/// The logits of every position, computed in blocks of what the options say.
pub fn score(model: &Model, compute: &Compute, options: &StateOptions, tokens: &[u32]) -> Vec<Vec<f32>> {
    let mut state = State::new(model, compute, options).unwrap();
    go_on(model, compute, &mut state, tokens)
}

/// The same, behind what the first sequence of a state has.
pub fn go_on(model: &Model, compute: &Compute, state: &mut State, tokens: &[u32]) -> Vec<Vec<f32>> {
    let mut all = Vec::new();
    for tokens in tokens.chunks(state.block()) {
        model.forward(compute, state, &[Segment { sequence: 0, tokens, logits: tokens.len() }]).unwrap();
        all.extend((0..tokens.len()).map(|index| state.logits(index).to_vec()));
    }
    all
}

/// How far two results are from each other, or may be.
#[derive(Debug, Clone, Copy)]
pub struct Distance {
    /// The largest distance of two logits, as a share of the largest logit of its position.
    pub largest: f64,
    /// The root mean square of all distances over that of all logits.
    pub rms: f64,
}

impl Distance {
    pub fn within(self, bound: Distance) -> bool {
        self.largest <= bound.largest && self.rms <= bound.rms
    }
}

impl fmt::Display for Distance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at most {:.1e}, typically {:.1e}", self.largest, self.rms)
    }
}

/// How far `got` is from what was wanted, position by position.
pub fn distance<A: Copy + Into<f64>, B: Copy + Into<f64>>(got: &[Vec<A>], wanted: &[Vec<B>]) -> Distance {
    assert_eq!(got.len(), wanted.len());
    let (mut largest, mut squares, mut all) = (0.0f64, 0.0, 0.0);
    for (got, wanted) in got.iter().zip(wanted) {
        assert_eq!(got.len(), wanted.len());
        let size = wanted.iter().map(|logit| (*logit).into().abs()).fold(0.0, f64::max);
        for (got, wanted) in got.iter().zip(wanted) {
            let away = ((*got).into() - (*wanted).into()).abs();
            // What is not a number is infinitely far away; `max` would overlook it.
            largest = largest.max(if away.is_nan() { f64::INFINITY } else { away / size });
            squares += away * away;
            all += (*wanted).into().powi(2);
        }
    }
    Distance { largest, rms: (squares / all).sqrt() }
}

/// The best token.
pub fn best(logits: &[f32]) -> u32 {
    let best = logits.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).unwrap();
    u32::try_from(best.0).unwrap()
}

/// All bits of all logits.
pub fn bits(logits: &[Vec<f32>]) -> Vec<u32> {
    logits.iter().flatten().map(|logit| logit.to_bits()).collect()
}
