//! The document that `hotloop history --json` prints.

use serde::{Deserialize, Serialize};

use crate::Tool;

/// The schema of the document.
pub const HISTORY_SCHEMA: &str = "hotloop-history";
/// Increased when a field changes its meaning or is removed, not when fields are added.
pub const HISTORY_VERSION: u32 = 1;

/// The runs of a store, newest first.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct History {
    /// [`HISTORY_SCHEMA`].
    pub schema: String,
    /// [`HISTORY_VERSION`] of the program that wrote it.
    pub version: u32,
    /// The program that wrote it.
    pub tool: Tool,
    /// The folder.
    pub store: String,
    /// How many runs were asked for by the filters; more than `runs` has where there was a limit.
    pub matching: u64,
    /// The runs.
    pub runs: Vec<StoredRun>,
    /// What is in the store and cannot be listed.
    pub faults: Vec<StoreFault>,
}

/// The listed fields of a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct StoredRun {
    /// BLAKE3 of its text.
    pub id: String,
    /// When it began, by RFC 3339 in UTC.
    pub created: String,
    /// What was measured.
    pub subject: String,
    /// Its version, where it tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject_version: Option<String>,
    /// The commit it was built from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Whether files differed from that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dirty: Option<bool>,
    /// The profile of its build.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The machine.
    pub machine_key: String,
    /// The workload.
    pub workload: String,
    /// The models that it used.
    pub models: Vec<String>,
    /// Threads, where the run has one number of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u64>,
    /// Tokens generated per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decode_tokens_per_s: Option<f64>,
    /// Whether it was interrupted.
    pub interrupted: bool,
    /// How many things went wrong.
    pub failures: u64,
    /// The version of the record.
    pub schema_version: u32,
    /// Names that people gave it.
    pub tags: Vec<String>,
    /// Its file.
    pub path: String,
}

/// Something in the store that cannot be listed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StoreFault {
    /// Where it is.
    pub path: String,
    /// What is wrong with it.
    pub message: String,
}
