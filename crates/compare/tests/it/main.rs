//! The crate through its public face.

mod cells;
mod comparable;
mod judge;
mod models;
mod simulation;
mod sitting;
mod vectors;
mod waterfall;
