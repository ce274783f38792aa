//! The crate through its public face.

mod cells;
mod judge;
mod simulation;
mod sitting;
mod vectors;
mod waterfall;
