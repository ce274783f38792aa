//! A pass over the weights: tokens in, logits out.

use super::{Model, State};
use crate::layers::{self, AttentionSpan, Layer, Pass};
use crate::{Compute, Error, FileInUse, Result, steps};

/// Some tokens that follow what a sequence has in the cache.
#[derive(Debug, Clone, Copy)]
pub struct Segment<'a> {
    /// Which sequence.
    pub sequence: usize,
    /// At least one token.
    pub tokens: &'a [u32],
    /// For how many of the last tokens logits are wanted: 1 to choose the next one, 0 within a
    /// prompt, all to score a text.
    pub logits: usize,
}

impl Model {
    /// Computes the tokens of all segments in one pass over the weights and adds them to the cache.
    /// The logits are in the state then, segment after segment.
    ///
    /// Where it refuses, nothing has changed; but where a file that the model reads was truncated, the
    /// state holds what was computed from it, and is of no use.
    pub fn forward(&self, compute: &Compute, state: &mut State, segments: &[Segment<'_>]) -> Result<()> {
        state.check(&self.config, compute)?;
        let rows = self.check(state, segments)?;
        hotloop::scope!(steps::FORWARD, tokens = rows);
        let logits = segments.iter().map(|segment| segment.logits).sum();
        let (mut buffers, cache, rope, lengths) = state.parts(rows);
        let pass =
            Pass { model: self, compute, segments, lengths, rope, rows, span: AttentionSpan::default() }.with_span();
        layers::embedding::forward(&pass, &mut buffers);
        for (index, weights) in self.weights.layers.iter().enumerate() {
            hotloop::scope!(steps::LAYER, index = index);
            layers::attention::forward(&pass, Layer { index, weights }, &mut buffers, cache);
            layers::feed_forward::forward(&pass, weights, &mut buffers);
        }
        layers::head::forward(&pass, &mut buffers);
        for segment in segments {
            state.lengths[segment.sequence] += segment.tokens.len();
        }
        state.logits = logits;
        self.files.iter().try_for_each(FileInUse::check)
    }

    /// How many rows the pass has, if it can be.
    fn check(&self, state: &State, segments: &[Segment<'_>]) -> Result<usize> {
        let (mut rows, mut logits) = (0, 0);
        for (number, segment) in segments.iter().enumerate() {
            self.check_segment(state, segment)?;
            let sequence = segment.sequence;
            if segments[..number].iter().any(|other| other.sequence == sequence) {
                return Err(Error::refused(format!("sequence {sequence} occurs twice in one pass")));
            }
            rows += segment.tokens.len();
            logits += segment.logits;
        }
        if rows > state.block() || logits > state.most_logits() {
            let (block, most) = (state.block(), state.most_logits());
            return Err(Error::refused(format!(
                "{rows} tokens with {logits} logits exceed the pass's {block} with {most}"
            )));
        }
        Ok(rows)
    }

    /// Whether a sequence can go on so.
    fn check_segment(&self, state: &State, segment: &Segment<'_>) -> Result<()> {
        let Segment { sequence, tokens, logits } = *segment;
        if sequence >= state.sequences() {
            return Err(Error::refused(format!(
                "no sequence {sequence}: there are {}, counted from 0",
                state.sequences()
            )));
        }
        if tokens.is_empty() || logits > tokens.len() {
            return Err(Error::refused(format!("{} tokens, but {logits} logits", tokens.len())));
        }
        if let Some(token) = tokens.iter().find(|token| **token as usize >= self.config.vocab) {
            return Err(Error::refused(format!("token {token} of a vocabulary of {}", self.config.vocab)));
        }
        let (len, context, more) = (state.len(sequence), state.context(), tokens.len());
        if more > context - len {
            return Err(Error::refused(format!("the context is full: {more} more tokens after {len} of {context}")));
        }
        Ok(())
    }

    /// Computes all tokens of a long text, block by block; the logits of the last token are in the state then.
    ///
    /// Where it refuses, nothing has changed.
    pub fn prefill(&self, compute: &Compute, state: &mut State, sequence: usize, tokens: &[u32]) -> Result<()> {
        self.check_segment(state, &Segment { sequence, tokens, logits: 1 })?;
        let blocks = tokens.chunks(state.block());
        let last = blocks.len().saturating_sub(1);
        for (number, tokens) in blocks.enumerate() {
            let logits = usize::from(number == last);
            self.forward(compute, state, &[Segment { sequence, tokens, logits }])?;
        }
        Ok(())
    }
}
