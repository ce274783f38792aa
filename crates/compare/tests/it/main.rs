//! The crate through its public face.

mod batch_means;
mod cells;
mod comparable;
mod judge;
mod model_ranking;
mod models;
mod runs;
mod scopes;
mod simulation;
mod sitting;
mod vectors;
mod waterfall;
