//! Traces: nesting by time, threads, and what is no call.

use import::Imported;

use super::{has_note, read, scope, try_read};

fn trace(events: &str) -> Imported {
    try_read("trace.json", &format!("{{\"traceEvents\":[{events}]}}")).expect("it can be read")
}

#[test]
fn a_trace_of_torch() {
    let found = read("torch-trace.json");
    let run = &found.runs[0];
    assert_eq!(found.format.name(), "chrome");
    let step = scope(run, "step", None);
    assert_eq!((step.calls, step.total_ns, step.self_ns), (2, 150_000, 100_000 - 80_000 + 10_000));
    let linear = scope(run, "aten::linear", Some("step"));
    assert_eq!((linear.calls, linear.total_ns, linear.self_ns), (2, 100_000, 50_000));
    assert_eq!((linear.min_ns, linear.p50_ns, linear.max_ns), (40_000, Some(40_000), 60_000));
    assert_eq!(run.created, "2025-10-30T03:11:42Z");
    assert_eq!(scope(run, "aten::addmm", Some("aten::linear")).self_ns, 50_000);
    assert_eq!(scope(run, "gemm_kernel", None).total_ns, 25_500);
    let profile = run.profile.as_ref().expect("it has a profile");
    let names: Vec<Option<&str>> = profile.threads.iter().map(|thread| thread.name.as_deref()).collect();
    assert_eq!(names, [None, Some("thread 100 (python)")]);
    assert_eq!(profile.threads[1].in_scopes_ns, 150_000);
    assert_eq!(profile.timeline.iter().map(|timeline| timeline.scopes.len()).sum::<usize>(), 7);
    assert_eq!(run.workload.parameters["device"], "NVIDIA H200");
    let unread: Vec<&str> = found.unread.iter().map(|part| part.text.as_str()).collect();
    assert_eq!(
        unread,
        ["1 event of the kind `X`", "1 event of the kind `f`", "1 event of the kind `i`", "1 event of the kind `s`",]
    );
}

#[test]
fn beginnings_and_ends() {
    let found = trace(
        r#"{"ph":"B","name":"a","ts":1,"pid":1,"tid":1},{"ph":"B","name":"b","ts":2,"pid":1,"tid":1},
           {"ph":"E","ts":5,"pid":1,"tid":1},{"ph":"B","name":"b","ts":3,"pid":1,"tid":"x"},
           {"ph":"E","ts":4,"pid":1,"tid":"x"},{"ph":"E","name":"a","ts":11,"pid":1,"tid":1},
           {"ph":"E","ts":12,"pid":1,"tid":1},{"ph":"B","name":"open","ts":13,"pid":1,"tid":1}"#,
    );
    let run = &found.runs[0];
    assert_eq!((scope(run, "a", None).total_ns, scope(run, "a", None).self_ns), (10_000, 7_000));
    assert_eq!(scope(run, "b", Some("a")).total_ns, 3_000);
    assert_eq!(scope(run, "b", None).total_ns, 1_000);
    let why: Vec<&str> = found.unread.iter().map(|part| part.why.as_str()).collect();
    assert_eq!(why, ["the event has no end", "the end of an event that did not start"]);
}

#[test]
fn what_overlaps_stands_beside() {
    let found = trace(
        r#"{"ph":"X","name":"a","ts":0,"dur":10,"pid":1,"tid":1},{"ph":"X","name":"b","ts":5,"dur":10,"pid":1,"tid":1}"#,
    );
    let run = &found.runs[0];
    assert_eq!((scope(run, "a", None).self_ns, scope(run, "b", None).self_ns), (10_000, 10_000));
    has_note(run, "1 calls partly overlap");
    // Half a microsecond is what floating-point time stamps are wrong by.
    let found = trace(
        r#"{"ph":"X","name":"a","ts":0,"dur":10,"pid":1,"tid":1},{"ph":"X","name":"b","ts":5,"dur":5.5,"pid":1,"tid":1}"#,
    );
    assert_eq!(scope(&found.runs[0], "b", Some("a")).total_ns, 5_000);
}

#[test]
fn a_list_without_an_end() {
    let events = r#"[{"ph":"X","name":"a","ts":0,"dur":10,"pid":1,"tid":1},
        {"ph":"X","name":"b","ts":20,"dur":1,"pid":1,"tid":1},"#;
    // The format permits a list that is never closed: nothing is lost.
    let found = try_read("trace.json", events).expect("it can be read");
    has_note(&found.runs[0], "no closing bracket");
    assert_eq!(found.unread, []);
    let whole = try_read("trace.json", &format!("{}]", events.trim_end_matches(','))).expect("it can be read");
    assert!(whole.runs[0].notes.iter().all(|note| !note.contains("closing bracket")));
    let wrong = try_read("trace.json", &format!("{events}\n{{\"ph\":7}}]")).expect_err("an event is no event");
    assert_eq!(wrong.line(), Some(3));
    let behind = try_read("trace.json", &format!("{events}]\n[1]")).expect("it can be read");
    assert_eq!((behind.unread[0].line, &*behind.unread[0].text), (Some(3), "[1]"));
}

#[test]
fn an_event_that_was_cut_is_named() {
    let found = read("chrome-cut.json");
    let run = &found.runs[0];
    assert_eq!(run.profile.as_ref().map(|profile| profile.scopes.len()), Some(2));
    assert_eq!(found.unread.len(), 1);
    let cut = &found.unread[0];
    assert_eq!((cut.line, &*cut.why), (Some(3), "the file is truncated within this event"));
    assert!(cut.text.starts_with(r#"{"name": "softmax""#), "{}", cut.text);
    assert_eq!(run.imported.as_ref().map(|origin| origin.unread.len()), Some(1));
    // Wherever it is cut, all events before are read and the lost one is named.
    let text = r#"[{"ph":"X","name":"a","ts":0,"dur":9,"pid":1,"tid":1},{"ph":"X","name":"b","ts":1,"dur":1,"pid":1,"tid":1}]"#;
    let second = text.rfind('{').expect("it is there");
    for end in second + 1..text.len() - 1 {
        let found = try_read("trace.json", &text[..end]).expect("it can be read");
        assert_eq!(found.unread.len(), 1, "cut at {end}");
    }
}
