//! Measures machines (hardware, limits, noise), models, commands and duels.
//!
//! The lab does not depend on an engine: it asks a [`Generator`] for tokens, which the caller implements.

pub mod command;
mod doctor;
pub mod duel;
mod environment;
mod folder;
pub mod gate;
mod generator;
mod identity;
mod limits;
pub mod machine;
mod metrics;
mod order;
mod recorder;
mod run;
pub mod selftest;
pub mod sequences;
pub mod training;
mod workload;

pub use doctor::{ExamineOptions, ExamineStep, examine, now};
pub use environment::EnvironmentRecorder;
pub use folder::Folder;
pub use generator::{Generator, ModelChoice, ModelOutline, ModelUse, Models, ReservedMemory, TextScore};
pub use identity::blake3_of;
pub use metrics::{cpu_s, peak_rss};
pub use recorder::{RepeatSettings, RunObserver};
pub use run::{RunSettings, run};
pub use workload::{
    Arithmetic, Contender, ModelRounds, QualityText, RoundWork, SideBySide, Task, Workload, profiler, side_by_side,
    take_profile,
};
