//! What disturbed a measurement.

use serde::{Deserialize, Serialize};

/// How busy the machine was with other things.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Noise {
    /// Programs that ran or wanted to, mean of the last minute, before the measurement began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_1m: Option<f64>,
    /// The same of the last five minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_5m: Option<f64>,
    /// CPUs that other programs used while we measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others_cpus: Option<f64>,
    /// Time that the hypervisor gave to other machines while we measured, as a share of all CPUs' time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal_share: Option<f64>,
    /// Time for which the control group was held back while we measured, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled_s: Option<f64>,
    /// Share of the last ten seconds, before the measurement, in which something waited for a CPU, memory or a disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pressure: Option<Pressure>,
    /// What a thread that only looks at the clock misses.
    pub jitter: Jitter,
}

/// Share of the last ten seconds in which some program waited, from 0 to 1.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pressure {
    /// For a CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<f64>,
    /// For memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<f64>,
    /// For a disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io: Option<f64>,
}

/// Gaps between readings of the clock that lay more than 10 µs apart: the thread did not run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Jitter {
    /// How long the clock was looked at.
    pub window_s: f64,
    /// How many gaps there were.
    pub gaps: u32,
    /// The longest gap, in seconds; absent where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_s: Option<f64>,
    /// The part of the window that was lost in gaps.
    pub lost_share: f64,
}
