//! Processes that work on demand: what they and the duel say to each other, line by line, in JSON.
//!
//! A worker says `{"ready":1}` when it can begin, with the version of what is said here. Then each line of its input asks for a
//! round, `{"calls":10,"profiled":false}`, and each line of its output answers: `{"reading":{"values":{"wall_s":0.25}}}`, or
//! `{"error":"…"}`. It ends when its input does. Its standard error is free; the last of it is shown where it fails.

mod process;
mod serve;

use serde::{Deserialize, Serialize};

pub use process::Worker;
pub use serve::serve;

use super::Reading;

/// Raised when what is said changes.
const VERSION: u32 = 1;

/// What a worker is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Request {
    calls: u64,
    #[serde(default)]
    profiled: bool,
}

/// What a worker says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    /// It can begin, and speaks this version.
    Ready(u32),
    /// It did a round.
    Reading(Box<Reading>),
    /// It could not.
    Error(String),
}
