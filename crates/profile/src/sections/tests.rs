//! Reports of profiles whose figures are known.

use crate::{Allocations, Interruptions, OwnCost, Profile, ProfileClock, Scope, Thread};

fn scope(name: &str, self_ns: u64, se: Option<u64>) -> Scope {
    Scope {
        name: name.into(),
        self_ns,
        total_ns: self_ns,
        self_se_ns: se,
        total_se_ns: se,
        is_sampled: se.is_some(),
        calls: 10_000,
        timed_calls: if se.is_some() { 500 } else { 10_000 },
        max_ns: 90_000,
        threads: 1,
        ..Scope::default()
    }
}

/// A second on a CPU on one thread, 2 ms of it the profiler's, and half a second of waiting.
fn profile(scopes: Vec<Scope>) -> Profile {
    let in_scopes_ns: u64 = scopes.iter().map(|scope| scope.self_ns).sum();
    let thread = Thread {
        name: Some("main".into()),
        is_alive: true,
        count: 1,
        calls: 10_000,
        wall_ns: 1_500_000_000,
        in_scopes_ns,
        own_cost_ns: 2_000_000,
        waiting_ns: Some(500_000_000),
        cpu_ns: Some(990_000_000),
        ..Thread::default()
    };
    let own_cost = OwnCost {
        per_scope_ns: 3_000.0,
        total_ns: 2_000_000,
        share_of_wall: 0.013,
        share_of_cpu: Some(0.013),
        budget: Some(0.02),
        ..OwnCost::default()
    };
    Profile {
        wall_ns: 1_500_000_000,
        clock: ProfileClock { source: "counter".into(), why: "constant".into(), resolution_ns: 8.0 },
        own_cost,
        scopes,
        threads: vec![thread],
        outside_ns: 998_000_000 - in_scopes_ns,
        waiting_ns: Some(500_000_000),
        interruptions: Some(Interruptions { source: "rseq".into(), why: "supported".into() }),
        ..Profile::default()
    }
}

/// Two scopes whose order is not certain, and one that was timed at every call.
fn sampled() -> Profile {
    let se = Some(15_000_000);
    profile(vec![scope("attention", 310_000_000, se), scope("qkv", 300_000_000, se), scope("head", 90_000_000, None)])
}

#[track_caller]
fn has(text: &str, expected: &str) {
    let joined = text.lines().map(str::trim_start).collect::<Vec<_>>().join(" ");
    assert!(text.contains(expected) || joined.contains(expected), "no {expected:?} in\n{text}");
}

/// The first row of a name, its cells one space apart.
#[track_caller]
fn row(text: &str, name: &str) -> String {
    let row = text.lines().find(|line| line.trim_start().starts_with(&format!("{name}  ")));
    let row = row.unwrap_or_else(|| panic!("no row {name} in\n{text}"));
    row.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn estimates_have_their_intervals() {
    let text = sampled().report(10);
    has(&row(&text, "attention"), "310 ms ±29 31.0 % ±2.9");
    has(&row(&text, "attention"), "~31.0 us");
    assert!(!row(&text, "head").contains(['±', '~']), "{text}");
    has(&text, "±: 95 % interval, where only some calls were timed");
    has(&text, "times are estimates for attention (timed 500 of 10,000), qkv (timed 500 of 10,000)");
    has(&text, "; timing every call of qkv would add 10 % to its time");
}

#[test]
fn what_rests_on_few_calls_is_marked() {
    let cells = |se: Option<u64>, timed_calls: u64| {
        let (p50_ns, p90_ns, p99_ns) = (Some(30_000), Some(40_000), Some(50_000));
        let scope = Scope { p50_ns, p90_ns, p99_ns, timed_calls, ..scope("f", 1_000_000, se) };
        let text = profile(vec![scope]).report(1);
        (row(&text, "f"), text)
    };
    let (few, text) = cells(Some(1), 999);
    has(&few, "30.0 us 50.0 us? ≥90.0 us");
    has(&text, "?: rests on few timed calls; ≥: not all calls were timed");
    has(&cells(Some(1), 1000).0, "30.0 us 50.0 us ≥90.0 us");
    has(&cells(None, 10).0, "30.0 us 50.0 us 90.0 us");
    has(&text, "within 3.1 % of the timed calls");
}

#[test]
fn waiting_for_a_cpu_has_its_row_and_parts_sum_to_wholes() {
    let report = sampled().report(10);
    assert_eq!(row(&report, "(idle or in no scope)"), "(idle or in no scope) 298 ms 29.8 %");
    assert_eq!(row(&report, "= on a CPU"), "= on a CPU 1.00 s 100.0 %");
    assert_eq!(row(&report, "(waiting for a CPU)"), "(waiting for a CPU) 500 ms 33 % of wall");
    assert_eq!(row(&report, "= the run"), "= the run 1.50 s");
    assert_eq!(row(&report, "main"), "main running 1.50 s 700 ms 70.0 % 500 ms (33 %) 2.00 ms 10,000");
    has(&report, "%: of the time on a CPU");
    has(&report, "on a CPU: wall time minus waiting; waiting for a CPU: measured, in no scope's time");
    has(&report, "WARNING  Threads waited 500 ms for a CPU (33 % of their time): shares are of the time on a CPU");
    has(&report, "rseq: the kernel marks each one (supported); threads waited 500 ms for a CPU");
    let mut two = sampled();
    two.threads.push(Thread { id: 1, name: Some("worker".into()), ..two.threads[0].clone() });
    two.waiting_ns = Some(1_000_000_000);
    has(&row(&two.report(10), "= all threads"), "1.00 s (33 %)");
    let mut unknown = sampled();
    unknown.waiting_ns = None;
    unknown.interruptions = Some(Interruptions { source: "none".into(), why: "too old".into() });
    let report = unknown.report(10);
    assert!(!report.contains("(waiting for a CPU)") && !report.contains("= on a CPU"), "{report}");
    has(&report, "not recognised (too old): time without a CPU is part of the scopes' times");
}

#[test]
fn ties_are_not_ranked() {
    has(
        &sampled().report(10),
        "Most self time: `attention` and `qkv`, 31 % ±3 and 30 % ±3 (cannot tell which is hotter).",
    );
    let sure = profile(vec![scope("attention", 400_000_000, Some(1_000_000)), scope("qkv", 300_000_000, None)]);
    has(&sure.report(10), "`attention` spends 40.0 % ±0.2 of the time on a CPU in its own code");
    let mut crowded = sampled();
    (crowded.waiting_ns, crowded.threads[0].waiting_ns) = (Some(1_200_000_000), Some(1_200_000_000));
    crowded.interruptions = Some(Interruptions { source: "none".into(), ..Interruptions::default() });
    let report = crowded.report(10);
    has(&report, "attribution unreliable, because interruptions were not recognised");
    assert!(!report.contains("Most self time"), "{report}");
}

#[test]
fn an_index_is_called_slow_only_where_that_is_certain() {
    let layers = |se: u64| {
        let layer = |index: u64, ns: u64| Scope { index: Some(index), ..scope("layer", ns, Some(se)) };
        profile(vec![layer(0, 300_000_000), layer(1, 200_000_000), layer(2, 210_000_000)]).report(10)
    };
    let sure = layers(1_000_000);
    has(&row(&sure, "[0]"), "[0] 10,000 300 ms ±2");
    has(&row(&sure, "= all"), "= all 30,000 710 ms ±3");
    has(&sure, "`layer[0]` takes 30.0 us ±0.2 per call, 1.43 times the median of its 3 indices, 21.0 us.");
    assert!(!layers(60_000_000).contains("`layer[0]` takes"));
}

#[test]
fn the_budget_is_judged_by_cpu_time() {
    has(&sampled().report(10), "own cost 1.3 % of CPU time (budget 2 %): kept");
    let mut exceeded = sampled();
    exceeded.own_cost.share_of_cpu = Some(0.03);
    has(&exceeded.report(10), "own cost 3.0 % of CPU time (budget 2 %): exceeded");
    has(&exceeded.report(10), "The profiler took 3.0 % of the CPU time, above its budget of 2 %");
    exceeded.own_cost.share_of_cpu = None;
    has(&exceeded.report(10), "own cost 1.3 % of wall time (budget 2 %): kept");
}

#[test]
fn threads_that_ended_without_a_name_are_one_row() {
    let mut profile = sampled();
    let ended = Thread { id: 7, name: None, is_alive: false, in_scopes_ns: 1_000_000, ..profile.threads[0].clone() };
    profile.threads.push(ended.clone());
    has(&row(&profile.report(10), "thread 7"), "ended");
    profile.threads.push(Thread { id: 8, ..ended });
    has(&row(&profile.report(10), "(2 ended threads)"), "(2 ended threads) ended 3.00 s 2.00 ms");
}

#[test]
fn allocations_before_the_first_scope_have_their_row() {
    let mut profile = sampled();
    let early = Allocations { allocs: 3, alloc_bytes: 4096, ..Allocations::default() };
    (profile.outside_allocs, profile.early_allocs) = (Some(early), Some(early));
    assert_eq!(row(&profile.report(10), "(before their first scope)"), "(before their first scope) 3 4 KiB");
}

#[test]
fn rates_are_of_the_calling_thread() {
    let mut profile = profile(vec![Scope { flops: 600_000_000, ..scope("forward", 300_000_000, None) }]);
    has(&row(profile.report(10).split("\nRATES").nth(1).expect("it has work"), "forward"), "300 ms 2.00 GFLOP/s");
    profile.scopes[0].attached_ns = 150_000_000;
    has(&row(profile.report(10).split("\nRATES").nth(1).expect("it has work"), "forward"), "300 ms 4.00 GFLOP/s");
}
