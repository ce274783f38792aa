//! Trains models: from a config and a corpus to checkpoints and a model file.
//!
//! `engine::train` computes a step; here is what surrounds it.

pub mod checkpoint;
pub mod config;
pub mod data;
mod error;
mod export;
mod run;
mod schedule;
pub mod vocabulary;
mod written;

pub use error::{Error, Result};
pub use export::{export_checkpoint, export_gguf};
pub use run::{TrainingObserver, resumable, train};
pub use schedule::{LearningRate, Schedule, ScheduleState, Span};
