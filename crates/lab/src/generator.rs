//! The interface between the lab and an engine.

use std::any::Any;

use record::{Memory, Model};

/// A model that generates tokens, one sequence at a time.
pub trait Generator {
    /// Its description.
    fn describe(&self) -> Model;

    /// Its memory by purpose.
    fn memory(&self) -> Memory;

    /// Clears the KV cache and resets the RNG, so that the same tokens follow.
    fn restart(&mut self);

    /// Processes tokens after the previous ones.
    ///
    /// # Errors
    /// Why this failed.
    fn forward(&mut self, tokens: &[u32]) -> Result<(), String>;

    /// Samples the next token.
    fn choose(&mut self) -> u32;

    /// Allocates the memory for sequences of this length that depends on the length.
    ///
    /// # Errors
    /// Why this failed.
    fn room(&self, positions: usize) -> Result<ReservedMemory, String>;

    /// The text of these tokens; `None` if it is meaningless, as with random weights.
    fn text(&self, tokens: &[u32]) -> Option<String> {
        let _ = tokens;
        None
    }

    /// The likelihood of a text; `None` if it is meaningless, as with random weights.
    ///
    /// # Errors
    /// Why the text cannot be evaluated.
    fn score(&self, text: &str) -> Result<Option<TextScore>, String> {
        let _ = text;
        Ok(None)
    }
}

/// The negative log likelihood of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct TextScore {
    /// The negative log likelihood of each token that was scored, in nats.
    pub each: Vec<f32>,
    /// Bytes of the text that these tokens cover.
    pub bytes: u64,
    /// The largest context that a token was scored with.
    pub window: u64,
}

/// Memory reserved for generating, to measure its size.
pub struct ReservedMemory {
    /// The memory.
    pub held: Box<dyn Any>,
    /// The part that is not KV cache and grows with the number of positions.
    pub other_bytes: u64,
}

/// Which model to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelChoice {
    /// The requested model, or the bundled one.
    Given,
    /// SmallMind's small model.
    Small,
    /// SmallMind's medium model.
    Medium,
}

/// How a model is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelUse {
    /// The required context length.
    pub positions: usize,
    /// Whether scratch memory is reused between passes.
    pub pooled: bool,
    /// Whether keys and values are cached.
    pub keeps: bool,
}

impl ModelUse {
    /// The default: scratch memory is reused and keys and values are cached.
    #[must_use]
    pub fn usual(positions: usize) -> Self {
        Self { positions, pooled: true, keeps: true }
    }
}

/// Facts about a model that are known before it is created.
#[derive(Debug, Clone)]
pub struct ModelOutline {
    /// The vocabulary size.
    pub vocab: usize,
    /// The context length.
    pub context: usize,
    /// The tokens of the given text.
    pub tokens: Option<Vec<u32>>,
}

/// Creates models; the time it takes is measured too.
pub trait Models {
    /// Facts about a model without loading its weights, and the tokens of a text.
    ///
    /// # Errors
    /// Why this failed.
    fn outline(&self, which: ModelChoice, text: Option<&str>) -> Result<ModelOutline, String>;

    /// A model, ready for its first token.
    ///
    /// # Errors
    /// Why this failed.
    fn create(&self, which: ModelChoice, usage: ModelUse) -> Result<Box<dyn Generator + '_>, String>;

    /// The threads that models compute on.
    fn threads(&self) -> usize;
}
