//! Where a run comes from that another program measured.

use serde::{Deserialize, Serialize};

/// What a run was made of, and how far it can be trusted: another program measured it, and wrote of it what it thought worth
/// writing.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Imported {
    /// The format, such as `smallmind-enhanced`.
    pub format: String,
    /// What the text was called that it was read from, usually a file.
    pub source: String,
    /// BLAKE3 of that text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_blake3: Option<String>,
    /// Which of several runs in that text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Whether everything was measured once: from what differs to another run nothing follows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub single_shot: bool,
    /// Whether the samples are means or medians that the other program made, not what it measured.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub summarised: bool,
    /// What stands in that text and is not in this run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<Unread>,
}

/// A part of a text that was not read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unread {
    /// Its line, counted from 1, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The line, or the place in a document.
    pub text: String,
    /// Why it was not read.
    pub why: String,
}
