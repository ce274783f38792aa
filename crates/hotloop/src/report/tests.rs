//! Reports of snapshots whose figures are known.

use super::*;
use crate::clock::{ClockInfo, ClockSource};
use crate::snapshot::{AllocStats, InterruptionInfo, InterruptionSource, OwnCost, ScopeStats, ThreadStats};
use crate::tree::Losses;

fn scope(name: &str, self_ns: u64, se: Option<u64>) -> ScopeStats {
    let mut scope = ScopeStats::default();
    (scope.self_ns, scope.total_ns) = (self_ns, self_ns);
    (scope.self_se_ns, scope.total_se_ns, scope.is_sampled) = (se, se, se.is_some());
    (scope.calls, scope.timed_calls) = (10_000, if se.is_some() { 500 } else { 10_000 });
    (scope.max_ns, scope.threads) = (90_000, 1);
    scope.name.push_str(name);
    scope
}

/// A second on a CPU on one thread, 2 ms of it the profiler's, and half a second of waiting.
fn snapshot(scopes: Vec<ScopeStats>) -> Snapshot {
    let in_scopes_ns: u64 = scopes.iter().map(|scope| scope.self_ns).sum();
    let thread = ThreadStats {
        id: 0,
        name: Some("main".to_owned()),
        is_alive: true,
        count: 1,
        calls: 10_000,
        wall_ns: 1_500_000_000,
        in_scopes_ns,
        own_cost_ns: 2_000_000,
        waiting_ns: Some(500_000_000),
        cpu_ns: Some(990_000_000),
        allocs: 0,
        alloc_bytes: 0,
    };
    let own_cost = OwnCost {
        total_ns: 2_000_000,
        share_of_wall: 0.013,
        share_of_cpu: Some(0.013),
        budget: Some(0.02),
        ..OwnCost::default()
    };
    Snapshot {
        enabled: true,
        wall_ns: 1_500_000_000,
        clock: ClockInfo { source: ClockSource::Counter, why: "constant", ticks_per_ns: 1.0, resolution_ns: 8.0 },
        own_cost,
        scopes,
        threads: vec![thread],
        outside_ns: 998_000_000 - in_scopes_ns,
        waiting_ns: Some(500_000_000),
        interruptions: InterruptionInfo { source: InterruptionSource::Rseq, why: "supported" },
        outside_allocs: AllocStats::default(),
        early_allocs: AllocStats::default(),
        allocations_counted: false,
        timeline: Vec::new(),
        lost: Losses::default(),
    }
}

/// Two scopes that nobody can tell apart, and one that was timed at every call.
fn sampled() -> Snapshot {
    let se = Some(15_000_000);
    snapshot(vec![scope("attention", 310_000_000, se), scope("qkv", 300_000_000, se), scope("head", 90_000_000, None)])
}

#[track_caller]
fn has(text: &str, expected: &str) {
    let joined = text.lines().map(str::trim_start).collect::<Vec<_>>().join(" ");
    assert!(text.contains(expected) || joined.contains(expected), "no {expected:?} in\n{text}");
}

#[test]
fn modules_of_names() {
    assert_eq!(module_of("a::b::c"), "a::b::");
    assert_eq!(module_of("c"), "");
    assert_eq!(module_of("<a::B as a::C>::d"), "");
}

#[test]
fn estimates_have_their_intervals() {
    let text = text(&sampled(), 10);
    let line = |name: &str| text.lines().find(|line| line.trim_start().starts_with(name)).expect("a row").to_owned();
    let attention = line("attention").split_whitespace().collect::<Vec<_>>().join(" ");
    has(&attention, "310 ms \u{b1}29 31.0 % \u{b1}2.9 310 ms \u{b1}29 31.0 % \u{b1}2.9");
    has(&attention, "~31.0 us");
    assert!(!line("head").contains(['\u{b1}', '~']), "{text}");
    has(&text, "\u{b1}: 95 % interval, where only some calls were timed");
    has(&text, "attention: timed 500 of 10,000");
}

#[test]
fn what_rests_on_few_calls_is_marked() {
    let timed = |se: Option<u64>, calls: u64| {
        let mut scope = scope("f", 1_000_000, se);
        (scope.p50_ns, scope.p90_ns, scope.p99_ns) = (Some(30_000), Some(40_000), Some(50_000));
        scope.timed_calls = calls;
        scope
    };
    let names = [timed(Some(1), 999), timed(Some(1), 1000), timed(None, 10)];
    let mut text = String::new();
    sections::head(&mut text, &sampled(), &names, "");
    has(&text, "?: rests on few timed calls; \u{2265}: not all calls were timed");
    let cells = |scope: &ScopeStats| {
        let mut text = String::new();
        sections::hot_paths(&mut text, &sampled(), std::slice::from_ref(scope), 1);
        text
    };
    has(&cells(&names[0]), "40.0 us  50.0 us?  \u{2265}90.0 us");
    has(&cells(&names[1]), "40.0 us  50.0 us  \u{2265}90.0 us");
    has(&cells(&names[2]), "40.0 us  50.0 us  90.0 us");
}

#[test]
fn waiting_for_a_cpu_has_its_row_and_parts_sum_to_wholes() {
    let report = text(&sampled(), 10);
    let row = |name: &str| {
        let row = report.lines().find(|line| line.trim_start().starts_with(name)).expect("a row");
        row.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(row("(idle or in no scope)"), "(idle or in no scope) 298 ms 29.8 %");
    assert_eq!(row("= on a CPU"), "= on a CPU 1.00 s 100.0 %");
    assert_eq!(row("(waiting for a CPU)"), "(waiting for a CPU) 500 ms 33.3 % of wall");
    assert_eq!(row("= the run"), "= the run 1.50 s");
    assert_eq!(row("main"), "main running 1.50 s 700 ms 70.0 % 500 ms (33.3 %) 2.00 ms 10,000");
    has(&report, "%: of the time on a CPU (wall time minus waiting). Waiting for a CPU is measured");
    has(&report, "Threads waited 500 ms for a CPU, 33.3 % of their time");
    has(&report, "recognised by rseq: the kernel marks each one (supported); threads waited 500 ms for a CPU");
    // Of a thread beside it: each with its own, and all together.
    let mut two = sampled();
    let other = ThreadStats { id: 1, name: Some("worker".to_owned()), ..two.threads[0].clone() };
    two.threads.push(other);
    two.waiting_ns = Some(1_000_000_000);
    has(&text(&two, 10), "1.00 s (33.3 %)");
    let mut unknown = sampled();
    unknown.waiting_ns = None;
    unknown.interruptions = InterruptionInfo { source: InterruptionSource::None, why: "too old" };
    let report = text(&unknown, 10);
    assert!(!report.contains("(waiting for a CPU)") && !report.contains("= on a CPU"), "{report}");
    has(&report, "not recognised (too old): time without a CPU is part of the scopes' times");
}

#[test]
fn ties_are_not_ranked() {
    has(
        &text(&sampled(), 10),
        "Most time in their own code: `attention` and `qkv`, 31.0 % \u{b1}2.9 and 30.0 % \u{b1}2.9 (cannot tell which is hotter).",
    );
    let sure = snapshot(vec![scope("attention", 400_000_000, Some(1_000_000)), scope("qkv", 300_000_000, None)]);
    has(&text(&sure, 10), "`attention` spends 40.0 % \u{b1}0.2 of the time on a CPU in its own code.");
    let mut crowded = sampled();
    crowded.waiting_ns = Some(1_200_000_000);
    crowded.threads[0].waiting_ns = Some(1_200_000_000);
    crowded.interruptions.source = InterruptionSource::None;
    has(&text(&crowded, 10), "Attribution unreliable: other programs had most of the CPUs");
}

#[test]
fn an_index_is_called_slow_only_where_that_is_certain() {
    let layers = |se: u64| {
        let layer = |index: u64, ns: u64| {
            let mut scope = scope("layer", ns, Some(se));
            scope.index = Some(index);
            scope
        };
        text(&snapshot(vec![layer(0, 300_000_000), layer(1, 200_000_000), layer(2, 210_000_000)]), 10)
    };
    let row = |report: &str| {
        let row = report.lines().skip_while(|line| !line.starts_with("BY INDEX")).nth(2).expect("a row").to_owned();
        row.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(row(&layers(1_000_000)), "layer 3 23.7 us [1] 20.0 us \u{b1}0.2 [0] 30.0 us \u{b1}0.2 1.27");
    assert_eq!(row(&layers(60_000_000)), "layer 3 23.7 us - 20.0 us \u{b1}11.8 - 30.0 us \u{b1}11.8 within \u{b1}");
}

#[test]
fn the_budget_is_judged_by_cpu_time() {
    has(&text(&sampled(), 10), "own cost 1.3 % of CPU time (budget 2 %): kept");
    let mut exceeded = sampled();
    exceeded.own_cost.share_of_cpu = Some(0.03);
    has(&text(&exceeded, 10), "own cost 3.0 % of CPU time (budget 2 %): exceeded");
    has(&text(&exceeded, 10), "The profiler took 3.0 % of the CPU time, above its budget of 2.0 %");
    exceeded.own_cost.share_of_cpu = None;
    has(&text(&exceeded, 10), "own cost 1.3 % of wall time (budget 2 %): kept");
}
