//! What is kept: plain data with a JSON form and a version. There is no logic here, so that everything that is shown can
//! be computed again from what was kept.
//!
//! What is not known is absent: never a zero, never a guess.

mod bench;
mod comparison;
mod counters;
mod doctor;
mod duel;
mod gate;
mod generation;
mod history;
mod importing;
mod limits;
mod machine;
mod models;
mod noise;
mod quantisation;
mod run;
mod selftest;
mod tokens;
mod training;
mod verdict;

pub use bench::{BENCH_ROW_SCHEMA, BENCH_SCHEMA, BENCH_VERSION, Bench, BenchRow, BenchSettings, SkippedTest};
pub use comparison::{
    COMPARISON_SCHEMA, COMPARISON_VERSION, ComparedRun, Comparison, KernelChange, ModelChange, Presence, RowChange,
    ScopeChange, ScopeFigures, StoredModel, Total, Totals, WorkRate,
};
pub use counters::Counters;
pub use doctor::{DOCTOR_SCHEMA, DOCTOR_VERSION, Doctor, Tool};
pub use duel::{
    Agreement, Arm, DUEL_SCHEMA, DUEL_VERSION, Design, Difference, Duel, ENVIRONMENT_METRICS, Finding, GateMetric,
    LaunchProfile, PathTime, TimeDifference, Waterfall, WaterfallPart,
};
pub use gate::{
    Acceptance, AcceptanceState, Budget, BudgetState, CellState, Drift, GATE_SCHEMA, GATE_VERSION, Gate, GateCell,
    Reason, ReasonSubject, Revision,
};
pub use generation::{
    GENERATION_SCHEMA, GENERATION_VERSION, GeneratedText, GeneratingModel, Generation, GenerationMemory,
    GenerationSettings, GenerationSpeed,
};
pub use history::{HISTORY_SCHEMA, HISTORY_VERSION, History, StoreFault, StoredRun};
pub use importing::{IMPORTING_SCHEMA, IMPORTING_VERSION, ImportedFile, ImportedRun, Importing};
pub use limits::{Compute, Level, Limits, Rate};
pub use machine::{
    Cache, CacheKind, Cgroup, Clock, CoreKind, Cpu, Frequency, HugePages, InstructionSets, Machine, NumaNode,
    ProfilerClock,
};
pub use models::{
    Figure, Fitness, LimitShare, MODELS_SCHEMA, MODELS_VERSION, MeasuredModel, ModelMemory, ModelQuality, ModelSpeed,
    Models, Ranking, Scaling, ScalingPoint, SpeedComparison, SpeedVerdict, ThreadPoint, ThreadScaling, TokenTimes,
    Trade,
};
pub use noise::{Jitter, Noise, Pressure};
pub use quantisation::{QUANTISATION_SCHEMA, QUANTISATION_VERSION, Quantisation, QuantisedTensor};
pub use run::{
    Allocations, Arithmetic, Better, Build, Correctness, DecodeTimes, DurationCounts, Environment, EnvironmentHead,
    Git, Imported, Interruptions, Losses, MachineHead, Memory, MemoryPart, Metric, Model, OwnCost, Per, Phase,
    ProcessUse, Profile, ProfileClock, Quality, RUN_SCHEMA, RUN_VERSION, Row, Run, RunHead, Sample, Scope, Subject,
    Thread, Timeline, UnknownFields, Unread, Workload, WorkloadKind,
};
pub use selftest::{SELF_TEST_SCHEMA, SELF_TEST_VERSION, SelfTest, Trial, WordCount};
pub use tokens::{TOKENS_SCHEMA, TOKENS_VERSION, Token, Tokens};
pub use training::{
    TRAINING_SCHEMA, TRAINING_VERSION, Training, TrainingCheckpoint, TrainingEnd, TrainingEpoch, TrainingEvent,
    TrainingPhases, TrainingSample, TrainingStart, TrainingStep, TrainingValidation,
};
pub use verdict::{Change, Judgement, Verdict};

/// The fields that every document begins with.
#[derive(serde::Deserialize)]
#[serde(expecting = "a document with `schema` and `version`")]
struct Head {
    schema: Option<String>,
    version: Option<u32>,
}

/// Whether a text is a document of this schema, in a version that is known: asked first, because a later version may have
/// any shape.
fn check_version(text: &str, schema: &str, newest: u32) -> Result<(), String> {
    let head: Head = serde_json::from_str(text).map_err(|error| error.to_string())?;
    match (head.schema, head.version) {
        (Some(found), Some(version)) if found == schema && version <= newest => Ok(()),
        (Some(found), Some(version)) if found == schema => {
            Err(format!("version {version} of `{schema}` is newer than {newest}, the newest that is known here"))
        }
        (Some(found), _) if found != schema => Err(format!("the schema is `{found}`, not `{schema}`")),
        _ => Err(format!("it does not say that it is `{schema}`, nor which version")),
    }
}
