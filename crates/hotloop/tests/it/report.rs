//! What the report says, and does not say.

use hotloop::{Config, scope as open};

use crate::{busy, exact, ms, record, take_turns, undisturbed};

/// All times together are the run's, without what it waited for a CPU where that is measured.
#[track_caller]
fn check_whole(report: &str) {
    let row = |start: &str| report.lines().find(|line| line.trim_start().starts_with(start));
    let whole = row("= on a CPU").or_else(|| row("= the run"));
    let whole = whole.unwrap_or_else(|| panic!("no sum in\n{report}"));
    assert!(["99.9 %", "100.0 %", "100.1 %"].iter().any(|share| whole.ends_with(share)), "{whole}\n{report}");
}

fn sample_program() {
    open!("program");
    for layer in 0..3_u32 {
        open!("layer", index = layer, flops = 1000, tokens = 1);
        busy(ms(if layer == 1 { 4 } else { 2 }));
    }
    for _ in 0..20_000 {
        open!("tiny");
    }
}

#[test]
fn has_every_section_the_originals_had() {
    let _turn = take_turns();
    let (snapshot, ()) = record(Config::new(), sample_program);
    let report = snapshot.report(10);
    for heading in [
        "HOTLOOP PROFILE",
        "HOT PATHS",
        "RATES",
        "TOP ALLOCATORS",
        "MOST CALLED",
        "CALL TREE",
        "BY INDEX",
        "THREADS",
        "INSIGHTS",
        "THE PROFILER",
    ] {
        assert!(report.contains(heading), "no {heading} in\n{report}");
    }
    assert!(report.contains("not measured: the program counts no allocations"), "{report}");
    assert!(
        report.contains("times are estimates for tiny (timed "),
        "the report says which scopes were sampled:\n{report}"
    );
    assert!(report.contains("%: of the wall time") || report.contains("%: of the time on a CPU"));
    check_whole(&report);
    let is_plain = |c: char| c.is_ascii() || matches!(c, '\u{b1}' | '\u{2265}');
    assert!(report.chars().all(is_plain), "readable in any terminal");
    assert!(report.lines().all(|line| line == line.trim_end()), "no line ends in blanks");
}

#[test]
fn says_which_index_is_slow_and_what_to_do() {
    let _turn = take_turns();
    undisturbed(|| {
        let (snapshot, ()) = record(exact(), sample_program);
        let report = snapshot.report(10);
        assert!(report.contains("1. `layer` spends") && report.contains("every call was timed"), "{report}");
        // An interruption may make another layer the slowest.
        if report.contains("`layer[1]` takes ") { Ok(()) } else { Err(report) }
    });
}

#[test]
fn is_shortened_by_n_without_losing_time() {
    let _turn = take_turns();
    let (snapshot, ()) = record(exact(), sample_program);
    let report = snapshot.report(1);
    assert!(report.contains("(2 more scopes)"), "{report}");
    check_whole(&report);
}

#[test]
fn says_when_there_is_nothing() {
    let _turn = take_turns();
    let (snapshot, ()) = record(exact(), || ());
    assert!(snapshot.report(10).contains("no scope was recorded. Call hotloop::start()"));
}
