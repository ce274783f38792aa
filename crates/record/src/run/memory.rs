//! Where the memory went, and what a process took.

use serde::{Deserialize, Serialize};

/// The memory of one model, by purpose.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Memory {
    /// The model.
    pub model: String,
    /// `weights`, `kv_cache`, `activations`, `scratch`, `gradients`, `optimiser`; those that the work has none of stand with 0.
    pub parts: Vec<MemoryPart>,
    /// Bytes of the cache for each position, as they follow from the model's sizes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_per_token_formula: Option<f64>,
    /// The same as measured: what more positions took more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_per_token_measured: Option<f64>,
    /// The most bytes live at a time, of those that were counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_live_bytes: Option<u64>,
    /// What was being done at that time, as a noun: `making the model`, `generating`, `decode`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_during: Option<String>,
}

/// Memory of one purpose.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemoryPart {
    /// What it is for.
    pub purpose: String,
    /// How much it is.
    pub bytes: u64,
    /// How much of it was live when most was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_peak_bytes: Option<u64>,
    /// Whether it is mapped from a file: the system takes it back when it needs memory.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mapped: bool,
}

/// What a whole process took, as the system counts it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessUse {
    /// From its start to its end, in seconds.
    pub wall_s: f64,
    /// CPU time in the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_s: Option<f64>,
    /// CPU time in the system on its behalf.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_s: Option<f64>,
    /// The most memory it had at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_rss_bytes: Option<u64>,
    /// Pages that were given to it without reading a disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minor_faults: Option<u64>,
    /// Pages that a disk was read for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub major_faults: Option<u64>,
    /// Times that it waited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voluntary_switches: Option<u64>,
    /// Times that it was made to wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub involuntary_switches: Option<u64>,
    /// What it ended with, if it ended by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
}
