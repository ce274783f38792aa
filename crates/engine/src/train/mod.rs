//! What is learned, and how one step of learning is computed: forward, backward, and the step of the optimiser.
//!
//! All parameters lie in one list of f32, and so do gradients and what an optimiser remembers:
//! [`Layout`] says where each tensor is. What is computed does not depend on the number of threads,
//! bit for bit, and nothing is allocated once all is warm.

mod arena;
mod finite;
mod layers;
mod layout;
mod network;
mod optimiser;
mod parameters;
mod plan;
mod step;

pub use layout::{Entry, Layout};
pub use network::Network;
pub use optimiser::{Optimiser, OptimiserKind, StepSize, clip_scale, gradient_norm};
pub use parameters::{Parameters, ParametersSource};
pub use step::{Examples, Loss, Mode, NetworkOptions, NonFinitePlace, StepWork};
