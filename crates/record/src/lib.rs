//! The documents: plain data with a JSON form and a version. There is no logic here, so that everything that is shown
//! can
//! be computed again from what was stored.
//!
//! Unknown values are absent: never zero, never a guess.

mod bench;
mod comparison;
mod counters;
mod doctor;
mod document;
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
pub use document::DocumentError;
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
