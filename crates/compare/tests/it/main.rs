//! The crate through its public face.

mod cells;
mod comparable;
mod judge;
mod models;
mod runs;
mod scopes;
mod simulation;
mod sitting;
mod vectors;
mod waterfall;
