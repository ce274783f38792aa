//! A snapshot as a [`Profile`]: the form that records, reports and other programs share, in which all sums are made.

use profile::{
    Allocations, DurationCounts, Interruptions, OwnCost as ProfileCost, Profile, ProfileClock, Scope, ScopeSum, Thread,
    Timeline,
};

use super::{
    AllocStats, InterruptionInfo, InterruptionSource, OwnCost, ScopeStats, Snapshot, ThreadStats, ThreadTimeline,
};
use crate::clock::{ClockInfo, ClockSource};
use crate::tree::Losses;

impl From<&Snapshot> for Profile {
    fn from(snapshot: &Snapshot) -> Self {
        // Allocations of zero and allocations that were not counted are told apart by their absence.
        let counted = snapshot.allocations_counted;
        Profile {
            wall_ns: snapshot.wall_ns,
            clock: clock(&snapshot.clock),
            own_cost: own_cost(&snapshot.own_cost),
            scopes: snapshot.scopes.iter().map(|one| scope(one, counted)).collect(),
            threads: snapshot.threads.iter().map(thread).collect(),
            outside_ns: snapshot.outside_ns,
            waiting_ns: snapshot.waiting_ns,
            interruptions: Some(interruptions(&snapshot.interruptions)),
            outside_allocs: counted.then(|| allocations(&snapshot.outside_allocs)),
            early_allocs: counted.then(|| allocations(&snapshot.early_allocs)),
            timeline: snapshot.timeline.iter().map(timeline).collect(),
            lost: losses(&snapshot.lost),
        }
    }
}

fn clock(clock: &ClockInfo) -> ProfileClock {
    let source = match clock.source {
        ClockSource::Counter => "counter",
        ClockSource::Os => "os",
    };
    ProfileClock { source: source.to_owned(), why: clock.why.to_owned(), resolution_ns: clock.resolution_ns }
}

fn own_cost(cost: &OwnCost) -> ProfileCost {
    ProfileCost {
        per_scope_ns: cost.per_scope_ns,
        inside_scope_ns: cost.inside_scope_ns,
        per_sampled_scope_ns: cost.per_sampled_scope_ns,
        per_alloc_ns: cost.per_alloc_ns,
        total_ns: cost.total_ns,
        share_of_wall: cost.share_of_wall,
        share_of_cpu: cost.share_of_cpu,
        budget: cost.budget,
    }
}

fn scope(scope: &ScopeStats, counted: bool) -> Scope {
    Scope {
        name: scope.name.clone(),
        index: scope.index,
        is_other_index: scope.is_other_index,
        parent: scope.parent,
        file: scope.file.to_owned(),
        line: scope.line,
        calls: scope.calls,
        timed_calls: scope.timed_calls,
        is_sampled: scope.is_sampled,
        open_calls: scope.open_calls,
        total_ns: scope.total_ns,
        total_se_ns: scope.total_se_ns,
        attached_ns: scope.attached_ns,
        self_ns: scope.self_ns,
        self_se_ns: scope.self_se_ns,
        waiting_ns: scope.waiting_ns,
        min_ns: scope.min_ns,
        max_ns: scope.max_ns,
        p50_ns: scope.p50_ns,
        p90_ns: scope.p90_ns,
        p99_ns: scope.p99_ns,
        durations: scope.p50_ns.map(|_| durations(scope)),
        allocs: counted.then(|| allocations(&scope.allocs)),
        allocs_total: counted.then(|| allocations(&scope.allocs_total)),
        peak_live_bytes: scope.peak_live_bytes,
        flops: scope.flops,
        bytes: scope.bytes,
        tokens: scope.tokens,
        polls: scope.polls,
        elapsed_ns: scope.elapsed_ns,
        threads: scope.threads,
    }
}

/// The histogram without its empty buckets.
fn durations(scope: &ScopeStats) -> DurationCounts {
    let (ns, calls) = scope.durations().unzip();
    DurationCounts { ns, calls }
}

fn allocations(allocs: &AllocStats) -> Allocations {
    let AllocStats { allocs, alloc_bytes, frees, free_bytes, reallocs } = *allocs;
    Allocations { allocs, alloc_bytes, frees, free_bytes, reallocs }
}

fn interruptions(interruptions: &InterruptionInfo) -> Interruptions {
    let source = match interruptions.source {
        InterruptionSource::Rseq => "rseq",
        InterruptionSource::None => "none",
    };
    Interruptions { source: source.to_owned(), why: interruptions.why.to_owned() }
}

fn thread(thread: &ThreadStats) -> Thread {
    Thread {
        id: thread.id,
        name: thread.name.clone(),
        is_alive: thread.is_alive,
        count: thread.count,
        calls: thread.calls,
        wall_ns: thread.wall_ns,
        in_scopes_ns: thread.in_scopes_ns,
        own_cost_ns: thread.own_cost_ns,
        waiting_ns: thread.waiting_ns,
        cpu_ns: thread.cpu_ns,
        allocs: thread.allocs,
        alloc_bytes: thread.alloc_bytes,
    }
}

/// Three lists instead of a list of events: there may be millions.
fn timeline(timeline: &ThreadTimeline) -> Timeline {
    let events = || timeline.events.iter();
    Timeline {
        thread: timeline.thread,
        scopes: events().map(|event| event.scope).collect(),
        starts_ns: events().map(|event| event.start_ns).collect(),
        durations_ns: events().map(|event| event.duration_ns).collect(),
    }
}

fn losses(lost: &Losses) -> profile::Losses {
    profile::Losses {
        timeline_events: lost.timeline_events,
        calls_without_room: lost.calls_without_room,
        calls_with_other_index: lost.calls_with_other_index,
        unbalanced_scopes: lost.unbalanced_scopes,
        scopes_after_thread_end: lost.scopes_after_thread_end,
        timings_without_percentile: lost.timings_without_percentile,
        calls_with_folded_index: lost.calls_with_folded_index,
        leaked_scopes: lost.leaked_scopes,
    }
}

/// A sum of scopes of this snapshot as one scope.
pub(super) fn summed(snapshot: &Snapshot, sum: &ScopeSum<'_>) -> ScopeStats {
    let members = || sum.places.iter().map(|place| &snapshot.scopes[*place]);
    let first = members().next().cloned().unwrap_or_default();
    let thread_set = members().fold(0, |set, scope| set | scope.thread_set);
    let mut durations = super::Durations::default();
    members().for_each(|scope| durations.add(&scope.durations));
    let percentile = |q| sum.percentile(q).map(|(ns, _)| ns);
    let whole = |se: Option<f64>| se.map(|se| se.round() as u64);
    ScopeStats {
        index: first.index.filter(|index| members().all(|scope| scope.index == Some(*index))),
        parent: None,
        depth: 0,
        calls: sum.calls,
        timed_calls: sum.timed_calls(),
        is_sampled: sum.is_sampled,
        open_calls: sum.open_calls(),
        total_ns: sum.total_ns,
        total_se_ns: whole(sum.total_se_ns),
        attached_ns: sum.attached_ns,
        nested_ns: (sum.in_calls_ns + sum.attached_ns).saturating_sub(sum.total_ns),
        self_ns: sum.self_ns,
        self_se_ns: whole(sum.self_se_ns),
        waiting_ns: sum.waiting_ns,
        min_ns: sum.min_ns().unwrap_or(0),
        max_ns: sum.max_ns().unwrap_or(0),
        p50_ns: percentile(0.5),
        p90_ns: percentile(0.9),
        p99_ns: percentile(0.99),
        allocs: stats(sum.allocs),
        allocs_total: stats(sum.allocs_total),
        peak_live_bytes: sum.peak_live_bytes,
        flops: sum.flops,
        bytes: sum.bytes,
        tokens: sum.tokens,
        polls: sum.polls(),
        elapsed_ns: sum.elapsed_ns,
        threads: sum.threads.max(thread_set.count_ones().into()),
        thread_set,
        durations,
        ..first
    }
}

fn stats(allocs: Option<Allocations>) -> AllocStats {
    let Allocations { allocs, alloc_bytes, frees, free_bytes, reallocs } = allocs.unwrap_or_default();
    AllocStats { allocs, alloc_bytes, frees, free_bytes, reallocs }
}
