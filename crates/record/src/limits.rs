//! What a machine can do, as measured.

use serde::{Deserialize, Serialize};

/// The limits of a machine. What could not be measured is absent, and a note says why.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limits {
    /// How many threads `all` stands for.
    pub threads: u32,
    /// Additions and multiplications of f32.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub f32: Option<Compute>,
    /// Additions and multiplications of the dot product of u8 and i8 into i32.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub int8: Option<Compute>,
    /// Reading, from the level nearest to the core to the farthest.
    pub read: Vec<Level>,
    /// Remarks that help to understand the figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A limit of arithmetic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Compute {
    /// Of one thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub one: Option<Rate>,
    /// Of all threads together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all: Option<Rate>,
}

/// A limit of reading.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Level {
    /// `L1`, `L2`, `L3` or `DRAM`.
    pub name: String,
    /// Whether the memory was asked to have huge pages.
    pub huge_pages: bool,
    /// Bytes that one thread alone read over and over; 0: nothing was read.
    pub bytes_one: u64,
    /// The same for each of all threads.
    pub bytes_all: u64,
    /// Of one thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub one: Option<Rate>,
    /// Of all threads together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all: Option<Rate>,
}

/// A rate over many short windows of time. The limit is the best one; the others show what disturbed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rate {
    /// The fastest window, per second: operations or bytes.
    pub best: f64,
    /// Half of the windows were slower.
    pub median: f64,
    /// From the slowest tenth to the fastest, as a part of the best.
    pub spread: f64,
    /// How many windows.
    pub windows: u32,
    /// The instruction set of the best way that was tried.
    pub isa: String,
    /// The instructions, or how the memory was walked through.
    pub how: String,
    /// The part of the memory that really had huge pages, where the system tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub huge_share: Option<f64>,
}
