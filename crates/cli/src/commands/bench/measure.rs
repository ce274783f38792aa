//! The measurement of one model: every test with every number of threads, repeat by repeat.

use std::collections::BTreeMap;
use std::time::Instant;

use engine::{CacheType, Compute, Model, Segment, State, StateOptions};

use super::plan::Test;
use crate::commands::interrupt;

/// The most generated tokens of a warm-up.
const WARMUP_TOKENS: usize = 16;

/// A row of the table: a test with a number of threads, and the seconds of its repeats.
#[derive(Debug)]
pub(super) struct Measured {
    pub(super) test: Test,
    /// The place of its threads among those of the measurement.
    pub(super) compute: usize,
    pub(super) samples_s: Vec<f64>,
}

/// How often everything is measured.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rounds {
    pub(super) warmup: usize,
    pub(super) repeat: usize,
}

/// One model with a KV cache for each depth, which keeps the tokens before the tests from repeat to repeat.
pub(super) struct Measurement<'a> {
    model: &'a Model,
    computes: &'a [Compute],
    states: BTreeMap<usize, State>,
    /// As many as the longest test computes.
    tokens: Vec<u32>,
}

impl<'a> Measurement<'a> {
    /// Ready for these tests: all memory is there, and the caches are filled to their depths.
    pub(super) fn new(
        model: &'a Model,
        computes: &'a [Compute],
        tests: &[Test],
        cache: CacheType,
    ) -> engine::Result<Self> {
        let longest = tests.iter().map(|test| test.positions()).max().unwrap_or(0);
        let tokens = random_tokens(longest, model.config.vocab);
        // A state serves all numbers of threads up to that it was made for.
        let most = computes.iter().max_by_key(|compute| compute.pool.threads());
        let mut states = BTreeMap::new();
        for test in tests.iter().filter(|_| most.is_some()) {
            let needed = tests.iter().filter(|other| other.depth == test.depth).map(|other| other.positions()).max();
            if let (Some(most), false) = (most, states.contains_key(&test.depth)) {
                let options = StateOptions { context: needed, cache, ..StateOptions::default() };
                let mut state = State::new(model, most, &options)?;
                for tokens in tokens[..test.depth].chunks(state.block()).take_while(|_| !interrupt::is_requested()) {
                    model.forward(most, &mut state, &[Segment { sequence: 0, tokens, logits: 0 }])?;
                }
                states.insert(test.depth, state);
            }
        }
        Ok(Self { model, computes, states, tokens })
    }

    /// Round after round through all rows, forwards and backwards in turn, so that a machine that changes its speed changes it for
    /// all. `watch` is told before each measurement. Ends early where somebody interrupts.
    pub(super) fn run(
        &mut self,
        tests: &[Test],
        rounds: Rounds,
        watch: &mut dyn FnMut(Test, usize),
    ) -> engine::Result<Vec<Measured>> {
        let row = |compute| tests.iter().map(move |test| Measured { test: *test, compute, samples_s: Vec::new() });
        let mut rows: Vec<Measured> = (0..self.computes.len()).flat_map(row).collect();
        for round in 0..rounds.warmup + rounds.repeat {
            let is_warmup = round < rounds.warmup;
            let last = rows.len().saturating_sub(1);
            for place in 0..rows.len() {
                let row = &mut rows[if round % 2 == 0 { place } else { last - place }];
                watch(row.test, self.computes[row.compute].pool.threads());
                let shortened = Test { generated: row.test.generated.min(WARMUP_TOKENS), ..row.test };
                let test = if is_warmup { shortened } else { row.test };
                let Some(seconds) = self.seconds(test, row.compute)? else { return Ok(rows) };
                if !is_warmup {
                    row.samples_s.push(seconds);
                }
            }
        }
        Ok(rows)
    }

    /// The time of one test; nothing where somebody interrupted it.
    fn seconds(&mut self, test: Test, compute: usize) -> engine::Result<Option<f64>> {
        let compute = &self.computes[compute];
        let Some(state) = self.states.get_mut(&test.depth) else { return Ok(None) };
        state.truncate(0, test.depth);
        let (prompt, generated) = self.tokens[test.depth..test.positions()].split_at(test.prompt);
        let blocks = prompt.chunks(state.block());
        let last = blocks.len().saturating_sub(1);
        let prompt = blocks.enumerate().map(|(number, tokens)| (tokens, usize::from(number == last)));
        let generated = generated.chunks(1).map(|tokens| (tokens, 1));
        let start = Instant::now();
        for (tokens, logits) in prompt.chain(generated) {
            if interrupt::is_requested() {
                return Ok(None);
            }
            self.model.forward(compute, state, &[Segment { sequence: 0, tokens, logits }])?;
        }
        Ok(Some(start.elapsed().as_secs_f64()))
    }
}

/// Tokens at random, the same each time. What they are changes no speed.
fn random_tokens(count: usize, vocab: usize) -> Vec<u32> {
    let sizes = lab::sequences::Sizes { sequences: 1, prompt: count, tokens: 1 };
    lab::sequences::prompts(0, vocab, sizes).into_iter().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use engine::{LoadOptions, Synthetic, SyntheticSource};

    use super::*;

    fn model(compute: &Compute) -> Model {
        let sizes = Synthetic::parse("d=32,layers=1,heads=2,vocab=64,ctx=64").expect("they are sizes");
        Model::load(&SyntheticSource::new(sizes), compute, &mut LoadOptions::default()).expect("it is a model")
    }

    #[test]
    fn every_row_has_its_repeats() {
        let computes = [1, 2].map(|threads| Compute::new(Some(threads)).expect("there are kernels"));
        let model = model(&computes[0]);
        let test = |prompt, generated, depth| Test { prompt, generated, depth };
        let tests = [test(8, 0, 0), test(0, 4, 0), test(3, 2, 0), test(8, 0, 56), test(0, 4, 30)];
        let mut measurement = Measurement::new(&model, &computes, &tests, CacheType::default()).expect("it fits");
        let mut order = Vec::new();
        let rounds = Rounds { warmup: 1, repeat: 2 };
        let rows = measurement.run(&tests, rounds, &mut |test, threads| order.push((test, threads))).expect("they fit");
        assert_eq!(rows.len(), 10);
        assert!(rows.iter().all(|row| row.samples_s.len() == 2 && row.samples_s.iter().all(|seconds| *seconds > 0.0)));
        let asked: Vec<(Test, usize)> = rows.iter().map(|row| (row.test, row.compute + 1)).collect();
        let back: Vec<(Test, usize)> = asked.iter().rev().copied().collect();
        assert_eq!(order, [asked.clone(), back, asked].concat(), "forwards and backwards in turn");
        assert_eq!(measurement.states.keys().copied().collect::<Vec<_>>(), [0, 30, 56]);
    }

    /// The tokens before a test are in the cache: a test at a depth leaves behind as many positions as it says.
    #[test]
    fn a_depth_is_in_the_cache() {
        let computes = [Compute::new(Some(1)).expect("there are kernels")];
        let model = model(&computes[0]);
        let tests = [Test { prompt: 5, generated: 2, depth: 20 }];
        let mut measurement = Measurement::new(&model, &computes, &tests, CacheType::F32).expect("it fits");
        assert_eq!(measurement.states[&20].len(0), 20);
        for _ in 0..2 {
            assert!(measurement.seconds(tests[0], 0).expect("it fits").is_some());
            assert_eq!(measurement.states[&20].len(0), 27);
        }
        let state = measurement.states.get_mut(&20).expect("it is there");
        let after: Vec<f32> = state.logits(0).to_vec();
        let options = StateOptions { context: Some(27), cache: CacheType::F32, ..StateOptions::default() };
        let mut whole = State::new(&model, &computes[0], &options).expect("it fits");
        model.prefill(&computes[0], &mut whole, 0, &measurement.tokens[..27]).expect("it fits");
        let difference = after.iter().zip(whole.logits(0).iter()).map(|(one, other)| (one - other).abs());
        assert!(difference.fold(0.0, f32::max) < 1e-4, "the same as all tokens at once");
    }
}
