//! What a subject is asked to do.
//!
//! The workloads are SmallMind's, with its names for the same work: `standard` (a model generates), `deep` (a larger one, and
//! kernels), `enhanced` (29 rows: kernels, tensors, two models), `memory` (what keeping memory saves, measured with and
//! without).

mod deep;
mod enhanced;
mod inference;
mod kernel_rows;
mod memory;
mod model_rows;
mod side_by_side;
mod standard;
mod tokens;

use record::{Correctness, Memory, Model, Profile, WorkloadKind};

use crate::recorder::RunRecorder;
use crate::{ModelChoice, Models};

pub use kernel_rows::Arithmetic;
pub use side_by_side::{Contender, ModelRounds, QualityText, RoundWork, SideBySide, side_by_side};
pub(crate) use tokens::at_random as tokens_at_random;

/// Which workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Workload {
    /// A model generates, again and again.
    #[default]
    Standard,
    /// A larger model generates; products of matrices beside it.
    Deep,
    /// Kernels, tensors and two models: 29 rows.
    Enhanced,
    /// What pooling, working in place and fusing save.
    Memory,
}

impl Workload {
    /// All of them.
    pub const ALL: [Workload; 4] = [Workload::Standard, Workload::Deep, Workload::Enhanced, Workload::Memory];

    /// As people type it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Workload::Standard => "standard",
            Workload::Deep => "deep",
            Workload::Enhanced => "enhanced",
            Workload::Memory => "memory",
        }
    }

    /// As records say it.
    #[must_use]
    pub fn kind(self) -> WorkloadKind {
        match self {
            Workload::Standard => WorkloadKind::Standard,
            Workload::Deep => WorkloadKind::Deep,
            Workload::Enhanced => WorkloadKind::Enhanced,
            Workload::Memory => WorkloadKind::Memory,
        }
    }
}

/// What decides the work, beside the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Which workload.
    pub workload: Workload,
    /// What the model goes on from; `None`: as many random tokens as the workload had in SmallMind.
    pub prompt: Option<String>,
    /// Tokens of each inference; `None`: as many as SmallMind's.
    pub tokens: Option<usize>,
    /// The RNG seed of the random tokens.
    pub seed: u64,
    /// Calls kept of each thread, to see them on a line of time.
    pub timeline: Option<usize>,
    /// Whether a model was named: then it takes the place of the workload's own.
    pub has_model: bool,
}

/// What came out beside rows and samples.
#[derive(Debug, Clone, Default)]
pub(crate) struct WorkloadResult {
    pub(crate) models: Vec<Model>,
    pub(crate) memory: Vec<Memory>,
    pub(crate) profile: Option<Profile>,
    pub(crate) correctness: Option<Correctness>,
    pub(crate) prompt_blake3: Option<String>,
    /// Tokens of the prompt and of each inference.
    pub(crate) prompt_tokens: Option<usize>,
    pub(crate) tokens: Option<usize>,
    /// Remarks that help to understand the figures.
    pub(crate) notes: Vec<String>,
}

/// Does the work.
pub(crate) fn run(
    task: &Task,
    models: &dyn Models,
    with: Arithmetic<'_>,
    recorder: &mut RunRecorder<'_>,
) -> Result<WorkloadResult, String> {
    match task.workload {
        Workload::Standard => standard::run(task, models, recorder),
        Workload::Deep => deep::run(task, models, with, recorder),
        Workload::Enhanced => enhanced::run(task, models, with, recorder),
        Workload::Memory => memory::run(task, models, with, recorder),
    }
}

/// Everything is timed that takes long enough, the rest is counted and sampled; see `hotloop::Config::budget`. A timeline has gaps where
/// calls are only counted: who wants one gets all.
#[must_use]
pub fn profiler(timeline: Option<usize>) -> hotloop::Config {
    let usual = hotloop::Config::new();
    if timeline.is_some() { usual.timeline(timeline).budget(None) } else { usual }
}

/// From here on, and from nothing.
fn start_profiler(task: &Task) {
    profiler(task.timeline).start();
    hotloop::reset();
}

/// What was recorded; nothing is recorded any more, and what was is forgotten.
///
/// # Errors
/// If it cannot be read.
pub fn take_profile() -> Result<Profile, String> {
    hotloop::stop();
    let profile = Profile::from_json(&hotloop::snapshot().to_json());
    hotloop::reset();
    profile.map_err(|error| format!("cannot read the profile: {error}"))
}

/// The model of a workload: the one that was named, or its own.
fn model_of(task: &Task, own: ModelChoice) -> ModelChoice {
    if task.has_model { ModelChoice::Given } else { own }
}
