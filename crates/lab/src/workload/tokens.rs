//! Tokens: to begin with, and to tell whether the same came out.

use record::Correctness;

use super::Task;
use crate::{ModelChoice, Models};

/// The tokens to go on from: those of the text, or so many at random. There is room for `tokens` behind them.
pub(super) fn prompt(
    task: &Task,
    models: &dyn Models,
    which: ModelChoice,
    (random, tokens): (usize, usize),
) -> Result<Vec<u32>, String> {
    let outline = models.outline(which, task.prompt.as_deref())?;
    let prompt = outline.tokens.unwrap_or_else(|| at_random(task.seed, outline.vocab as u64, random));
    if prompt.is_empty() {
        return Err("the prompt has no tokens".to_owned());
    }
    let (length, context) = (prompt.len(), outline.context);
    if length + tokens > context {
        return Err(format!(
            "a prompt of {length} tokens and {tokens} generated ones exceed the model's context length of \
             {context} tokens: choose fewer with --tokens, or a shorter prompt"
        ));
    }
    Ok(prompt)
}

/// So many tokens, the same for the same seed.
pub(crate) fn at_random(seed: u64, vocab: u64, count: usize) -> Vec<u32> {
    let vocab = vocab.max(1);
    let mut state = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let next = || {
        // SplitMix64: every seed gives its own tokens, the same everywhere.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) % vocab) as u32
    };
    std::iter::repeat_with(next).take(count).collect()
}

/// BLAKE3 of ids.
pub(super) fn hash(tokens: &[u32]) -> String {
    let bytes: Vec<u8> = tokens.iter().flat_map(|token| token.to_le_bytes()).collect();
    blake3::hash(&bytes).to_hex().to_string()
}

/// What inferences generated, as it is found out one by one.
#[derive(Default)]
pub(super) struct Generated {
    first: Option<Vec<u32>>,
    inferences: u64,
    agree: bool,
}

impl Generated {
    /// One more.
    pub(super) fn add(&mut self, tokens: Vec<u32>) {
        self.inferences += 1;
        match &self.first {
            None => (self.first, self.agree) = (Some(tokens), true),
            Some(first) => self.agree &= *first == tokens,
        }
    }

    /// What the first of them generated.
    pub(super) fn first(&self) -> Option<&[u32]> {
        self.first.as_deref()
    }

    /// Those of several models, one after the other.
    pub(super) fn together(all: &[Generated]) -> Option<Correctness> {
        let tokens: Vec<u32> = all.iter().filter_map(|one| one.first.as_ref()).flatten().copied().collect();
        let agree = all.iter().all(|one| one.agree);
        let inferences = all.iter().map(|one| one.inferences).max()?;
        Generated { first: Some(tokens), inferences, agree }.correctness()
    }

    /// For the record.
    pub(super) fn correctness(&self) -> Option<Correctness> {
        let first = self.first.as_ref()?;
        Some(Correctness {
            tokens_blake3: Some(hash(first)),
            tokens: Some(first.len() as u64),
            repeats_agree: (self.inferences > 1).then_some(self.agree),
            ..Correctness::default()
        })
    }
}
