//! The beginning of a run: what lists of runs show.

use serde::Deserialize;

use super::{Model, RUN_SCHEMA, RUN_VERSION, Row, Subject, Workload};

/// What lists of runs show. Samples and call trees are passed over, which is several times faster than reading them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct RunHead {
    /// See [`Run`](super::Run), here and below.
    pub version: u32,
    /// When it began.
    pub created: String,
    /// What was measured.
    pub subject: Subject,
    /// The models it worked with.
    #[serde(default)]
    pub models: Vec<Model>,
    /// What it was asked to do.
    pub workload: Workload,
    /// Where that happened.
    pub environment: EnvironmentHead,
    /// What was repeated.
    #[serde(default)]
    pub rows: Vec<Row>,
    /// Whether it was broken off.
    #[serde(default)]
    pub interrupted: bool,
    /// What went wrong.
    #[serde(default)]
    pub failures: Vec<String>,
}

/// What lists show of an environment.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct EnvironmentHead {
    /// The machine.
    pub machine: MachineHead,
}

/// What lists show of a machine.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct MachineHead {
    /// See [`Machine`](crate::Machine).
    pub machine_key: String,
}

impl RunHead {
    /// Reads it from the JSON of a run, all of which has to be JSON.
    ///
    /// # Errors
    /// What is wrong and where, if it is no run or one of a later version.
    pub fn from_json(text: &str) -> Result<Self, String> {
        crate::check_version(text, RUN_SCHEMA, RUN_VERSION)?;
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    /// The version of a text that says it is a run, whichever that is.
    pub fn version_in(text: &str) -> Option<u32> {
        let head: crate::Head = serde_json::from_str(text).ok()?;
        head.version.filter(|_| head.schema.as_deref() == Some(RUN_SCHEMA))
    }
}
