//! What was recorded, as data.

mod build;
mod conversion;

use profile::{CallTree, Profile};

use crate::clock::{self, ClockInfo};
use crate::tree::{self, Collected, Losses};
use build::{Durations, Merged, Scale, alloc_stats, own_cost};

/// Everything recorded since the last reset.
///
/// All times are in nanoseconds and without the profiler's own cost, which stands in [`own_cost`](Self::own_cost).
/// The self times of all scopes, [`outside_ns`](Self::outside_ns), [`waiting_ns`](Self::waiting_ns) and the own cost sum to
/// the threads' wall time.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Snapshot {
    /// Whether the program was built with the feature `enabled`; without it all else is empty.
    pub enabled: bool,
    /// Time in which recording was on.
    pub wall_ns: u64,
    /// What timed the scopes.
    pub clock: ClockInfo,
    /// What the profiler itself cost.
    pub own_cost: OwnCost,
    /// The call tree of all threads, merged: parents before children, siblings by total time, longest first.
    pub scopes: Vec<ScopeStats>,
    /// The threads that opened scopes.
    pub threads: Vec<ThreadStats>,
    /// Time that threads spent outside any scope, from each one's first scope on.
    pub outside_ns: u64,
    /// Time that threads were ready to run but had no CPU, over all threads: in no scope's time. `None` where it is not
    /// measured.
    pub waiting_ns: Option<u64>,
    /// How interrupted calls are recognised.
    pub interruptions: InterruptionInfo,
    /// Allocations outside any scope, [`early_allocs`](Self::early_allocs) included.
    pub outside_allocs: AllocStats,
    /// Allocations of threads before their first scope, and of threads that have none: in no thread's count.
    pub early_allocs: AllocStats,
    /// Whether allocations were counted.
    pub allocations_counted: bool,
    /// The last calls of each thread, where a timeline was asked for.
    pub timeline: Vec<ThreadTimeline>,
    /// What could not be recorded as asked.
    pub lost: Losses,
}

/// How calls are recognised during which the thread lost its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InterruptionInfo {
    /// What reports them.
    pub source: InterruptionSource,
    /// Why this one.
    pub why: &'static str,
}

/// What reports interruptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterruptionSource {
    /// The kernel marks each one in the thread's `rseq` area, and waiting is measured where it happens.
    Rseq,
    /// Nothing: they are part of the scopes' times, and long timings of sampled scopes are held to what exactly timed
    /// parents allow.
    None,
}

/// One scope: a path of the call tree, or a name summed over it.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ScopeStats {
    /// Qualified by module: `engine::model::qkv`.
    pub name: String,
    /// What tells it from others of the same name below the same parent.
    pub index: Option<u64>,
    /// Calls whose index lay beyond those kept apart, together.
    pub is_other_index: bool,
    /// Its parent's place in [`Snapshot::scopes`].
    pub parent: Option<usize>,
    /// 0 at the top.
    pub depth: usize,
    /// Source file.
    pub file: &'static str,
    /// Line in it.
    pub line: u32,
    /// Calls begun; exact, also when sampled.
    pub calls: u64,
    /// Calls (of an `async fn`: polls) that were timed. Fewer than ended: times are estimates from these.
    pub timed_calls: u64,
    /// Whether only some of the calls were timed, to stay within the budget.
    pub is_sampled: bool,
    /// Calls that had not ended.
    pub open_calls: u64,
    /// Time in it and all below it, summed over threads.
    pub total_ns: u64,
    /// Standard error of the total: of sampling, and of taking the profiler's cost out; `None` without a budget.
    pub total_se_ns: Option<u64>,
    /// The part of it that other threads spent, attached to it.
    pub attached_ns: u64,
    /// Time in it and not in any scope below it.
    pub self_ns: u64,
    /// Standard error of the self time, likewise.
    pub self_se_ns: Option<u64>,
    /// Time in it and all below it that its threads were ready to run but had no CPU: in no other time here.
    pub waiting_ns: u64,
    /// The shortest timed call; 0 where none was. Like the longest and the percentiles, it is without the profiler's own
    /// cost inside the call as far as that follows from the mean; of an `async fn` it is the shortest poll.
    pub min_ns: u64,
    /// The longest timed call. Of a sampled scope, the longest of those that were timed.
    pub max_ns: u64,
    /// Half of the timed calls took no longer; within [`PERCENTILE_ERROR`](Snapshot::PERCENTILE_ERROR).
    pub p50_ns: Option<u64>,
    /// 90 % of the timed calls took no longer.
    pub p90_ns: Option<u64>,
    /// 99 % of the timed calls took no longer.
    pub p99_ns: Option<u64>,
    /// Allocations made in it, not below.
    pub allocs: AllocStats,
    /// Allocations made in it and all below it.
    pub allocs_total: AllocStats,
    /// The most bytes live above the level at its entry, on its thread, over all calls.
    pub peak_live_bytes: u64,
    /// Floating-point operations declared.
    pub flops: u64,
    /// Bytes declared.
    pub bytes: u64,
    /// Tokens declared.
    pub tokens: u64,
    /// Times entered, where that is not once per call: polls of an `async fn`.
    pub polls: u64,
    /// From first poll to last, summed over the calls; 0 where it is no future.
    pub elapsed_ns: u64,
    /// Threads that entered it; where names are summed, at least so many.
    pub threads: u64,
    /// Time on the calling threads of calls inside calls of the same name: not part of the total, but part of the mean.
    nested_ns: u64,
    /// Which threads, as far as their numbers fit.
    thread_set: u128,
    durations: Durations,
}

/// Allocations and frees: how many and how many bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AllocStats {
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

/// What the profiler itself cost, measured by it at the start.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
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
    /// The share of a thread's CPU time that it took, on the thread where it took most; `None` where the system does not
    /// tell. The budget is judged by this.
    pub share_of_cpu: Option<f64>,
    /// The share that it may take; `None` when every call is timed.
    pub budget: Option<f64>,
}

/// One thread, or several that ended, summed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ThreadStats {
    /// In the order of their first scopes.
    pub id: u64,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Whether it still ran.
    pub is_alive: bool,
    /// How many threads this is: more than one where ended threads are summed.
    pub count: u64,
    /// Scopes it opened.
    pub calls: u64,
    /// From its first scope to its end, or now, while recording was on.
    pub wall_ns: u64,
    /// The part of it that lay in scopes.
    pub in_scopes_ns: u64,
    /// The part of it that the profiler took.
    pub own_cost_ns: u64,
    /// The part of it that the thread was ready to run but had no CPU; `None` where it is not measured.
    pub waiting_ns: Option<u64>,
    /// CPU time of the thread meanwhile, as the system counts it; `None` where it is not known.
    pub cpu_ns: Option<u64>,
    /// Allocations it made.
    pub allocs: u64,
    /// Bytes it allocated.
    pub alloc_bytes: u64,
}

/// The last calls of one thread.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ThreadTimeline {
    /// [`ThreadStats::id`].
    pub thread: u64,
    /// In the order in which they ended.
    pub events: Vec<TimelineEvent>,
}

/// One timed call.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct TimelineEvent {
    /// Its place in [`Snapshot::scopes`].
    pub scope: usize,
    /// Since recording began or was reset.
    pub start_ns: u64,
    /// How long it took, the profiler's own cost included.
    pub duration_ns: u64,
}

impl AllocStats {
    pub(crate) fn add(&mut self, other: &AllocStats) {
        self.allocs += other.allocs;
        self.alloc_bytes += other.alloc_bytes;
        self.frees += other.frees;
        self.free_bytes += other.free_bytes;
        self.reallocs += other.reallocs;
    }
}

impl ScopeStats {
    /// Mean time of a call (of an `async fn`: of all its polls together), without what other threads did for it.
    #[must_use]
    pub fn mean_ns(&self) -> f64 {
        if self.calls == 0 { 0.0 } else { (self.called_ns() + self.nested_ns) as f64 / self.calls as f64 }
    }

    /// Its calls by duration, shortest first: the middle of a bucket in nanoseconds, and how many calls. A timed call of a
    /// sampled scope counts for the calls it stands for.
    pub fn durations(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.durations.iter()
    }

    /// Its total, without what other threads did attached to it.
    fn called_ns(&self) -> u64 {
        self.total_ns.saturating_sub(self.attached_ns)
    }

    /// Declared operations per nanosecond of its time on the calling threads, which is GFLOP/s; `None` where none are
    /// declared.
    #[must_use]
    pub fn gflops(&self) -> Option<f64> {
        self.rate(self.flops)
    }

    /// Declared bytes per nanosecond of that time, which is GB/s; `None` where none are declared.
    #[must_use]
    pub fn gbytes_per_s(&self) -> Option<f64> {
        self.rate(self.bytes)
    }

    /// Declared tokens per second of that time; `None` where none are declared.
    #[must_use]
    pub fn tokens_per_s(&self) -> Option<f64> {
        self.rate(self.tokens).map(|per_ns| per_ns * 1e9)
    }

    fn rate(&self, work: u64) -> Option<f64> {
        (work > 0 && self.called_ns() > 0).then(|| work as f64 / self.called_ns() as f64)
    }

    /// Adds another site of the same name and index below the same parent.
    fn absorb(&mut self, other: &ScopeStats) {
        self.calls += other.calls;
        self.timed_calls += other.timed_calls;
        self.is_sampled |= other.is_sampled;
        self.open_calls += other.open_calls;
        self.total_ns += other.total_ns;
        self.total_se_ns = profile::error_of_sum_ns(self.total_se_ns, other.total_se_ns);
        self.attached_ns += other.attached_ns;
        self.self_ns += other.self_ns;
        self.self_se_ns = profile::error_of_sum_ns(self.self_se_ns, other.self_se_ns);
        self.waiting_ns += other.waiting_ns;
        if other.timed_calls > 0 && (self.timed_calls == other.timed_calls || other.min_ns < self.min_ns) {
            // The first with any timing, or a shorter one.
            self.min_ns = other.min_ns;
        }
        self.max_ns = self.max_ns.max(other.max_ns);
        self.allocs.add(&other.allocs);
        self.allocs_total.add(&other.allocs_total);
        self.peak_live_bytes = self.peak_live_bytes.max(other.peak_live_bytes);
        self.flops = self.flops.saturating_add(other.flops);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.polls += other.polls;
        self.elapsed_ns += other.elapsed_ns;
        self.thread_set |= other.thread_set;
        self.threads = self.threads.max(other.threads).max(self.thread_set.count_ones().into());
        self.durations.add(&other.durations);
    }
}

// The text says how far percentiles may be from the exact ones.
const _: () = assert!(tree::ERROR_BOUND == profile::PERCENTILE_ERROR);

impl Snapshot {
    /// How far a percentile may lie from the exact one, as a share of it.
    pub const PERCENTILE_ERROR: f64 = tree::ERROR_BOUND;

    pub(crate) fn take() -> Snapshot {
        if !crate::ENABLED {
            return Snapshot::empty(clock::info());
        }
        let collected = tree::collect();
        let scale = Scale::new();
        let mut merged = Merged::new(&collected, &scale);
        merged.sum_up();
        let (scopes, places) = merged.into_order();
        let counted = [collected.outside[0], collected.outside[2]].iter().any(|count| *count > 0);
        let mut snapshot = Snapshot {
            enabled: true,
            wall_ns: scale.ns(collected.wall_ticks as f64),
            own_cost: own_cost(&collected, &scale),
            threads: collected.threads.iter().map(|record| scale.thread(record)).collect(),
            timeline: scale.timeline(&collected, &places),
            lost: collected.lost,
            allocations_counted: counted || tree::allocations_counted(),
            scopes,
            ..Snapshot::empty(scale.clock)
        };
        snapshot.take_outside(&collected);
        snapshot
    }

    fn empty(clock: ClockInfo) -> Snapshot {
        Snapshot {
            enabled: false,
            wall_ns: 0,
            clock,
            own_cost: OwnCost::default(),
            scopes: Vec::new(),
            threads: Vec::new(),
            outside_ns: 0,
            waiting_ns: None,
            interruptions: tree::interruptions(),
            outside_allocs: AllocStats::default(),
            early_allocs: AllocStats::default(),
            allocations_counted: false,
            timeline: Vec::new(),
            lost: Losses::default(),
        }
    }

    fn take_outside(&mut self, collected: &Collected) {
        let known = |thread: &ThreadStats| thread.in_scopes_ns + thread.own_cost_ns + thread.waiting_ns.unwrap_or(0);
        let in_scopes: u64 = self.threads.iter().map(known).sum();
        if self.interruptions.source == InterruptionSource::Rseq {
            self.waiting_ns = self.threads.iter().map(|thread| thread.waiting_ns).sum();
        }
        let wall: u64 = self.threads.iter().map(|thread| thread.wall_ns).sum();
        self.outside_ns = wall.saturating_sub(in_scopes);
        let [allocs, alloc_bytes, frees, free_bytes, reallocs] = collected.outside;
        self.early_allocs = AllocStats { allocs, alloc_bytes, frees, free_bytes, reallocs };
        self.outside_allocs = self.early_allocs;
        if let Some(root) = collected.counters.first() {
            self.outside_allocs.add(&alloc_stats(root));
        }
    }

    /// Every name once, summed over the tree and all indices; longest total first.
    ///
    /// A scope inside another of the same name (recursion) adds its calls and self time, but not its total again.
    #[must_use]
    pub fn by_name(&self) -> Vec<ScopeStats> {
        let profile = Profile::from(self);
        CallTree::new(&profile).names.iter().map(|sum| conversion::summed(self, sum)).collect()
    }

    /// The scope of this name, summed over the tree: the qualified name, or the end of it (`qkv`, `model::qkv`). Where
    /// several names end so, the one with the longest total; see [`find_all`](Self::find_all).
    #[must_use]
    pub fn find(&self, name: &str) -> Option<ScopeStats> {
        self.find_all(name).into_iter().next()
    }

    /// The scopes that [`find`](Self::find) chooses from, longest total first: one, if the name is qualified.
    #[must_use]
    pub fn find_all(&self, name: &str) -> Vec<ScopeStats> {
        let mut found = self.by_name();
        match found.iter().position(|scope| scope.name == name) {
            Some(exact) => vec![found.swap_remove(exact)],
            None => {
                found.retain(|scope| scope.name.strip_suffix(name).is_some_and(|rest| rest.ends_with("::")));
                found
            }
        }
    }

    /// The report as text, with the first `n` of each ranking.
    #[must_use]
    pub fn report(&self, n: usize) -> String {
        crate::report::text(self, n)
    }

    /// As JSON on one line: what other programs read. What was not measured is absent.
    #[must_use]
    pub fn to_json(&self) -> String {
        Profile::from(self).to_json()
    }
}
