//! What the lab asks of an engine: it knows none.

use std::any::Any;

use record::{Memory, Model};

/// A model that goes on from tokens, one sequence at a time.
pub trait Generator {
    /// What it is.
    fn describe(&self) -> Model;

    /// The memory that it takes, by purpose.
    fn memory(&self) -> Memory;

    /// Forgets all tokens, and begins chance again: what follows is the same every time.
    fn restart(&mut self);

    /// Computes tokens that follow those before.
    ///
    /// # Errors
    /// Why they cannot.
    fn forward(&mut self, tokens: &[u32]) -> Result<(), String>;

    /// Chooses the token that comes next.
    fn choose(&mut self) -> u32;

    /// Memory for generations of so many positions; all else that they need is the same for every number of them.
    ///
    /// # Errors
    /// Why it cannot be had.
    fn room(&self, positions: usize) -> Result<ReservedMemory, String>;

    /// What these tokens say; nothing where that means nothing, as with random weights.
    fn text(&self, tokens: &[u32]) -> Option<String> {
        let _ = tokens;
        None
    }

    /// How well it knows a text; nothing where that means nothing, as with random weights.
    ///
    /// # Errors
    /// Why it cannot read it.
    fn score(&self, text: &str) -> Result<Option<TextScore>, String> {
        let _ = text;
        Ok(None)
    }
}

/// What a text cost a model.
#[derive(Debug, Clone, PartialEq)]
pub struct TextScore {
    /// The negative log likelihood of each token that was scored, in nats.
    pub each: Vec<f32>,
    /// Bytes of the text that those stand for.
    pub bytes: u64,
    /// The most positions that a token was scored behind.
    pub window: u64,
}

/// Memory for generations, to see how much it is.
pub struct ReservedMemory {
    /// The memory.
    pub held: Box<dyn Any>,
    /// The part of it that keeps no keys and values, as far as it grows with the positions.
    pub other_bytes: u64,
}

/// Which model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelChoice {
    /// The one that was asked for, or the bundled one.
    Given,
    /// SmallMind's small one.
    Small,
    /// SmallMind's medium one.
    Medium,
}

/// How a model is to be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelUse {
    /// Positions that there must be room for.
    pub positions: usize,
    /// Whether scratch memory is kept from pass to pass.
    pub pooled: bool,
    /// Whether keys and values are kept from token to token.
    pub keeps: bool,
}

impl ModelUse {
    /// As anybody would: everything is kept.
    #[must_use]
    pub fn usual(positions: usize) -> Self {
        Self { positions, pooled: true, keeps: true }
    }
}

/// What has to be known of a model before it is made.
#[derive(Debug, Clone)]
pub struct ModelOutline {
    /// The number of its tokens.
    pub vocab: usize,
    /// Positions that it was made for.
    pub context: usize,
    /// The tokens of the text that was asked about.
    pub tokens: Option<Vec<u32>>,
}

/// Makes models; how long that takes is measured too.
pub trait Models {
    /// A model without its weights, and the tokens of a text.
    ///
    /// # Errors
    /// Why it cannot be had.
    fn outline(&self, which: ModelChoice, text: Option<&str>) -> Result<ModelOutline, String>;

    /// A model, ready for its first token.
    ///
    /// # Errors
    /// Why it cannot be had.
    fn create(&self, which: ModelChoice, usage: ModelUse) -> Result<Box<dyn Generator + '_>, String>;

    /// The threads that models compute on.
    fn threads(&self) -> usize;
}
