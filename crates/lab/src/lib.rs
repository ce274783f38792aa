//! Where things are measured: what the machine is, what it can do, how quiet it is; and what a subject takes for its work.
//!
//! The lab knows no engine: it asks a [`Generator`] for tokens, and whoever knows an engine makes one of it.

pub mod command;
mod course;
mod doctor;
pub mod duel;
mod folder;
pub mod gate;
mod generator;
mod identity;
mod limits;
pub mod machine;
mod meter;
mod order;
mod run;
pub mod selftest;
pub mod sequences;
mod sitting;
pub mod training;
mod workload;

pub use course::{Effort, Watch};
pub use doctor::{Options, Step, examine, now};
pub use folder::Folder;
pub use generator::{Generator, Models, Outline, Room, Scored, Use, Which};
pub use identity::blake3_of;
pub use meter::{cpu_s, peak_rss};
pub use run::{Settings, run};
pub use sitting::Sitting;
pub use workload::{
    Arithmetic, Contender, ModelRounds, SideBySide, Task, Text, Work, Workload, profiler, side_by_side, take_profile,
};
