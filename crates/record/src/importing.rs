//! What was read of the files of other programs.

use serde::{Deserialize, Serialize};

use crate::{Run, Tool, Unread};

/// The schema of the document.
pub const IMPORTING_SCHEMA: &str = "hotloop-import";
/// Raised when the meaning of a field changes or one goes away.
pub const IMPORTING_VERSION: u32 = 1;

/// What became of files that were imported.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Importing {
    /// [`IMPORTING_SCHEMA`].
    pub schema: String,
    /// [`IMPORTING_VERSION`].
    pub version: u32,
    /// The program that wrote it.
    pub tool: Tool,
    /// The files that were read, in their order.
    pub files: Vec<ImportedFile>,
    /// Those that were not, and why.
    pub failures: Vec<String>,
}

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ImportedFile {
    /// Its path, as it was given.
    pub path: String,
    /// What it was read as.
    pub format: String,
    /// What it had in it.
    pub runs: Vec<ImportedRun>,
    /// What of it is in no run.
    pub unread: Vec<Unread>,
}

/// A run of a file.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ImportedRun {
    /// Its id, where it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The file that the same text was imported from before; `id` is the run that was kept then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy_of: Option<String>,
    /// The run.
    pub run: Run,
}
