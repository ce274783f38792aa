//! The head of a run: the fields that lists of runs show.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::{Model, Phase, RUN_SCHEMA, RUN_VERSION, Row, Run, Sample, Subject, Workload};
use crate::document::{self, DocumentError};

/// The row of tokens that are generated one by one.
const DECODE: &str = "decode";

/// What lists of runs show. Call trees are passed over, and samples but for one value, which is several times faster than
/// reading them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct RunHead {
    /// See [`Run`], here and below.
    pub version: u32,
    /// When it began.
    pub created: String,
    /// What was measured.
    pub subject: Subject,
    /// The models that it used.
    #[serde(default)]
    pub models: Vec<Model>,
    /// The workload.
    pub workload: Workload,
    /// The environment of the measurement.
    pub environment: EnvironmentHead,
    /// What was repeated.
    #[serde(default)]
    pub rows: Vec<Row>,
    /// Of its samples, what tells how fast it generated.
    #[serde(default, rename = "samples")]
    pub decoded: DecodeTimes,
    /// Whether it was interrupted.
    #[serde(default)]
    pub interrupted: bool,
    /// Failures.
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

/// The seconds of each sample that counts of the row `decode`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DecodeTimes {
    /// In the order of the samples.
    pub wall_s: Vec<f64>,
    /// Whether they are of several sides of a comparison, so that no figure is that of the run.
    pub is_of_several_arms: bool,
}

impl<'de> Deserialize<'de> for DecodeTimes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Samples)
    }
}

/// Goes through samples one by one and keeps none.
struct Samples;

impl<'de> Visitor<'de> for Samples {
    type Value = DecodeTimes;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of samples")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut samples: A) -> Result<DecodeTimes, A::Error> {
        let mut decoded = DecodeTimes::default();
        let mut first_arm: Option<Option<Cow<'de, str>>> = None;
        while let Some(SampleHead { row, phase, arm, values }) = samples.next_element()? {
            let (DECODE, Phase::Timed, Wall(Some(wall_s))) = (&*row, phase, values) else { continue };
            decoded.wall_s.push(wall_s);
            decoded.is_of_several_arms |= *first_arm.get_or_insert_with(|| arm.clone()) != arm;
        }
        Ok(decoded)
    }
}

#[derive(Deserialize)]
struct SampleHead<'a> {
    #[serde(borrow)]
    row: Cow<'a, str>,
    phase: Phase,
    #[serde(borrow, default)]
    arm: Option<Cow<'a, str>>,
    values: Wall,
}

#[derive(Deserialize)]
#[serde(field_identifier)]
enum Metric {
    #[serde(rename = "wall_s")]
    Wall,
    #[serde(other)]
    Other,
}

/// Of all values only this one.
struct Wall(Option<f64>);

impl<'de> Deserialize<'de> for Wall {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Values;
        impl<'de> Visitor<'de> for Values {
            type Value = Wall;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("values by the names of metrics")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut values: A) -> Result<Wall, A::Error> {
                let mut wall = Wall(None);
                while let Some(metric) = values.next_key()? {
                    match metric {
                        Metric::Wall => wall.0 = Some(values.next_value()?),
                        Metric::Other => drop(values.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(wall)
            }
        }
        deserializer.deserialize_map(Values)
    }
}

impl RunHead {
    /// Tokens of one sample of the row `decode`; `None` where there is no such row, or several.
    pub fn decode_tokens(&self) -> Option<f64> {
        let mut rows = self.rows.iter().filter(|row| row.name == DECODE);
        let row = rows.next().filter(|_| rows.next().is_none())?;
        Some(row.calls as f64 * row.tokens?)
    }

    /// Reads it from the JSON of a run, all of which has to be JSON.
    ///
    /// # Errors
    /// What is wrong and where, for another document or a run of a later version.
    pub fn from_json(text: &str) -> Result<Self, DocumentError> {
        document::read(text, RUN_SCHEMA, RUN_VERSION)
    }
}

impl From<&Run> for RunHead {
    fn from(run: &Run) -> Self {
        let machine = MachineHead { machine_key: run.environment.machine.machine_key.clone() };
        Self {
            version: run.version,
            created: run.created.clone(),
            subject: run.subject.clone(),
            models: run.models.clone(),
            workload: run.workload.clone(),
            environment: EnvironmentHead { machine },
            rows: run.rows.clone(),
            decoded: DecodeTimes::of(&run.samples),
            interrupted: run.interrupted,
            failures: run.failures.clone(),
        }
    }
}

impl DecodeTimes {
    fn of(samples: &[Sample]) -> Self {
        let decoded = samples.iter().filter(|sample| sample.row == DECODE && sample.phase == Phase::Timed);
        let decoded = decoded.filter_map(|sample| Some((&sample.arm, *sample.values.get("wall_s")?)));
        let (arms, wall_s): (Vec<_>, Vec<f64>) = decoded.unzip();
        Self { wall_s, is_of_several_arms: arms.iter().any(|arm| *arm != arms[0]) }
    }
}
