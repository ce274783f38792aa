//! A model: what it is, its numbers, and the pass through them.

mod architecture;
mod config;
mod forward;
mod state;
mod tensors;
mod weights;

pub(crate) use architecture::HuggingFaceLayout;
pub use architecture::{Architecture, Features, FeedForwardKind, NormKind, Positions};
pub use config::{Config, Rope};
pub use forward::Segment;
pub(crate) use state::{Buffers, attention_shape};
pub use state::{Memory, State, StateOptions};
pub(crate) use tensors::{FUSED_QKV, Role, SPLIT_QKV, TensorSpec, layer_part, tensors};
pub(crate) use weights::{Embedding, LayerWeights, LinearLayer, Norm};
pub use weights::{LoadOptions, Weights};

use crate::{Compute, Error, FileInUse, Result, TensorSource};

/// A model that can be computed: many generations can borrow it at the same time.
#[derive(Debug)]
pub struct Model {
    /// What it is.
    pub config: Config,
    /// Its numbers.
    pub weights: Weights,
    /// The files that they were read from, or are.
    files: Vec<FileInUse>,
}

impl Model {
    /// Reads a model and, unless its weights are to stay in the file, packs them.
    pub fn load(source: &dyn TensorSource, compute: &Compute, options: &mut LoadOptions<'_>) -> Result<Self> {
        let load = |options: &mut LoadOptions<'_>| {
            let config = Config::read(source)?;
            let weights = Weights::load(&config, source, compute, options);
            let files = source.files();
            // Zeros behind the end of a truncated file may be what a weight was refused for.
            files.iter().try_for_each(FileInUse::check)?;
            Ok(Self { config, weights: weights?, files })
        };
        load(options).map_err(|error: Error| match source.file() {
            Some(file) => error.in_file(file),
            None => error,
        })
    }
}
