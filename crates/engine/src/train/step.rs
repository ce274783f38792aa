//! What a step of learning is asked for, and what it tells.

use std::fmt;

/// What is learned from.
#[derive(Debug, Clone, Copy)]
pub struct Examples<'a> {
    /// (sequence, position): what the model reads.
    pub tokens: &'a [u32],
    /// (sequence, position): what it is to predict; [`kernels::IGNORED_TARGET`] counts for nothing.
    pub targets: &'a [u32],
}

/// How large a [`Network`](super::Network) is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NetworkOptions {
    /// Sequences of a step at most.
    pub batch: usize,
    /// Tokens of a sequence.
    pub length: usize,
    /// The share of values that is set to zero while learning, from 0 to, but not, 1.
    pub dropout: f32,
    /// Keeps only the residual stream between layers, and recomputes the rest in the backward pass:
    /// less memory, a third more work.
    pub recompute: bool,
}

/// What a forward pass is for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Mode {
    /// The loss alone, without dropout.
    Evaluate,
    /// A backward pass follows.
    Learn {
        /// What the masks of dropout follow from: another one for each step.
        key: u64,
        /// What gradients are multiplied with: one over the targets of the whole step of the optimiser.
        scale: f32,
    },
}

/// What a batch cost.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Loss {
    /// The sum over all targets, in nats.
    pub sum: f64,
    /// How many targets were not ignored.
    pub targets: usize,
}

impl Loss {
    /// Per target; zero where there is none.
    #[must_use]
    pub fn mean(&self) -> f64 {
        if self.targets == 0 { 0.0 } else { self.sum / self.targets as f64 }
    }
}

/// What a whole batch takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StepWork {
    /// Floating-point operations of the forward pass.
    pub forward: u64,
    /// Of the backward pass, without what is computed again.
    pub backward: u64,
    /// What is recomputed in the backward pass.
    pub recomputed: u64,
}

/// Where a value is that is infinite or no number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NonFinitePlace {
    /// In a tensor of the parameters.
    Parameter {
        /// Its name.
        tensor: String,
    },
    /// In what a step of the forward pass gave.
    Activation {
        /// The layer, where it is in one.
        layer: Option<usize>,
        /// The step, by its name in [`steps`](crate::steps).
        step: &'static str,
        /// The sequence of the batch, from 0.
        sequence: usize,
        /// The position in it, from 0.
        position: usize,
    },
    /// In the gradient of a tensor.
    Gradient {
        /// The tensor's name.
        tensor: String,
    },
}

impl fmt::Display for NonFinitePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NonFinitePlace::Parameter { tensor } => write!(f, "the parameters {tensor}"),
            NonFinitePlace::Gradient { tensor } => write!(f, "the gradient of {tensor}"),
            NonFinitePlace::Activation { layer, step, sequence, position } => {
                write!(f, "the step {step}")?;
                if let Some(layer) = layer {
                    write!(f, " of layer {layer}")?;
                }
                write!(f, ", sequence {sequence} of the batch, position {position}")
            }
        }
    }
}
