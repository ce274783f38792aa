//! The crate through its public face.

mod batch_means;
mod cells;
mod comparable;
mod judge;
mod model_ranking;
mod models;
mod runs;
mod scopes;
mod simulated_duels;
mod simulation;
mod vectors;
mod waterfall;
