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
/// The norm before the head.
pub const FINAL_NORM: &str = "final_norm";
/// The logits.
pub const HEAD: &str = "head";
/// Choosing a token.
pub const SAMPLING: &str = "sampling";
/// Reading the sequences of a batch, on a thread of its own while the batch before is computed.
pub const MAKE_BATCH: &str = "make_batch";
