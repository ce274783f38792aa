//! A small, fast transformer engine for CPUs, which profiles itself step by step.
//!
//! Three types: a `Config` says what a model is, `Weights` hold its numbers, a `State` holds what
//! one generation writes.

mod atomic;
mod batch;
mod catalogue;
mod chat;
mod compute;
mod error;
mod finite;
pub mod gguf;
mod kv_cache;
mod layers;
pub mod llama2c;
mod mapping;
mod memory;
mod metadata;
mod model;
mod open;
mod perplexity;
mod quantise;
pub mod safetensors;
mod sample;
pub mod steps;
mod synthetic;
mod tensor;
mod tokenizer;
pub mod train;

pub use atomic::AtomicFile;
pub use batch::{Batch, BatchSettings, Chosen, End, MOST_SEQUENCES, Request};
pub use chat::{ChatTemplate, Message, Prompt};
pub use compute::Compute;
pub use error::{Error, ErrorKind, Result};
pub use finite::check_finite;
pub use kv_cache::CacheType;
pub use mapping::FileInUse;
pub use metadata::{Array, Metadata, Value};
pub use model::{
    Architecture, Config, Features, FeedForwardKind, LoadOptions, Memory, Model, NormKind, Positions, Rope, Segment,
    State, StateOptions, Weights,
};
pub use open::open;
pub use perplexity::{Nll, Reading, perplexity};
pub use quantise::{Converted, QuantiseOptions, Summary, quantise};
pub use sample::{Sampler, Sampling, StopSequences, VisibleText};
pub use synthetic::{Synthetic, SyntheticSource};
pub use tensor::{KeptBytes, PAIRING_ADJACENT, PAIRING_HALVES, PAIRING_KEY, Tensor, TensorInfo, TensorSource};
pub use tokenizer::{Encode, Encoder, Stream, Tokenizer, byte_character, gpt2_words, plain_words, word_end};
