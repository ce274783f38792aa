//! What a text costs a model: the negative log likelihood of each of its tokens, and the perplexity that follows.
//!
//! A text that is longer than the context is read in windows that overlap by half. Every token but
//! the first is scored once, in the first window that has it: behind at least half a window of
//! text, unless it is in the first one.

use crate::{CacheType, Compute, Error, Model, Result, Segment, State, StateOptions};

/// Longer windows cost memory and say little more.
const LONGEST_WINDOW: usize = 2_048;

/// How a text is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reading {
    /// The most positions that a token is scored behind; without a number the model's context, but no more than 2,048.
    pub window: Option<usize>,
    /// How the cache keeps its numbers.
    pub cache: CacheType,
}

/// What a text cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Nll {
    /// The mean over the tokens that were scored, in nats.
    pub mean: f64,
    /// How many tokens were scored: all but the first.
    pub tokens: usize,
    /// Of each token, in their order.
    pub each: Vec<f32>,
    /// The most positions that a token was scored behind.
    pub window: usize,
}

impl Nll {
    /// As if every token had been one of so many that are equally likely.
    #[must_use]
    pub fn perplexity(&self) -> f64 {
        self.mean.exp()
    }
}

/// Reads a text, and gives what each token costs.
///
/// # Errors
/// Where there are fewer than two tokens, one is none of the model's, memory is short, or the model gives no finite numbers.
pub fn perplexity(model: &Model, compute: &Compute, tokens: &[u32], reading: Reading) -> Result<Nll> {
    let Some(last) = tokens.len().checked_sub(1).filter(|last| *last > 0) else {
        return Err(Error::refused(format!("a text of {} tokens: scoring needs at least two", tokens.len())));
    };
    if let Some(token) = tokens.iter().find(|token| **token as usize >= model.config.vocab) {
        return Err(Error::refused(format!("token {token} of a vocabulary of {}", model.config.vocab)));
    }
    let window = reading.window.unwrap_or(model.config.context.min(LONGEST_WINDOW)).clamp(1, last);
    let options = StateOptions { context: Some(window), cache: reading.cache, ..StateOptions::default() };
    let options = StateOptions { logits: options.block, ..options };
    let mut state = State::new(model, compute, &options)?;
    let mut each = Vec::with_capacity(last);
    let mut start = 0;
    loop {
        let stop = (start + window).min(last);
        state.truncate(0, 0);
        score(model, compute, &mut state, (&tokens[start..=stop], each.len() - start), &mut each)?;
        if stop == last {
            break;
        }
        start = stop - window / 2;
    }
    let mean = each.iter().map(|nll| f64::from(*nll)).sum::<f64>() / each.len() as f64;
    if !mean.is_finite() {
        return Err(Error::refused("the model's logits are not finite, so no text can be scored"));
    }
    Ok(Nll { mean, tokens: each.len(), each, window })
}

/// Scores a window from the token behind position `from` on; the last token is only looked for.
fn score(
    model: &Model,
    compute: &Compute,
    state: &mut State,
    (tokens, from): (&[u32], usize),
    each: &mut Vec<f32>,
) -> Result<()> {
    let inputs = tokens.len() - 1;
    for begin in (0..inputs).step_by(state.block()) {
        let end = (begin + state.block()).min(inputs);
        let logits = end - from.clamp(begin, end);
        model.forward(compute, state, &[Segment { sequence: 0, tokens: &tokens[begin..end], logits }])?;
        for (row, target) in tokens[end + 1 - logits..=end].iter().enumerate() {
            let mut loss = [0.0];
            compute.kernels.cross_entropy_rows(state.logits(row), &[*target], &mut loss);
            each.push(loss[0]);
        }
    }
    Ok(())
}
