//! A profile as data: the call tree of a program, its threads, and what the profiler itself cost.

use crate::units::raise;

/// Everything that the profiler recorded. Times are in nanoseconds and without its own cost.
///
/// The self times of all scopes, `outside_ns`, `waiting_ns` and the own cost sum to the threads' wall time.
#[derive(Debug, Clone, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Profile {
    /// Time in which recording was on.
    pub wall_ns: u64,
    /// What timed the scopes.
    pub clock: ProfileClock,
    /// What the profiler itself cost.
    pub own_cost: OwnCost,
    /// The call tree of all threads, merged: parents before children, siblings by total time, longest first.
    pub scopes: Vec<Scope>,
    /// The threads that opened scopes.
    pub threads: Vec<Thread>,
    /// Time that threads spent outside any scope, from each one's first scope on.
    pub outside_ns: u64,
    /// Time that threads were ready to run but had no CPU, over all threads: in no scope's time. Absent where it was not
    /// measured.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub waiting_ns: Option<u64>,
    /// How interrupted calls were recognised; absent in runs of older versions.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub interruptions: Option<Interruptions>,
    /// Allocations outside any scope, the early ones included; absent where none were counted.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub outside_allocs: Option<Allocations>,
    /// Allocations of threads before their first scope, and of threads that have none.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub early_allocs: Option<Allocations>,
    /// The last calls of each thread, where a timeline was asked for.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub timeline: Vec<Timeline>,
    /// What could not be recorded as asked.
    pub lost: Losses,
}

/// What timed the scopes.
#[derive(Debug, Clone, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProfileClock {
    /// `counter`: the CPU's own; `os`: the operating system's.
    pub source: String,
    /// Why this one.
    pub why: String,
    /// The usual distance of two readings in a row.
    pub resolution_ns: f64,
}

/// How calls were recognised during which the thread lost its CPU.
#[derive(Debug, Clone, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interruptions {
    /// `rseq`: the kernel marks each interruption, and waiting is measured where it happens. `none`: interruptions are
    /// part of the scopes' times, and long timings of sampled scopes are held to what exactly timed parents allow.
    pub source: String,
    /// Why this one.
    pub why: String,
}

/// Calls by duration: two lists of the same length, shortest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DurationCounts {
    /// Durations, each the middle of a bucket.
    pub ns: Vec<u64>,
    /// Calls of each. A timed call of a sampled scope counts for the calls it stands for.
    pub calls: Vec<u64>,
}

/// One path of the call tree.
#[derive(Debug, Clone, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Scope {
    /// Qualified by module: `engine::model::qkv`.
    pub name: String,
    /// What tells it from others of the same name below the same parent.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub index: Option<u64>,
    /// Calls whose index lay beyond those kept apart, together.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "std::ops::Not::not"))]
    pub is_other_index: bool,
    /// Its parent's place in the list; it stands before this one.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub parent: Option<usize>,
    /// Source file.
    pub file: String,
    /// Line in it.
    pub line: u32,
    /// Calls begun; exact, also when sampled.
    pub calls: u64,
    /// Calls that were timed; fewer: times are estimates from these.
    pub timed_calls: u64,
    /// Whether only some of the calls were timed.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "std::ops::Not::not"))]
    pub is_sampled: bool,
    /// Calls that had not ended.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "is_zero"))]
    pub open_calls: u64,
    /// Time in it and all below it, summed over threads.
    pub total_ns: u64,
    /// Standard error of the total: of sampling, and of taking the profiler's cost out; absent without a budget.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub total_se_ns: Option<u64>,
    /// The part of it that other threads spent, attached to it.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "is_zero"))]
    pub attached_ns: u64,
    /// Time in it and not in any scope below it.
    pub self_ns: u64,
    /// Standard error of the self time, likewise.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub self_se_ns: Option<u64>,
    /// Time in it and all below it that its threads were ready to run but had no CPU: in no other time here.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "is_zero"))]
    pub waiting_ns: u64,
    /// The shortest timed call.
    pub min_ns: u64,
    /// The longest timed call.
    pub max_ns: u64,
    /// Half of the calls took no longer. Like the other percentiles, of a sampled scope an estimate.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub p50_ns: Option<u64>,
    /// 90 % of the calls took no longer.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub p90_ns: Option<u64>,
    /// 99 % of the calls took no longer.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub p99_ns: Option<u64>,
    /// Its calls by duration; absent where no percentiles were asked for, and in runs of older versions.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub durations: Option<DurationCounts>,
    /// Allocations made in it, not below; absent where none were counted.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub allocs: Option<Allocations>,
    /// Allocations made in it and all below it; absent where none were counted.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub allocs_total: Option<Allocations>,
    /// The most bytes live above the level at its entry, over all calls.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "is_zero"))]
    pub peak_live_bytes: u64,
    /// Floating-point operations declared.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "is_zero"))]
    pub flops: u64,
    /// Bytes declared.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "is_zero"))]
    pub bytes: u64,
    /// Tokens declared.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "is_zero"))]
    pub tokens: u64,
    /// Times entered, where that is not once per call: polls of an `async fn`.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "is_zero"))]
    pub polls: u64,
    /// From first poll to last, summed over the calls; 0 where it is no future.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "is_zero"))]
    pub elapsed_ns: u64,
    /// Threads that entered it.
    pub threads: u64,
}

/// Allocations and frees: how many and how many bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Allocations {
    /// Allocations.
    pub allocs: u64,
    /// Bytes allocated, growth by reallocation included.
    pub alloc_bytes: u64,
    /// Frees.
    pub frees: u64,
    /// Bytes freed, shrinkage by reallocation included.
    pub free_bytes: u64,
    /// Reallocations that succeeded.
    pub reallocs: u64,
}

/// What the profiler itself cost.
#[derive(Debug, Clone, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OwnCost {
    /// A timed scope, entry and exit.
    pub per_scope_ns: f64,
    /// The part of it that lies inside the scope's own time; subtracted.
    pub inside_scope_ns: f64,
    /// A scope that is only counted, when sampled.
    pub per_sampled_scope_ns: f64,
    /// Counting one allocation or free.
    pub per_alloc_ns: f64,
    /// All of it, over all threads.
    pub total_ns: u64,
    /// The share of the wall time that it took, on the thread where it took most.
    pub share_of_wall: f64,
    /// The share of a thread's CPU time that it took, on the thread where it took most; absent where the system does not
    /// tell a thread's CPU time, and in runs of older versions. The budget is judged by this.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub share_of_cpu: Option<f64>,
    /// The share that it may take; absent where every call is timed.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub budget: Option<f64>,
}

/// One thread, or several that ended, summed.
#[derive(Debug, Clone, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Thread {
    /// In the order of their first scopes.
    pub id: u64,
    /// Its name, if it has one.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub name: Option<String>,
    /// Whether it still ran.
    pub is_alive: bool,
    /// How many threads this is: more than one where ended threads are summed.
    pub count: u64,
    /// Scopes it opened.
    pub calls: u64,
    /// From its first scope to its end, or to the snapshot, while recording was on.
    pub wall_ns: u64,
    /// The part of it that lay in scopes.
    pub in_scopes_ns: u64,
    /// The part of it that the profiler took.
    pub own_cost_ns: u64,
    /// The part of it that the thread was ready to run but had no CPU; absent where it was not measured.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub waiting_ns: Option<u64>,
    /// CPU time of the thread meanwhile, as the system counts it; absent where it is not known.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub cpu_ns: Option<u64>,
    /// Allocations it made.
    pub allocs: u64,
    /// Bytes it allocated.
    pub alloc_bytes: u64,
}

/// The last calls of one thread, in the order in which they ended; three lists of the same length.
#[derive(Debug, Clone, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Timeline {
    /// The thread's `id`.
    pub thread: u64,
    /// Places in the list of scopes.
    pub scopes: Vec<usize>,
    /// When each began, since recording did.
    pub starts_ns: Vec<u64>,
    /// How long each took, the profiler's own cost included.
    pub durations_ns: Vec<u64>,
}

/// What could not be recorded as asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Losses {
    /// Timeline events that were overwritten by later ones.
    pub timeline_events: u64,
    /// Calls that found no room in the tree: counted nowhere else.
    pub calls_without_room: u64,
    /// Calls with an index beyond those a parent keeps apart.
    pub calls_with_other_index: u64,
    /// Scopes that ended in another order than they began.
    pub unbalanced_scopes: u64,
    /// Scopes opened while their thread was being torn down.
    pub scopes_after_thread_end: u64,
    /// Timings that are in no percentile because the memory for histograms was used up.
    pub timings_without_percentile: u64,
    /// Calls with an index that lay too deep for a row of their own: counted nowhere else.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "is_zero"))]
    pub calls_with_folded_index: u64,
    /// Scopes that were never ended (`longjmp`, a forgotten exit), closed when the profiler noticed.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "is_zero"))]
    pub leaked_scopes: u64,
}

#[cfg(feature = "serde")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Allocations {
    /// Adds others to them; sums that would be too large end at the largest number.
    pub fn add(&mut self, other: &Allocations) {
        raise(&mut self.allocs, other.allocs);
        raise(&mut self.alloc_bytes, other.alloc_bytes);
        raise(&mut self.frees, other.frees);
        raise(&mut self.free_bytes, other.free_bytes);
        raise(&mut self.reallocs, other.reallocs);
    }
}

impl Profile {
    /// Reads one from JSON, as [`Profile::to_json`] writes it.
    ///
    /// # Errors
    /// What is wrong and where.
    #[cfg(feature = "serde")]
    pub fn from_json(text: &str) -> Result<Self, String> {
        let profile: Profile = serde_json::from_str(text).map_err(|error| error.to_string())?;
        profile.fault().map_or(Ok(profile), Err)
    }

    /// What is wrong with its references, if anything: readers follow them without looking.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        let stray = self.scopes.iter().enumerate().find(|(at, scope)| scope.parent.is_some_and(|parent| parent >= *at));
        if let Some((at, scope)) = stray {
            return Some(format!("profile.scopes[{at}]: `{}` comes before its parent", scope.name));
        }
        let uneven = |counts: &DurationCounts| counts.ns.len() != counts.calls.len();
        let uneven = self.scopes.iter().position(|scope| scope.durations.as_ref().is_some_and(uneven));
        if let Some(at) = uneven {
            return Some(format!("profile.scopes[{at}].durations: lists of different lengths"));
        }
        self.timeline.iter().enumerate().find_map(|(at, timeline)| {
            let count = timeline.scopes.len();
            if timeline.starts_ns.len() != count || timeline.durations_ns.len() != count {
                return Some(format!("profile.timeline[{at}]: lists of different lengths"));
            }
            let stray = timeline.scopes.iter().find(|scope| **scope >= self.scopes.len())?;
            Some(format!("profile.timeline[{at}]: no scope {stray}"))
        })
    }
}
