//! The run: everything that is stored of one measurement. Reports are made from it.

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
use crate::document::{self, DocumentError};

/// The schema of the document.
pub const RUN_SCHEMA: &str = "hotloop-run";
/// Increased when a field changes its meaning or is removed, not when fields are added.
pub const RUN_VERSION: u32 = 1;

/// One measurement: what was measured, where, how, and the results.
///
/// Raw samples are stored, so that statistics can be redone. What was not measured is absent, never zero.
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
    /// The models that it used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<Model>,
    /// The workload.
    pub workload: Workload,
    /// The environment of the measurement.
    pub environment: Environment,
    /// Definitions of the metrics in samples.
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
    /// Whether it was interrupted, so that less was measured than requested.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// Failures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<String>,
    /// Remarks that help to understand the figures.
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

    /// The same, checked: the text can be read again.
    ///
    /// # Errors
    /// Why it cannot: a number that JSON does not have, a reference that leads nowhere, another schema.
    pub fn to_readable_json(&self) -> Result<String, DocumentError> {
        let text = self.to_json();
        // Serde reads again whatever it writes, except NaN and infinities, which it writes as null.
        let is_sure = self.schema == RUN_SCHEMA
            && self.version == RUN_VERSION
            && self.unknown == UnknownFields::default()
            && self.profile.as_ref().is_none_or(|profile| profile.fault().is_none())
            && !text.contains("null");
        if !is_sure {
            Self::from_json(&text)?;
        }
        Ok(text)
    }

    /// Reads it from JSON. Fields that are not known are kept.
    ///
    /// # Errors
    /// What is wrong and where, for another document or a run of a later version.
    pub fn from_json(text: &str) -> Result<Self, DocumentError> {
        document::check_version(text, RUN_SCHEMA, RUN_VERSION)?;
        let (mut run, unknown): (Run, UnknownFields) = UnknownFields::read(text)?;
        if let Some(wrong) = run.profile.as_ref().and_then(Profile::fault) {
            return Err(DocumentError::Invalid(wrong));
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
