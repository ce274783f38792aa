//! What is kept: plain data with a JSON form and a version. There is no logic here, so that everything that is shown can
//! be computed again from what was kept.
//!
//! What is not known is absent: never a zero, never a guess.

mod counters;
mod doctor;
mod generation;
mod limits;
mod machine;
mod noise;
mod quantisation;

pub use counters::Counters;
pub use doctor::{DOCTOR_SCHEMA, DOCTOR_VERSION, Doctor, Tool};
pub use generation::{
    GENERATION_SCHEMA, GENERATION_VERSION, GeneratedText, GeneratingModel, Generation, GenerationMemory,
    GenerationSettings, GenerationSpeed,
};
pub use limits::{Compute, Level, Limits, Rate};
pub use machine::{
    Cache, CacheKind, Cgroup, Clock, CoreKind, Cpu, Frequency, HugePages, InstructionSets, Machine, NumaNode,
    ProfilerClock,
};
pub use noise::{Jitter, Noise, Pressure};
pub use quantisation::{QUANTISATION_SCHEMA, QUANTISATION_VERSION, Quantisation, QuantisedTensor};
