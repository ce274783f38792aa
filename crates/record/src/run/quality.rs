//! How well a model knows a text.

use serde::{Deserialize, Serialize};

/// The negative log likelihood of a text.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Quality {
    /// The model.
    pub model: String,
    /// The text: its file, or `bundled`.
    pub text: String,
    /// BLAKE3 of the text.
    pub text_blake3: String,
    /// How many tokens were scored.
    pub tokens: u64,
    /// How many bytes of the text those stand for: models with other tokens can be compared by these.
    pub bytes: u64,
    /// The mean negative log likelihood of a token, in nats; the perplexity is its exponential.
    pub nll: f64,
    /// The largest context that a token was scored with.
    pub window: u64,
    /// Of each token, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub each: Vec<f32>,
}
