//! The crate through its public face.

mod judge;
mod simulation;
mod sitting;
mod vectors;
mod waterfall;
