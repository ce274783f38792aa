//! Each rule with a profile that has it, and one that has not.

use super::*;
use crate::view::Context;
use crate::{Allocations, CallTree, DurationCounts, OwnCost, Profile, Scope};

/// A scope called `frame` surrounds the work.
struct Framed;

impl Context for Framed {
    fn is_frame(&self, scope: &ScopeSum<'_>) -> bool {
        scope.name == "frame"
    }
}

fn found(rule: Rule, profile: &Profile) -> Option<Insight> {
    let tree = CallTree::new(profile);
    rule(&ProfileView { tree: &tree, top: 12, context: &Framed })
}

#[track_caller]
fn says(rule: Rule, profile: &Profile, expected: &str) {
    let found = found(rule, profile).expect("there is something to say");
    assert_eq!(found.sentence, expected);
    assert!((0.0..=1.0).contains(&found.worth), "{found:?}");
}

#[track_caller]
fn is_silent(rule: Rule, profile: &Profile) {
    assert_eq!(found(rule, profile), None);
}

fn scope(name: &str, self_ns: u64) -> Scope {
    let (calls, timed_calls, total_ns) = (100, 100, self_ns);
    Scope { name: name.into(), self_ns, total_ns, calls, timed_calls, threads: 1, ..Scope::default() }
}

/// A second of wall time on one thread.
fn profiled(scopes: Vec<Scope>) -> Profile {
    let in_scopes_ns: u64 = scopes.iter().map(|scope| scope.self_ns).sum();
    let thread =
        Thread { count: 1, wall_ns: 1_000_000_000, in_scopes_ns, name: Some("main".into()), ..Thread::default() };
    let outside_ns = 1_000_000_000 - in_scopes_ns;
    Profile { wall_ns: 1_000_000_000, scopes, threads: vec![thread], outside_ns, ..Profile::default() }
}

/// Makes a scope's times estimates.
fn estimated(profile: &mut Profile, scope: usize, se_ns: u64) {
    let scope = &mut profile.scopes[scope];
    (scope.is_sampled, scope.timed_calls) = (true, 10);
    (scope.total_se_ns, scope.self_se_ns) = (Some(se_ns), Some(se_ns));
}

#[test]
fn the_hottest_scope() {
    let run = |ns: u64| profiled(vec![scope("busy", ns), scope("other", 50_000_000)]);
    let expected = "`busy` spends 60 % of the wall time in its own code: making it twice as fast would save 30 %.";
    says(hottest, &run(600_000_000), expected);
    let mut framed = run(300_000_000);
    framed.scopes.push(scope("frame", 650_000_000));
    let expected = "`busy` spends 30 % of the wall time in its own code: making it twice as fast would save 15 %.";
    says(hottest, &framed, expected);
    is_silent(hottest, &run(60_000_000));
}

#[test]
fn scopes_that_cannot_be_told_apart_are_a_tie() {
    let mut profile =
        profiled(vec![scope("attention", 310_000_000), scope("qkv", 300_000_000), scope("c", 100_000_000)]);
    (0..2).for_each(|place| estimated(&mut profile, place, 15_000_000));
    says(
        hottest,
        &profile,
        "Most self time: `attention` and `qkv`, 31 % \u{b1}3 and 30 % \u{b1}3 (cannot tell which is hotter).",
    );
    // Intervals that do not touch rank them.
    (0..2).for_each(|place| estimated(&mut profile, place, 2_000_000));
    let expected = "`attention` spends 31.0 % \u{b1}0.4 of the wall time in its own code: making it twice as fast would save \
         16 %.";
    says(hottest, &profile, expected);
    // Above the threshold only at the upper end of its interval.
    let mut rough = profiled(vec![scope("attention", 150_000_000)]);
    estimated(&mut rough, 0, 40_000_000);
    is_silent(hottest, &rough);
}

#[test]
fn time_outside_of_scopes() {
    let expected = "40 % of the threads' time, 400 ms of 1.00 s, is outside all scopes: idle, or code without scopes.";
    says(outside, &profiled(vec![scope("a", 600_000_000)]), expected);
    is_silent(outside, &profiled(vec![scope("a", 990_000_000)]));
}

#[test]
fn allocations_in_every_call() {
    let with = |allocs: u64| {
        let own = Allocations { allocs, alloc_bytes: 1024 * allocs, ..Allocations::default() };
        profiled(vec![Scope { allocs: Some(own), ..scope("sampling", 100) }])
    };
    says(allocating, &with(200), "`sampling` makes 2 allocations per call, 2 KiB per call, 200 KiB in total.");
    is_silent(allocating, &with(20));
}

#[test]
fn an_index_that_stands_out() {
    let with = |slow: u64| {
        let layer = |index: u64, ns: u64| Scope { index: Some(index), ..scope("layer", ns) };
        profiled(vec![layer(0, 100_000_000), layer(1, 100_000_000), layer(2, slow)])
    };
    let expected = "`layer[2]` takes 2.00 ms per call, 2.00 times the median of its 3 indices, 1.00 ms.";
    says(uneven_index, &with(200_000_000), expected);
    is_silent(uneven_index, &with(110_000_000));
    // The lower end of the interval counts: 58.9 times the median may still be one long interruption.
    let mut rough = with(700_000_000);
    estimated(&mut rough, 2, 300_000_000);
    is_silent(uneven_index, &rough);
    estimated(&mut rough, 2, 25_000_000);
    let expected = "`layer[2]` takes 7.00 ms \u{b1}0.49 per call, 7.00 times the median of its 3 indices, 1.00 ms.";
    says(uneven_index, &rough, expected);
}

#[test]
fn threads_that_differ() {
    let with = |least: u64| {
        let mut profile = profiled(vec![scope("a", 900_000_000)]);
        let threads = &mut profile.threads;
        let second = Thread { id: 1, name: None, in_scopes_ns: least, ..threads[0].clone() };
        threads.push(second);
        profile
    };
    says(uneven_threads, &with(300_000_000), "`main` was in scopes for 900 ms, `thread 1` for 300 ms.");
    is_silent(uneven_threads, &with(800_000_000));
}

#[test]
fn a_budget_that_was_not_kept() {
    let with = |share_of_wall: f64, share_of_cpu: Option<f64>| {
        let mut profile = profiled(vec![scope("tiny", 900_000_000)]);
        profile.own_cost = OwnCost { share_of_wall, share_of_cpu, budget: Some(0.02), ..OwnCost::default() };
        profile
    };
    let expected = "The profiler took 3.0 % of the wall time, above its budget of 2 %; most calls, 100, are of `tiny`.";
    says(own_cost, &with(0.03, None), expected);
    is_silent(own_cost, &with(0.019, None));
    // A program with half a CPU: by the wall time it would look kept.
    let expected = "The profiler took 3.0 % of the CPU time, above its budget of 2 %; most calls, 100, are of `tiny`.";
    says(own_cost, &with(0.015, Some(0.03)), expected);
    is_silent(own_cost, &with(0.03, Some(0.019)));
}

#[test]
fn nothing_is_ranked_where_threads_lost_the_cpus_and_nothing_recognised_it() {
    let layer = |index: u64, ns: u64| Scope { index: Some(index), ..scope("layer", ns) };
    let mut profile = profiled(vec![layer(0, 100_000_000), layer(1, 100_000_000), layer(2, 600_000_000)]);
    assert!(found(hottest, &profile).is_some() && found(uneven_index, &profile).is_some());
    (profile.waiting_ns, profile.threads[0].waiting_ns) = (Some(600_000_000), Some(600_000_000));
    is_silent(hottest, &profile);
    is_silent(uneven_index, &profile);
}

#[test]
fn large_allocations_in_each_call() {
    let with = |alloc_bytes: u64| {
        let own = Allocations { allocs: 1, alloc_bytes, ..Allocations::default() };
        profiled(vec![Scope { allocs: Some(own), ..scope("load", 100) }])
    };
    says(large_allocations, &with(100 << 20), "`load` allocates 1 MiB or more per call.");
    is_silent(large_allocations, &with(99 << 20));
    let mut two = with(100 << 20);
    two.scopes.push(Scope { name: "read".into(), ..two.scopes[0].clone() });
    says(large_allocations, &two, "`load`, `read` allocate 1 MiB or more per call.");
}

#[test]
fn calls_that_differ() {
    let with = |slow: u64, ns: u64| {
        let durations = DurationCounts { ns: vec![1_000_000, slow], calls: vec![98, 2] };
        let percentiles =
            Scope { p50_ns: Some(1_000_000), p90_ns: Some(1_000_000), p99_ns: Some(slow), ..scope("f", ns) };
        profiled(vec![Scope { durations: Some(durations), ..percentiles }])
    };
    let expected = "`f` has uneven calls: half take at most 1.00 ms, one in a hundred 9.00 ms or more.";
    says(uneven_calls, &with(9_000_000, 116_000_000), expected);
    is_silent(uneven_calls, &with(4_900_000, 108_000_000));
    is_silent(uneven_calls, &with(9_000_000, 9_000_000));
    // Ten timed calls say nothing about one in a hundred.
    let mut few = with(9_000_000, 116_000_000);
    estimated(&mut few, 0, 1);
    is_silent(uneven_calls, &few);
}

#[test]
fn futures_that_wait() {
    let with = |elapsed_ns: u64| profiled(vec![Scope { polls: 200, elapsed_ns, ..scope("fetch", 100_000_000) }]);
    says(idle_future, &with(500_000_000), "`fetch` waits for 80 % of the 500 ms between first and last poll.");
    is_silent(idle_future, &with(150_000_000));
}
