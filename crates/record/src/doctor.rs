//! The document that `hotloop doctor --json` prints.

use serde::{Deserialize, Serialize};

use crate::{Counters, Limits, Machine, Noise};

/// The schema of the document.
pub const DOCTOR_SCHEMA: &str = "hotloop-doctor";
/// Increased when a field changes its meaning or is removed, not when fields are added.
pub const DOCTOR_VERSION: u32 = 1;

/// What a machine is and can do, and how quiet it was at that time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Doctor {
    /// [`DOCTOR_SCHEMA`].
    pub schema: String,
    /// [`DOCTOR_VERSION`] of the program that wrote it.
    pub version: u32,
    /// The program that wrote it.
    pub tool: Tool,
    /// When, in UTC, as RFC 3339 has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
    /// Whether it was measured in a hurry.
    pub quick: bool,
    /// How long that took.
    pub duration_s: f64,
    /// What the machine is.
    pub machine: Machine,
    /// What it can do.
    pub limits: Limits,
    /// What disturbed the measurement.
    pub noise: Noise,
    /// The CPU's counters.
    pub counters: Counters,
}

/// The program that wrote a document.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}
