//! The snapshot as JSON, read by the crate that says what the format is.

use hotloop::{AllocStats, Config, Losses, ScopeStats, Snapshot};
use record::{Allocations, Profile};

use crate::{exact, record, take_turns};

/// Beyond what a double holds exactly; each field gets another one.
const BIG: u64 = u64::MAX - 1000;

/// A snapshot with all its parts.
fn recorded(config: Config) -> Snapshot {
    let work = || {
        for layer in 0..3 {
            hotloop::scope!("layer", index = layer, flops = 10, bytes = 20, tokens = 30);
            hotloop::scope!("below");
        }
    };
    record(config, work).0
}

fn read(snapshot: &Snapshot) -> Profile {
    let json = snapshot.to_json();
    assert!(!json.contains('\n'), "one line: {json}");
    Profile::from_json(&json).unwrap_or_else(|error| panic!("{error}\n{json}"))
}

fn allocs(from: u64) -> AllocStats {
    AllocStats { allocs: from, alloc_bytes: from + 1, frees: from + 2, free_bytes: from + 3, reallocs: from + 4 }
}

#[track_caller]
fn same_allocs(read: Option<Allocations>, written: &AllocStats) {
    let AllocStats { allocs, alloc_bytes, frees, free_bytes, reallocs } = *written;
    assert_eq!(read, Some(Allocations { allocs, alloc_bytes, frees, free_bytes, reallocs }));
}

/// A scope in which every number is another one, and none is small.
fn full_scope() -> ScopeStats {
    let mut scope = ScopeStats::default();
    scope.name = "quote \" backslash \\ line \n tab \t bell \u{7} delete \u{7f} κόσμε 🦀 \u{2028}".to_owned();
    (scope.index, scope.parent, scope.is_other_index, scope.is_sampled) = (Some(BIG), Some(0), true, true);
    (scope.file, scope.line, scope.depth) = ("src\\model\".rs", u32::MAX, 1);
    (scope.calls, scope.timed_calls, scope.open_calls) = (BIG + 1, BIG + 2, BIG + 3);
    (scope.total_ns, scope.attached_ns, scope.self_ns) = (BIG + 4, BIG + 5, BIG + 6);
    (scope.min_ns, scope.max_ns) = (BIG + 7, BIG + 8);
    (scope.total_se_ns, scope.self_se_ns, scope.waiting_ns) = (Some(BIG + 40), Some(BIG + 41), BIG + 42);
    (scope.p50_ns, scope.p90_ns, scope.p99_ns) = (Some(BIG + 9), Some(BIG + 10), Some(BIG + 11));
    (scope.allocs, scope.allocs_total) = (allocs(BIG + 20), allocs(BIG + 30));
    (scope.peak_live_bytes, scope.flops, scope.bytes) = (BIG + 12, BIG + 13, BIG + 14);
    (scope.tokens, scope.polls, scope.elapsed_ns, scope.threads) = (BIG + 15, BIG + 16, BIG + 17, BIG + 18);
    scope
}

#[track_caller]
fn same_scope(read: &record::Scope, written: &ScopeStats, counted: bool) {
    assert_eq!((&read.name, read.index, read.parent), (&written.name, written.index, written.parent));
    assert_eq!((read.is_other_index, read.is_sampled), (written.is_other_index, written.is_sampled));
    assert_eq!((read.file.as_str(), read.line), (written.file, written.line));
    let times = [read.total_ns, read.attached_ns, read.self_ns, read.min_ns, read.max_ns, read.elapsed_ns];
    let written_times =
        [written.total_ns, written.attached_ns, written.self_ns, written.min_ns, written.max_ns, written.elapsed_ns];
    assert_eq!(times, written_times);
    assert_eq!([read.total_se_ns, read.self_se_ns], [written.total_se_ns, written.self_se_ns]);
    assert_eq!(read.waiting_ns, written.waiting_ns);
    let counts = read.durations.clone().unwrap_or_default();
    assert!(counts.ns.into_iter().zip(counts.calls).eq(written.durations()));
    assert_eq!([read.p50_ns, read.p90_ns, read.p99_ns], [written.p50_ns, written.p90_ns, written.p99_ns]);
    let counts = [read.calls, read.timed_calls, read.open_calls, read.polls, read.threads, read.peak_live_bytes];
    let written_counts = [
        written.calls,
        written.timed_calls,
        written.open_calls,
        written.polls,
        written.threads,
        written.peak_live_bytes,
    ];
    assert_eq!(counts, written_counts);
    assert_eq!([read.flops, read.bytes, read.tokens], [written.flops, written.bytes, written.tokens]);
    if counted {
        same_allocs(read.allocs, &written.allocs);
        same_allocs(read.allocs_total, &written.allocs_total);
    } else {
        assert_eq!((read.allocs, read.allocs_total), (None, None), "not counted is not zero");
    }
}

#[track_caller]
fn same(snapshot: &Snapshot) {
    let profile = read(snapshot);
    assert_eq!((profile.wall_ns, profile.outside_ns), (snapshot.wall_ns, snapshot.outside_ns));
    assert_eq!(profile.waiting_ns, snapshot.waiting_ns);
    let interruptions = profile.interruptions.as_ref().expect("always written");
    let source = format!("{:?}", snapshot.interruptions.source).to_lowercase();
    assert_eq!((&interruptions.source, interruptions.why.as_str()), (&source, snapshot.interruptions.why));
    let source = format!("{:?}", snapshot.clock.source).to_lowercase();
    assert_eq!((&profile.clock.source, profile.clock.why.as_str()), (&source, snapshot.clock.why));
    same_cost(&profile, snapshot);
    assert_eq!(profile.scopes.len(), snapshot.scopes.len());
    for (read, written) in profile.scopes.iter().zip(&snapshot.scopes) {
        same_scope(read, written, snapshot.allocations_counted);
    }
    same_threads(&profile, snapshot);
    if snapshot.allocations_counted {
        same_allocs(profile.outside_allocs, &snapshot.outside_allocs);
        same_allocs(profile.early_allocs, &snapshot.early_allocs);
    } else {
        assert_eq!((profile.outside_allocs, profile.early_allocs), (None, None));
    }
    let lost = [
        profile.lost.timeline_events,
        profile.lost.calls_without_room,
        profile.lost.calls_with_other_index,
        profile.lost.unbalanced_scopes,
        profile.lost.scopes_after_thread_end,
        profile.lost.timings_without_percentile,
        profile.lost.calls_with_folded_index,
        profile.lost.leaked_scopes,
    ];
    let Losses {
        timeline_events,
        calls_without_room,
        calls_with_other_index,
        unbalanced_scopes,
        scopes_after_thread_end,
        timings_without_percentile,
        calls_with_folded_index,
        leaked_scopes,
    } = snapshot.lost;
    let written = [
        timeline_events,
        calls_without_room,
        calls_with_other_index,
        unbalanced_scopes,
        scopes_after_thread_end,
        timings_without_percentile,
        calls_with_folded_index,
        leaked_scopes,
    ];
    assert_eq!(lost, written);
}

/// Floating-point numbers come back to the last bit.
#[track_caller]
fn same_cost(profile: &Profile, snapshot: &Snapshot) {
    let (read, written) = (&profile.own_cost, &snapshot.own_cost);
    let bits = |numbers: [f64; 6]| numbers.map(f64::to_bits);
    let [per_scope, inside, sampled] = [written.per_scope_ns, written.inside_scope_ns, written.per_sampled_scope_ns];
    let all = [per_scope, inside, sampled, written.per_alloc_ns, written.share_of_wall, snapshot.clock.resolution_ns];
    let [per_scope, inside, sampled] = [read.per_scope_ns, read.inside_scope_ns, read.per_sampled_scope_ns];
    let all_read = [per_scope, inside, sampled, read.per_alloc_ns, read.share_of_wall, profile.clock.resolution_ns];
    assert_eq!(bits(all_read), bits(all));
    assert_eq!((read.total_ns, read.budget), (written.total_ns, written.budget));
    assert_eq!(read.share_of_cpu, written.share_of_cpu);
}

#[track_caller]
fn same_threads(profile: &Profile, snapshot: &Snapshot) {
    assert_eq!(profile.threads.len(), snapshot.threads.len());
    for (read, written) in profile.threads.iter().zip(&snapshot.threads) {
        assert_eq!((read.id, &read.name, read.is_alive), (written.id, &written.name, written.is_alive));
        assert_eq!([read.count, read.calls], [written.count, written.calls]);
        assert_eq!([read.wall_ns, read.in_scopes_ns], [written.wall_ns, written.in_scopes_ns]);
        assert_eq!(read.own_cost_ns, written.own_cost_ns);
        assert_eq!([read.waiting_ns, read.cpu_ns], [written.waiting_ns, written.cpu_ns]);
        assert_eq!([read.allocs, read.alloc_bytes], [written.allocs, written.alloc_bytes]);
    }
    assert_eq!(profile.timeline.len(), snapshot.timeline.len());
    for (read, written) in profile.timeline.iter().zip(&snapshot.timeline) {
        let events = written.events.iter();
        assert_eq!(read.thread, written.thread);
        assert!(read.scopes.iter().copied().eq(events.clone().map(|event| event.scope)));
        assert!(read.starts_ns.iter().copied().eq(events.clone().map(|event| event.start_ns)));
        assert!(read.durations_ns.iter().copied().eq(events.map(|event| event.duration_ns)));
    }
}

#[test]
fn what_was_recorded_is_read_again() {
    let _turn = take_turns();
    let snapshot = recorded(exact().timeline(Some(64)));
    assert!(!snapshot.timeline.is_empty() && snapshot.scopes.iter().any(|scope| scope.index == Some(2)));
    same(&snapshot);
    same(&recorded(Config::new().percentiles(false)));
}

#[test]
fn every_field_arrives_with_its_value() {
    let _turn = take_turns();
    let mut snapshot = recorded(exact().timeline(Some(64)));
    snapshot.scopes.insert(1, full_scope());
    snapshot.scopes.truncate(2);
    for (number, event) in (0..).zip(snapshot.timeline.iter_mut().flat_map(|timeline| &mut timeline.events)) {
        (event.scope, event.start_ns, event.duration_ns) = (number as usize % 2, BIG + number, BIG + 50 + number);
    }
    let thread = &mut snapshot.threads[0];
    (thread.id, thread.name, thread.is_alive, thread.count) = (BIG, Some("a\\b\"\r".to_owned()), false, BIG + 1);
    (thread.calls, thread.wall_ns, thread.in_scopes_ns) = (BIG + 2, BIG + 3, BIG + 4);
    (thread.waiting_ns, thread.cpu_ns) = (Some(BIG + 8), Some(BIG + 9));
    (thread.own_cost_ns, thread.allocs, thread.alloc_bytes) = (BIG + 5, BIG + 6, BIG + 7);
    (snapshot.wall_ns, snapshot.outside_ns, snapshot.waiting_ns) = (BIG, BIG + 1, Some(BIG + 2));
    (snapshot.outside_allocs, snapshot.early_allocs) = (allocs(BIG), allocs(BIG + 10));
    let cost = &mut snapshot.own_cost;
    (cost.per_scope_ns, cost.inside_scope_ns, cost.per_sampled_scope_ns) = (0.1 + 0.2, 1e300, 5e-324);
    (cost.per_alloc_ns, cost.total_ns, cost.share_of_wall, cost.budget) = (1.0 / 3.0, BIG, 1e-9, Some(0.015));
    cost.share_of_cpu = Some(0.1 + 0.7);
    snapshot.lost = Losses {
        timeline_events: BIG,
        calls_without_room: BIG + 1,
        calls_with_other_index: BIG + 2,
        unbalanced_scopes: BIG + 3,
        scopes_after_thread_end: BIG + 4,
        timings_without_percentile: BIG + 5,
        calls_with_folded_index: BIG + 6,
        leaked_scopes: BIG + 7,
    };
    for counted in [true, false] {
        snapshot.allocations_counted = counted;
        same(&snapshot);
    }
}

#[test]
fn what_is_not_finite_is_not_written() {
    let _turn = take_turns();
    let mut snapshot = recorded(exact());
    snapshot.clock.resolution_ns = f64::NAN;
    snapshot.own_cost.share_of_wall = f64::INFINITY;
    snapshot.own_cost.budget = Some(f64::NEG_INFINITY);
    let profile = read(&snapshot);
    assert_eq!((profile.clock.resolution_ns, profile.own_cost.share_of_wall), (0.0, 0.0));
    assert_eq!(profile.own_cost.budget, Some(0.0));
}
