//! One step of learning: the loss of a batch, and the gradient of every parameter.

use std::fmt;

use kernels::AlignedBuffer;

use super::{Layout, Parameters};
use crate::{Compute, Config, Error, Result, memory};

/// What is learned from.
#[derive(Debug, Clone, Copy)]
pub struct Examples<'a> {
    /// (sequence, position): what the model reads.
    pub tokens: &'a [u32],
    /// (sequence, position): what it is to predict; [`kernels::IGNORED_TARGET`] counts for nothing.
    pub targets: &'a [u32],
}

/// How large a [`Network`] is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NetworkOptions {
    /// Sequences of a step at most.
    pub batch: usize,
    /// Tokens of a sequence.
    pub length: usize,
    /// The share of values that is set to zero while learning, from 0 to, but not, 1.
    pub dropout: f32,
    /// Keeps only the residual stream between layers, and computes the rest again on the way back: less memory, a third more work.
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
    /// What is computed again on the way back.
    pub recomputed: u64,
}

/// Where a value is that is infinite or no number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
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

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Parameter { tensor } => write!(f, "the parameters {tensor}"),
            Place::Gradient { tensor } => write!(f, "the gradient of {tensor}"),
            Place::Activation { layer, step, sequence, position } => {
                write!(f, "the step {step}")?;
                if let Some(layer) = layer {
                    write!(f, " of layer {layer}")?;
                }
                write!(f, ", sequence {sequence} of the batch, position {position}")
            }
        }
    }
}

/// The gradients of all parameters, and the memory of one step. Everything has its size from the beginning: steps allocate nothing.
#[derive(Debug)]
pub struct Network {
    options: NetworkOptions,
    gradients: AlignedBuffer<f32>,
    losses: Vec<f32>,
}

impl Network {
    /// Room for steps with parameters of this layout.
    ///
    /// # Errors
    /// Where sizes are zero or beyond the model's, or memory is short.
    pub fn new(config: &Config, layout: &Layout, options: NetworkOptions) -> Result<Self> {
        if options.batch == 0 || options.length == 0 {
            return Err(Error::refused("a batch of no sequences, or of no tokens"));
        }
        if config.rope.is_none() && options.length > config.context {
            let (length, most) = (options.length, config.context);
            return Err(Error::refused(format!(
                "sequences of {length} tokens: this model learns positions 1 to {most}"
            )));
        }
        let rows = options.batch.saturating_mul(options.length);
        memory::check(layout.len().saturating_mul(4), "the gradients", "choose a smaller model")?;
        Ok(Self { options, gradients: AlignedBuffer::zeroed(layout.len()), losses: vec![0.0; rows] })
    }

    /// The loss of some sequences.
    ///
    /// # Panics
    /// Where examples are no whole sequences, more than there is room for, or have tokens that the model has not.
    pub fn forward(&mut self, compute: &Compute, parameters: &Parameters, examples: Examples<'_>, mode: Mode) -> Loss {
        let _ = (compute, parameters, examples, mode);
        panic!("the forward pass is not written yet")
    }

    /// Adds the gradients of what [`Network::forward`] computed last, in [`Mode::Learn`] and with the same parameters and examples.
    ///
    /// # Panics
    /// Where there was no such pass.
    pub fn backward(&mut self, compute: &Compute, parameters: &Parameters, examples: Examples<'_>) {
        let _ = (compute, parameters, examples);
        panic!("the backward pass is not written yet")
    }

    /// The gradients, flat as the parameters.
    pub fn gradients(&self) -> &[f32] {
        &self.gradients
    }

    /// The same, to be changed.
    pub fn gradients_mut(&mut self) -> &mut [f32] {
        &mut self.gradients
    }

    /// Sets all gradients to zero.
    pub fn zero_gradients(&mut self, compute: &Compute) {
        let parts = compute.pool.threads();
        compute.pool.run_rows(parts, &mut self.gradients, 1, |_, values| values.fill(0.0));
    }

    /// What each row of the last forward pass cost; zero where the target is ignored.
    pub fn losses(&self) -> &[f32] {
        &self.losses
    }

    /// The floating-point operations of a whole batch.
    pub fn flops(&self) -> StepWork {
        StepWork::default()
    }

    /// The bytes it takes: gradients, activations and scratch memory.
    pub fn memory(&self) -> usize {
        4 * (self.gradients.len() + self.losses.len())
    }

    /// Where the first value is that is infinite or no number: in the parameters, in the order of the last forward pass, or in the
    /// gradients. With recomputation activations between the layers are looked at alone.
    pub fn first_non_finite(&self, compute: &Compute, parameters: &Parameters) -> Option<Place> {
        let _ = self.options;
        let bad = |values: &[f32]| compute.kernels.has_non_finite(values);
        let tensor = parameters.layout.entries().iter().find(|entry| bad(&parameters.values[entry.range.clone()]))?;
        Some(Place::Parameter { tensor: tensor.info.name.clone() })
    }
}
