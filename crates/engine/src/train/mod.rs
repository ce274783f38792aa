//! What is learned, and how one step of learning is computed: forward, backward, and the step of the optimiser.
//!
//! All parameters lie in one list of f32, and so do gradients and what an optimiser remembers: [`Layout`] says where each tensor is.
//! What is computed does not depend on the number of threads, bit for bit, and nothing is allocated once all is warm.

mod layout;
mod network;
mod parameters;

pub use layout::{Entry, Layout};
pub use network::{Examples, Loss, Mode, Network, NetworkOptions, Place, StepWork};
pub use parameters::{Parameters, ParametersSource};
