//! The run record: everything that is kept of one sitting. Reports are made from it, never the other way round.

mod head;
mod imported;
mod memory;
mod quality;
mod sample;
mod subject;
mod unknown;
mod workload;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use head::{DecodeTimes, EnvironmentHead, MachineHead, RunHead};
pub use imported::{Imported, Unread};
pub use memory::{Memory, MemoryPart, ProcessUse};
pub use profile::{
    Allocations, DurationCounts, Interruptions, Losses, OwnCost, Profile, ProfileClock, Scope, Thread, Timeline,
};
pub use quality::Quality;
pub use sample::{Better, Metric, Per, Phase, Row, Sample};
pub use subject::{Arithmetic, Build, Git, Model, Subject};
pub use unknown::UnknownFields;
pub use workload::{Correctness, Environment, Workload, WorkloadKind};

use crate::Tool;

/// What kind of document it is.
pub const RUN_SCHEMA: &str = "hotloop-run";
/// Raised when the meaning of a field changes or one goes away; new fields alone do not raise it.
pub const RUN_VERSION: u32 = 1;

/// One sitting: what was measured, on what, how, and what came out.
///
/// Raw samples are kept, so that statistics can be redone. What was not measured is absent, never zero.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Run {
    /// [`RUN_SCHEMA`].
    pub schema: String,
    /// [`RUN_VERSION`] of the program that wrote it.
    pub version: u32,
    /// The program that wrote it.
    pub tool: Tool,
    /// When it began, by RFC 3339 in UTC.
    pub created: String,
    /// What was measured.
    pub subject: Subject,
    /// The models it worked with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<Model>,
    /// What it was asked to do.
    pub workload: Workload,
    /// Where that happened.
    pub environment: Environment,
    /// What the names of values in samples mean.
    #[serde(default)]
    pub metrics: BTreeMap<String, Metric>,
    /// What was repeated, in the order in which it is shown.
    #[serde(default)]
    pub rows: Vec<Row>,
    /// Every repeat of every row, in the order of time.
    #[serde(default)]
    pub samples: Vec<Sample>,
    /// The call tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// Where the memory went, for each model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memory: Vec<Memory>,
    /// What the whole process took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessUse>,
    /// What tells whether the same was computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correctness: Option<Correctness>,
    /// How well each model knows a text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quality: Vec<Quality>,
    /// Whether it was broken off, so that less was measured than asked for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<String>,
    /// What has to be known to understand the figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Where it comes from, unless it was measured by this program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
    /// Fields that this program does not know, to be written again.
    #[serde(skip)]
    pub unknown: UnknownFields,
}

impl Run {
    /// As indented JSON, with all that was unknown when it was read.
    #[must_use]
    pub fn to_json(&self) -> String {
        self.unknown.write(self)
    }

    /// Reads it from JSON. Fields that are not known are kept.
    ///
    /// # Errors
    /// What is wrong and where, if it is no run or one of a later version.
    pub fn from_json(text: &str) -> Result<Self, String> {
        crate::check_version(text, RUN_SCHEMA, RUN_VERSION)?;
        let (mut run, unknown): (Run, UnknownFields) = UnknownFields::read(text)?;
        if let Some(wrong) = run.profile.as_ref().and_then(Profile::fault) {
            return Err(wrong);
        }
        run.unknown = unknown;
        Ok(run)
    }

    /// The JSON Schema of runs.
    #[cfg(feature = "schema")]
    #[must_use]
    pub fn json_schema() -> String {
        let mut text = serde_json::to_string_pretty(&schemars::schema_for!(Run)).expect("a schema is plain data");
        text.push('\n');
        text
    }
}
