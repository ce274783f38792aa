//! The steps of a forward pass: one name for the scope, the golden value and the row of a report.

/// One pass over the weights: some tokens of one or several sequences.
pub const FORWARD: &str = "forward";
/// The rows of the tokens, and of their positions where those are learned.
pub const EMBEDDING: &str = "embedding";
/// One layer, by its number; the steps below until [`FFN_DOWN`] are within it.
pub const LAYER: &str = "layer";
/// The norm before attention.
pub const ATTENTION_NORM: &str = "attention_norm";
/// Queries, keys and values.
pub const QKV: &str = "qkv";
/// The norms of the heads of queries and keys, in architectures that have them.
pub const QK_NORM: &str = "qk_norm";
/// Turning queries and keys by their positions.
pub const ROPE: &str = "rope";
/// Writing keys and values into the cache.
pub const CACHE: &str = "cache";
/// Queries over the cache.
pub const ATTENTION: &str = "attention";
/// The output projection of attention, added to the residual stream.
pub const ATTENTION_OUT: &str = "attention_out";
/// The norm before the feed-forward network.
pub const FFN_NORM: &str = "ffn_norm";
/// Its first matrices: up, and gate where there is one; both in one region.
pub const FFN_UP: &str = "ffn_up";
/// Its activation.
pub const FFN_ACT: &str = "ffn_act";
/// Its second matrix, added to the residual stream.
pub const FFN_DOWN: &str = "ffn_down";
/// The steps of a layer of inference, in order. Not every architecture has all of them.
pub const IN_LAYERS: [&str; 11] =
    [ATTENTION_NORM, QKV, QK_NORM, ROPE, CACHE, ATTENTION, ATTENTION_OUT, FFN_NORM, FFN_UP, FFN_ACT, FFN_DOWN];
/// The norm before the head.
pub const FINAL_NORM: &str = "final_norm";
/// The logits.
pub const HEAD: &str = "head";
/// Choosing a token.
pub const SAMPLING: &str = "sampling";
/// The backward pass through the same steps, by the same names: the gradients of all parameters.
pub const BACKWARD: &str = "backward";
/// The loss of logits and, while learning, its gradient.
pub const LOSS: &str = "loss";
/// The gradients of the head; where logits are computed in parts, in the forward pass.
pub const HEAD_GRADIENT: &str = "head_gradient";
/// What was not kept of a layer, recomputed in the backward pass.
pub const RECOMPUTE: &str = "recompute";
/// The norm of the gradients, and what they are multiplied with for it.
pub const CLIP: &str = "clip";
/// The step of the optimiser.
pub const OPTIMIZER: &str = "optimizer";
/// The corpus once. It carries no number: a training may have thousands, and each would be a tree of its own.
pub const TRAIN_EPOCH: &str = "train_epoch";
/// One step of learning: its batches forward and backward, and the step of the optimiser.
pub const BATCH: &str = "batch";
/// Waiting for the next batch.
pub const DATA_WAIT: &str = "data_wait";
/// The loss on what was kept back.
pub const VALIDATION: &str = "validation";
/// Writing a checkpoint or the model.
pub const CHECKPOINT: &str = "checkpoint";
/// A sample that the model writes during training.
pub const SAMPLE: &str = "sample";
/// Telling what happened.
pub const LOG: &str = "log";
/// Reading the sequences of a batch, on a thread of its own while the batch before is computed.
pub const MAKE_BATCH: &str = "make_batch";
