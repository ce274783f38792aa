//! What a training is asked for. The names are those of the keys.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::data::{DataSettings, VocabularySettings};
use crate::schedule::Schedule;

/// Everything a config can say.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// What the model is.
    pub model: ModelSettings,
    /// What is done with it: LoopOS's section, of which one kind is here.
    pub computation: ComputationSettings,
    /// How it learns.
    pub training: TrainingSettings,
    /// The texts.
    pub data: DataSettings,
    /// The tokens.
    pub tokenizer: VocabularySettings,
    /// Samples that the model writes during training.
    pub sample: SampleSettings,
    /// What is kept on the disk.
    pub checkpointing: CheckpointSettings,
    /// What is measured.
    pub profiling: ProfilingSettings,
}

/// `model`: its family and sizes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelSettings {
    /// LoopOS's word for all its models.
    #[serde(rename = "type")]
    pub kind: String,
    /// The family.
    pub architecture: ModelFamily,
    /// The width of the residual stream.
    pub d_model: usize,
    /// Heads of queries.
    pub num_heads: usize,
    /// Heads of keys and values; as many as of queries without it.
    pub kv_heads: Option<usize>,
    /// Layers.
    pub num_layers: usize,
    /// The width inside the feed-forward network; without it four times `d_model`, for llama 8/3 of
    /// it, up to a multiple of 32.
    pub d_ff: Option<usize>,
    /// Positions that the model knows; `training.max_length` without it.
    pub context: Option<usize>,
    /// Whether the head is the embedding.
    pub tied: bool,
    /// What keeps the norms' roots from zero.
    pub norm_epsilon: f32,
    /// The base of the rotary frequencies, for llama.
    pub rope_base: f64,
}

/// The families that can be trained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelFamily {
    /// Learned positions, layer norm, GELU, biases: what LoopOS trains.
    #[default]
    Gpt2,
    /// Rotary positions, RMS norm, SwiGLU.
    Llama,
}

impl Default for ModelSettings {
    fn default() -> Self {
        Self {
            kind: "transformer".to_owned(),
            architecture: ModelFamily::Gpt2,
            d_model: 256,
            num_heads: 8,
            kv_heads: None,
            num_layers: 2,
            d_ff: None,
            context: None,
            tied: false,
            norm_epsilon: 1e-5,
            rope_base: 10_000.0,
        }
    }
}

/// `computation`: autoregressive pretraining, whatever its description.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ComputationSettings {
    /// `pretraining`.
    pub mode: String,
    /// `autoregressive`.
    pub method: String,
    /// For people.
    pub description: String,
}

impl Default for ComputationSettings {
    fn default() -> Self {
        Self { mode: "pretraining".to_owned(), method: "autoregressive".to_owned(), description: String::new() }
    }
}

/// `training`: how it learns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TrainingSettings {
    /// The learning rate, where a schedule begins after its warm-up.
    pub learning_rate: f64,
    /// Sequences of a batch.
    pub batch_size: usize,
    /// Batches of a step of the optimiser: the same as one batch that is so much larger, in the memory of one.
    pub gradient_accumulation: usize,
    /// Tokens of a sequence.
    pub max_length: usize,
    /// How often the corpus is read.
    pub num_epochs: usize,
    /// It ends after so many steps of the optimiser, whatever `num_epochs` says; 0: it does not.
    pub max_steps: u64,
    /// An epoch ends after so many batches; 0: with the corpus.
    pub max_batches_per_epoch: u64,
    /// Batches that are made ready beforehand.
    pub prefetch_batches: usize,
    /// Threads that make batches ready.
    pub num_workers: usize,
    /// Whether the order of sequences differs in every epoch; where it is not said, `data.shuffle`
    /// says so, and else it does.
    pub shuffle: Option<bool>,
    /// What weights, order and dropout follow from.
    pub random_seed: u64,
    /// What takes the steps.
    pub optimizer: OptimizerKind,
    /// AdamW: how slowly the mean of gradients changes.
    pub beta1: f64,
    /// AdamW: how slowly the mean of their squares changes.
    pub beta2: f64,
    /// AdamW: what keeps its root from zero.
    pub eps: f64,
    /// SGD: how much of the last step is taken again.
    pub momentum: f64,
    /// How much matrices shrink in each step, times the learning rate.
    pub weight_decay: f64,
    /// A gradient that is longer is shortened to this; 0: never.
    pub gradient_clip: f64,
    /// Each number of the gradient is kept within plus and minus this, after `gradient_clip`; 0: it is not.
    pub clip_value: f32,
    /// The share of values that is set to zero while learning.
    pub dropout: f32,
    /// Recomputes activations in the backward pass instead of keeping them.
    pub recompute: bool,
    /// How the learning rate changes.
    pub schedule: ScheduleSettings,
    /// Ends when validation gets no better.
    pub early_stopping: EarlyStopping,
    /// Validation after so many steps; 0: after each epoch.
    pub validate_every: u64,
    /// So many batches of validation at most; 0: all.
    pub validation_batches: u64,
    /// Threads that compute; 0: one for each CPU.
    pub threads: usize,
}

impl Default for TrainingSettings {
    fn default() -> Self {
        Self {
            learning_rate: 1e-4,
            batch_size: 8,
            gradient_accumulation: 1,
            max_length: 256,
            num_epochs: 1,
            max_steps: 0,
            max_batches_per_epoch: 0,
            prefetch_batches: 3,
            num_workers: 1,
            shuffle: None,
            random_seed: 42,
            optimizer: OptimizerKind::Adamw,
            beta1: 0.9,
            beta2: 0.999,
            eps: 1e-8,
            momentum: 0.0,
            weight_decay: 0.01,
            gradient_clip: 1.0,
            clip_value: 0.0,
            dropout: 0.0,
            recompute: false,
            schedule: ScheduleSettings::default(),
            early_stopping: EarlyStopping::default(),
            validate_every: 0,
            validation_batches: 0,
            threads: 0,
        }
    }
}

/// What takes the steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OptimizerKind {
    /// Means of gradients and of their squares; LoopOS's learning rates are of its size.
    #[default]
    Adamw,
    /// Plain gradients, with momentum where it is asked for; what LoopOS does.
    Sgd,
}

/// `training.schedule`: how the learning rate changes. LoopOS's `adaptive_lr` is read into it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ScheduleSettings {
    /// Its shape.
    pub kind: ScheduleKind,
    /// Steps over which the rate rises from zero before the shape begins.
    pub warmup_steps: u64,
    /// The rate never falls below this.
    pub min_learning_rate: f64,
    /// Epochs: of the first period with warm restarts, between two steps of `step`.
    pub period: u64,
    /// Warm restarts: each period is so much longer than the one before.
    pub period_factor: f64,
    /// Step and plateau: what the rate is multiplied with.
    pub factor: f64,
    /// Plateau: validations without improvement before the rate falls.
    pub patience: u64,
    /// Plateau: what counts as an improvement.
    pub threshold: f64,
}

impl Default for ScheduleSettings {
    fn default() -> Self {
        Self {
            kind: ScheduleKind::Constant,
            warmup_steps: 0,
            min_learning_rate: 0.0,
            period: 1,
            period_factor: 1.0,
            factor: 0.5,
            patience: 5,
            threshold: 1e-4,
        }
    }
}

/// The shapes of schedules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScheduleKind {
    /// Always the same.
    #[default]
    Constant,
    /// Down to the least rate in a straight line, at the last step.
    Linear,
    /// Down to it along half a cosine.
    Cosine,
    /// The same again and again, each time from the top.
    CosineWarmRestarts,
    /// Times `factor` after every `period`.
    Step,
    /// Times `factor` when validation gets no better.
    Plateau,
}

/// `training.early_stopping`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct EarlyStopping {
    /// Ends after so many validations that were no better; 0: it does not.
    pub patience: u64,
    /// How much better a loss has to be to count.
    pub min_delta: f64,
}

/// `sample`: samples that the model writes during training. LoopOS's `generation` is read into it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SampleSettings {
    /// After so many steps; 0: only at the end.
    pub every: u64,
    /// What they begin with; where it is empty, with the token that begins texts.
    pub prompt: String,
    /// Tokens; 0: none are written, at the end neither.
    pub length: usize,
    /// How much chance there is.
    pub temperature: f32,
    /// So many of the likeliest tokens may be chosen; 0: all.
    pub top_k: usize,
    /// The likeliest tokens that have this share of the probability may be chosen.
    pub top_p: f32,
    /// Where chance begins.
    pub seed: u64,
}

impl Default for SampleSettings {
    fn default() -> Self {
        Self { every: 0, prompt: String::new(), length: 64, temperature: 0.8, top_k: 40, top_p: 0.95, seed: 0 }
    }
}

/// `checkpointing`: what is kept on the disk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CheckpointSettings {
    /// After so many batches, at the end of the step of the optimiser; 0: at the end and when it is interrupted.
    pub save_every_n_batches: u64,
    /// So many are kept; 0: all.
    pub keep_last_n: usize,
    /// Whether the one with the best validation is kept as well.
    pub keep_best: bool,
    /// The folder; `checkpoints` in `data.output_dir` without it.
    pub save_path: Option<PathBuf>,
}

impl Default for CheckpointSettings {
    fn default() -> Self {
        Self { save_every_n_batches: 1000, keep_last_n: 3, keep_best: true, save_path: None }
    }
}

/// `profiling`: what the command line asks for with `--profile`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ProfilingSettings {
    /// Whether the training is profiled.
    pub enabled: bool,
    /// Rows of the report.
    pub report_top_n: Option<usize>,
}

impl Settings {
    /// Whether the order of sequences differs in every epoch.
    #[must_use]
    pub fn shuffles(&self) -> bool {
        self.training.shuffle.or(self.data.shuffle).unwrap_or(true)
    }

    /// The width inside the feed-forward network.
    #[must_use]
    pub fn ffn(&self) -> usize {
        let ModelSettings { architecture, d_model, d_ff, .. } = self.model;
        d_ff.unwrap_or(match architecture {
            ModelFamily::Gpt2 => 4 * d_model,
            ModelFamily::Llama => (8 * d_model).div_ceil(3).next_multiple_of(32),
        })
    }

    /// Where everything goes that training writes.
    #[must_use]
    pub fn output(&self) -> PathBuf {
        self.data.output_dir.clone().unwrap_or_else(|| PathBuf::from("outputs"))
    }

    /// Where checkpoints go.
    #[must_use]
    pub fn checkpoints(&self) -> PathBuf {
        self.checkpointing.save_path.clone().unwrap_or_else(|| self.output().join("checkpoints"))
    }

    /// The schedule, in the words of the one who computes it.
    #[must_use]
    pub fn schedule(&self) -> Schedule {
        let ScheduleSettings {
            kind,
            min_learning_rate: min_lr,
            period,
            period_factor,
            factor,
            patience,
            threshold,
            ..
        } = self.training.schedule;
        match kind {
            ScheduleKind::Constant => Schedule::Constant,
            ScheduleKind::Linear => Schedule::Linear { min_lr },
            ScheduleKind::Cosine => Schedule::Cosine { min_lr },
            ScheduleKind::CosineWarmRestarts => {
                Schedule::CosineWarmRestarts { first: period, growth: period_factor, min_lr }
            }
            ScheduleKind::Step => Schedule::Step { step_size: period, gamma: factor, min_lr },
            ScheduleKind::Plateau => Schedule::Plateau { factor, patience, threshold, min_lr },
        }
    }
}
