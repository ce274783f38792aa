//! What SmallMind's programs wrote.

mod allocation;
mod benchmarks;
mod comparison;
mod consolidated;
mod enhanced;
mod methods;
mod models;
mod standard;

pub(crate) use allocation::{HEADING as ALLOCATION, read as allocation};
pub(crate) use benchmarks::read as benchmarks;
pub(crate) use comparison::{HEADING as COMPARISON, read as comparison};
pub(crate) use consolidated::{HEADING as CONSOLIDATED, read as consolidated};
pub(crate) use enhanced::{HEADING as ENHANCED, read as enhanced};
pub(crate) use models::{HEADING as MODELS, read as models};
pub(crate) use standard::{HEADING as STANDARD, read as standard};

/// What was measured.
const SUBJECT: &str = "SmallMind";
