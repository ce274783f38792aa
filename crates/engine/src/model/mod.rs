//! A model: what it is, its numbers, and the way through them.

mod config;
mod forward;
mod state;
mod weights;

pub use config::{Architecture, Config, Rope};
pub use forward::Segment;
pub(crate) use state::{Buffers, attention_shape};
pub use state::{Memory, State, StateOptions};
pub use weights::Weights;
pub(crate) use weights::{Embedding, LayerWeights, LinearLayer, Norm};

use crate::{Compute, Result, TensorSource};

/// A model that can be computed: many generations can borrow it at the same time.
#[derive(Debug)]
pub struct Model {
    /// What it is.
    pub config: Config,
    /// Its numbers.
    pub weights: Weights,
}

impl Model {
    /// Reads a model and packs its weights. `progress` is told how many bytes were read, and of how many.
    pub fn load(source: &dyn TensorSource, compute: &Compute, progress: &mut dyn FnMut(usize, usize)) -> Result<Self> {
        let config = Config::read(source)?;
        let weights = Weights::load(&config, source, compute, progress)?;
        Ok(Self { config, weights })
    }
}
