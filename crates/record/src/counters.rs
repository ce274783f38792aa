//! The CPU's own counters.

use serde::{Deserialize, Serialize};

/// Which events of the CPU can be counted, and why not all of them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Counters {
    /// The names that `perf` gives them.
    pub counters_available: Vec<String>,
    /// Why others cannot be counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the kernel lets unprivileged users count: the lower, the more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub perf_event_paranoid: Option<i32>,
}
