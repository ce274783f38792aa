//! A training: what happened, line by line, and what came of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Tool;

/// The schema of the document.
pub const TRAINING_SCHEMA: &str = "hotloop-training";
/// Increased when a field changes its meaning or is removed, not when fields are added.
pub const TRAINING_VERSION: u32 = 1;

/// One line of the log of a training.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum TrainingEvent {
    /// Before the first step, or before the first one after a pause.
    Started(TrainingStart),
    /// The optimiser has taken a step.
    Step(TrainingStep),
    /// The validation text was computed.
    Validated(TrainingValidation),
    /// The model has written something.
    Sampled(TrainingSample),
    /// A checkpoint is on the disk.
    Saved(TrainingCheckpoint),
    /// The corpus was read once.
    Epoch(TrainingEpoch),
    /// After the last step.
    Ended(TrainingEnd),
}

/// What is trained, on what, with what.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TrainingStart {
    /// When, by RFC 3339 in UTC.
    pub time: String,
    /// The architecture and sizes, by their names in the config.
    pub model: BTreeMap<String, serde_json::Value>,
    /// Numbers that are learned.
    pub parameters: u64,
    /// Tokens there are.
    pub vocabulary: u64,
    /// Tokens to learn from, of one epoch.
    pub tokens: u64,
    /// Sequences of one epoch.
    pub sequences: u64,
    /// Tokens that are kept back to validate.
    pub validation_tokens: u64,
    /// Optimiser steps of one epoch.
    pub steps_per_epoch: u64,
    /// Optimiser steps in all, if nothing stops it before.
    pub steps: u64,
    /// Tokens of one optimiser step at most.
    pub tokens_per_step: u64,
    /// Threads that compute.
    pub threads: u64,
    /// Floating-point operations of one step, forward and backward.
    pub flops_per_step: u64,
    /// Epochs in all, where they decide the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epochs: Option<u64>,
    /// Bytes that one step has to move, forward, backward and the optimiser.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_step: Option<u64>,
    /// Bytes of memory by purpose: `weights`, `gradients`, `optimiser`, `activations`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub memory: BTreeMap<String, u64>,
    /// The files that the text comes from, and how they are split into tokens.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub corpus: Vec<String>,
    /// What chance follows from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// BLAKE3 of the weights before the first step of this process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights_blake3: Option<String>,
    /// BLAKE3 of the tokens to learn from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corpus_blake3: Option<String>,
    /// The step it goes on from; none where it begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed_at: Option<u64>,
    /// What has to be known: bytes that were no text, keys that mean nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// One step of the optimiser.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TrainingStep {
    /// Its number, from 1.
    pub step: u64,
    /// The epoch it belongs to, from 1.
    pub epoch: u64,
    /// The mean loss of its tokens, in nats.
    pub loss: f64,
    /// The length of the gradient before clipping.
    pub gradient_norm: f64,
    /// The learning rate.
    pub learning_rate: f64,
    /// Tokens that were predicted.
    pub tokens: u64,
    /// Sequences they came from.
    pub sequences: u64,
    /// How long it took, waiting for data included.
    pub seconds: f64,
}

/// The loss on what was kept back.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TrainingValidation {
    /// After which step.
    pub step: u64,
    /// The mean loss, in nats.
    pub loss: f64,
    /// e to the loss.
    pub perplexity: f64,
    /// Over how many tokens.
    pub tokens: u64,
    /// How long it took.
    pub seconds: f64,
    /// Whether no validation before was better.
    pub best: bool,
}

/// Text that the model wrote.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TrainingSample {
    /// After which step.
    pub step: u64,
    /// What it was to go on from.
    pub prompt: String,
    /// What it wrote.
    pub text: String,
}

/// A checkpoint on the disk.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TrainingCheckpoint {
    /// After which step.
    pub step: u64,
    /// Where it is.
    pub path: String,
    /// How long writing took.
    pub seconds: f64,
    /// How large it is.
    pub bytes: u64,
}

/// The corpus was read once, or as far as the training went.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TrainingEpoch {
    /// Its number, from 1.
    pub epoch: u64,
    /// Steps of it in this process.
    pub steps: u64,
    /// Sequences.
    pub sequences: u64,
    /// Tokens that were predicted.
    pub tokens: u64,
    /// The mean loss of all its tokens.
    pub loss: f64,
    /// Wall time.
    pub seconds: f64,
    /// CPU time of all threads over that time, where the system tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_seconds: Option<f64>,
    /// Where the wall time went.
    pub phases: TrainingPhases,
    /// Whether it ended before the corpus did.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub broken_off: bool,
}

/// Wall time by what was done, in seconds; together they are the whole.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct TrainingPhases {
    /// Waiting for the next batch.
    pub data_wait: f64,
    /// Forward passes up to the logits and the loss.
    pub forward: f64,
    /// Backward passes.
    pub backward: f64,
    /// The norm of the gradient, clipping, the optimiser's step.
    pub optimizer: f64,
    /// Validation.
    pub validation: f64,
    /// Writing checkpoints.
    pub checkpoint: f64,
    /// Sample texts.
    pub sample: f64,
    /// Everything else.
    pub overhead: f64,
}

/// How it ended.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TrainingEnd {
    /// When, by RFC 3339 in UTC.
    pub time: String,
    /// Why: `finished`, `early stop`, `interrupted`.
    pub why: String,
    /// Steps in all, those before a pause too.
    pub steps: u64,
    /// Tokens that this process has learned from.
    pub tokens: u64,
    /// Wall time of this process, from the first step on.
    pub seconds: f64,
    /// The mean loss of the last epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<f64>,
    /// The best loss of a validation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best_validation: Option<f64>,
    /// The model as a file for `hotloop generate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whether that is the model at its best validation, not the last one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub model_is_best: bool,
}

/// A whole training, as this process saw it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Training {
    /// [`TRAINING_SCHEMA`].
    pub schema: String,
    /// [`TRAINING_VERSION`].
    pub version: u32,
    /// The program that wrote it.
    pub tool: Tool,
    /// All that happened, in the order of time.
    pub events: Vec<TrainingEvent>,
    /// Where the wall time went, of all epochs.
    pub phases: TrainingPhases,
}

impl TrainingEvent {
    /// Reads one line of a log.
    ///
    /// # Errors
    /// What is wrong and where.
    pub fn from_line(line: &str) -> Result<Self, String> {
        serde_json::from_str(line).map_err(|error| error.to_string())
    }

    /// The step behind which it happened; none for what is of no step.
    #[must_use]
    pub fn step(&self) -> Option<u64> {
        match self {
            TrainingEvent::Step(event) => Some(event.step),
            TrainingEvent::Validated(event) => Some(event.step),
            TrainingEvent::Sampled(event) => Some(event.step),
            TrainingEvent::Saved(event) => Some(event.step),
            TrainingEvent::Started(_) | TrainingEvent::Epoch(_) | TrainingEvent::Ended(_) => None,
        }
    }

    /// As one line of JSON, without the end of the line.
    #[must_use]
    pub fn to_line(&self) -> String {
        serde_json::to_string(self).expect("plain data")
    }
}

impl TrainingPhases {
    /// By name, in the order of a step; those beside the steps behind them.
    #[must_use]
    pub fn named(&self) -> [(&'static str, f64); 8] {
        [
            ("data_wait", self.data_wait),
            ("forward", self.forward),
            ("backward", self.backward),
            ("optimizer", self.optimizer),
            ("validation", self.validation),
            ("checkpoint", self.checkpoint),
            ("sample", self.sample),
            ("overhead", self.overhead),
        ]
    }
}
