//! Trains models: from a config and a corpus to checkpoints and a model file.
//!
//! `engine::train` computes a step; here is what surrounds it.

mod error;
mod schedule;

pub use error::{Error, Result};
pub use schedule::{LearningRate, Schedule, ScheduleState, Span};
