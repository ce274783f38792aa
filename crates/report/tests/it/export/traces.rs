//! What viewers of traces are given: calls with their times, or the merged tree.

use record::{Profile, Run, Timeline};
use serde_json::Value;

use super::{CALLS, PATHS, SELF_SUM_NS, json, named, sample};

/// A slice as a viewer would draw it.
#[derive(Debug, PartialEq)]
struct Drawn {
    track: String,
    name: String,
    start_ns: u64,
    length_ns: u64,
    depth: usize,
}

fn nanos(micros: &Value) -> u64 {
    (micros.as_f64().expect("a number") * 1000.0).round() as u64
}

/// Reads Chrome's events as its viewers do: a stack for each thread. What is not nested cannot be read this way.
fn drawn(trace: &Value) -> Vec<Drawn> {
    let events = trace["traceEvents"].as_array().expect("a list");
    let name_of = |tid: &Value| {
        let named = events.iter().find(|event| event["name"] == "thread_name" && event["tid"] == *tid);
        named.map_or("?", |event| event["args"]["name"].as_str().expect("a text")).to_owned()
    };
    let (mut slices, mut open): (Vec<Drawn>, Vec<(Value, usize)>) = (Vec::new(), Vec::new());
    for event in events {
        let kind = event["ph"].as_str().expect("a kind");
        if kind == "M" {
            continue;
        }
        let now = nanos(&event["ts"]);
        if kind == "E" {
            let (tid, slice) = open.pop().expect("something is open");
            assert_eq!((&tid, slices[slice].name.as_str()), (&event["tid"], event["name"].as_str().expect("a name")));
            slices[slice].length_ns = now - slices[slice].start_ns;
            continue;
        }
        let name = event["name"].as_str().expect("a name").to_owned();
        let track = name_of(&event["tid"]);
        slices.push(Drawn { track, name, start_ns: now, length_ns: 0, depth: open.len() });
        if kind == "B" {
            open.push((event["tid"].clone(), slices.len() - 1));
        }
    }
    assert!(open.is_empty(), "{open:?} never end");
    slices
}

fn lines(slices: &[Drawn]) -> Vec<String> {
    let line =
        |slice: &Drawn| format!("{}{} {}+{}", "  ".repeat(slice.depth), slice.name, slice.start_ns, slice.length_ns);
    slices.iter().map(line).collect()
}

#[test]
fn chrome_shows_the_calls_at_their_times() {
    let slices = drawn(&json(&sample::with_timeline(), named("chrome")));
    let of = |track: &str| slices.iter().filter(|slice| slice.track == track).count();
    assert_eq!([of("main"), of("thread 1")], CALLS);
    assert_eq!(
        lines(&slices),
        [
            "main 1000+100000",
            "  forward 1000+40000",
            "    layer 0 1000+20000",
            "      qkv 1000+12345",
            "    layer 1 21000+20000",
            "      qkv 21000+12345",
            "  forward 41000+40000",
            "    layer 0 41000+20000",
            "      qkv 41000+12345",
            "    layer 1 61000+20000",
            "      qkv 61000+12345",
            "  say \"hi\" \\ <b>&amp;</b> 81000+0",
            "  a;b\nc\td 7 81000+20000",
            "    gr\u{f6}\u{df}e \u{65e5}\u{672c} \u{1f525} 91000+10000",
            "      bell\u{7}\u{0} 91001+9999",
            "flush 101000+0",
            "worker 5000+30000",
            "  part 5000+10000",
            "  part 15000+19999",
        ]
    );
}

#[test]
fn chrome_shows_the_merged_tree_where_there_is_no_timeline() {
    let trace = json(&sample::without_timeline(), named("chrome"));
    let slices = drawn(&trace);
    assert_eq!(slices.len(), PATHS);
    assert!(slices.iter().all(|slice| slice.track.contains("positions have no meaning")), "{slices:?}");
    assert!(trace["otherData"]["note"].as_str().is_some_and(|note| note.contains("no timeline")));
    assert_eq!(
        lines(&slices)[..6],
        [
            "main 0+100000",
            "  forward 0+80000",
            "    layer 0 0+40000",
            "      qkv 0+24690",
            "    layer 1 40000+40000",
            "      qkv 40000+24690",
        ]
    );
    assert_eq!(slices.iter().filter(|slice| slice.depth == 0).map(|slice| slice.length_ns).sum::<u64>(), SELF_SUM_NS);
}

#[test]
fn slices_carry_the_figures_of_their_scope() {
    let find = |run: &Run| {
        let trace = json(run, named("chrome"));
        let events = trace["traceEvents"].as_array().expect("a list").clone();
        events.into_iter().find(|event| event["name"] == "forward").expect("it is there")["args"].clone()
    };
    let call = find(&sample::with_timeline());
    assert_eq!((&call["scope"], &call["source"]), (&"demo::model::forward".into(), &"src/demo.rs:20".into()));
    let total = find(&sample::without_timeline());
    for (figure, value) in [("calls", 2), ("total_ns", 80_000), ("self_ns", 0), ("flops", 2_000_000), ("tokens", 2)] {
        assert_eq!(call["all_calls"][figure], value, "{figure}");
        assert_eq!(total[figure], value, "{figure}");
    }
    assert_eq!(total["alloc_bytes"], 512);
    assert_eq!(total.get("p99_ns"), None, "what was not measured is not there");
}

/// A run of one thread whose calls are (scope, start, length), in the order in which they ended.
fn with_calls(parents: &[Option<usize>], calls: &[(usize, u64, u64)]) -> Run {
    let scope = |(at, parent): (usize, &Option<usize>)| record::Scope {
        name: format!("s{at}"),
        parent: *parent,
        ..Default::default()
    };
    let timeline = Timeline {
        thread: 0,
        scopes: calls.iter().map(|call| call.0).collect(),
        starts_ns: calls.iter().map(|call| call.1).collect(),
        durations_ns: calls.iter().map(|call| call.2).collect(),
    };
    let scopes = parents.iter().enumerate().map(scope).collect();
    Run { profile: Some(Profile { scopes, timeline: vec![timeline], ..Default::default() }), ..Default::default() }
}

#[track_caller]
fn check(parents: &[Option<usize>], calls: &[(usize, u64, u64)], expected: &[&str]) {
    let slices = drawn(&json(&with_calls(parents, calls), named("chrome")));
    let shown: Vec<String> =
        slices.iter().zip(lines(&slices)).map(|(slice, line)| format!("{}: {line}", slice.track)).collect();
    assert_eq!(shown, expected);
}

#[test]
fn the_tree_decides_where_times_do_not() {
    let parents = [None, Some(0), None];
    check(
        &parents,
        &[(1, 10, 0), (0, 10, 0), (2, 10, 5)],
        &["thread 0: s0 10+0", "thread 0: s1 10+0", "thread 0: s2 10+5"],
    );
    check(
        &parents,
        &[(1, 5, 10), (0, 5, 10), (0, 15, 5)],
        &["thread 0: s0 5+10", "thread 0:   s1 5+10", "thread 0: s0 15+5"],
    );
}

#[test]
fn what_rounding_pushed_over_an_edge_is_cut() {
    // The second child begins before the first ends, and ends behind its parent; each by a nanosecond.
    let calls = [(1, 10, 11), (1, 20, 11), (0, 10, 20)];
    check(&[None, Some(0)], &calls, &["thread 0: s0 10+20", "thread 0:   s1 10+11", "thread 0:   s1 21+9"]);
}

#[test]
fn calls_whose_caller_still_runs_stand_alone() {
    check(&[None, Some(0)], &[(1, 10, 5), (1, 20, 5)], &["thread 0: s1 10+5", "thread 0: s1 20+5"]);
}

#[test]
fn calls_that_overlap_get_a_track_of_their_own() {
    // The scope around ended before the one in it.
    let calls = [(0, 0, 100), (1, 50, 100), (2, 200, 10)];
    let expected = ["thread 0: s0 0+100", "thread 0: s2 200+10", "thread 0, overlapping 1: s1 50+100"];
    check(&[None, Some(0), None], &calls, &expected);
}

#[test]
fn nonsense_is_drawn_as_well_as_it_can_be() {
    let calls = [(0, u64::MAX, u64::MAX), (1, 0, u64::MAX), (0, 5, 1), (1, 7, 0), (0, 0, 3)];
    let run = with_calls(&[None, Some(0)], &calls);
    // Numbers of this size do not go through a viewer's microseconds whole; that it comes to an end and nests is what counts.
    for format in super::with_profile() {
        assert!(!super::bytes(&run, format).is_empty() || format == named("folded"), "{format:?}");
    }
}

#[test]
fn speedscope_has_balanced_events_for_each_thread() {
    let file = json(&sample::with_timeline(), named("speedscope"));
    let frames = file["shared"]["frames"].as_array().expect("a list");
    assert_eq!(frames.iter().filter(|frame| frame["name"] == "qkv").count(), 1, "one frame for all its paths");
    let profiles = file["profiles"].as_array().expect("a list");
    assert_eq!(profiles.len(), 2);
    for (profile, calls) in profiles.iter().zip(CALLS) {
        let events = profile["events"].as_array().expect("a list");
        let (mut open, mut last) = (Vec::new(), profile["startValue"].as_u64().expect("a number"));
        for event in events {
            let at = event["at"].as_u64().expect("a number");
            assert!(at >= last);
            last = at;
            match event["type"].as_str() {
                Some("O") => open.push(event["frame"].clone()),
                _ => assert_eq!(open.pop().as_ref(), Some(&event["frame"])),
            }
        }
        assert!(open.is_empty() && last == profile["endValue"]);
        assert_eq!(events.len(), calls * 2);
    }
}

#[test]
fn speedscope_has_weighted_stacks_where_there_is_no_timeline() {
    let file = json(&sample::without_timeline(), named("speedscope"));
    let profile = &file["profiles"][0];
    assert_eq!(profile["type"], "sampled");
    let weights = profile["weights"].as_array().expect("a list").iter();
    assert_eq!(weights.filter_map(Value::as_u64).sum::<u64>(), SELF_SUM_NS);
    assert_eq!(profile["samples"][1].as_array().map(Vec::len), Some(4), "main, forward, layer 0, qkv");
}

#[test]
fn firefox_has_samples_that_weigh_as_long_as_they_last() {
    for (run, tracks) in [(sample::with_timeline(), &CALLS[..]), (sample::without_timeline(), &[PATHS])] {
        let file = json(&run, named("firefox"));
        let threads = file["threads"].as_array().expect("a list");
        assert_eq!(threads.len(), tracks.len());
        let mut sum = 0.0;
        for (thread, slices) in threads.iter().zip(tracks) {
            assert_eq!(thread["markers"]["length"], *slices);
            let samples = &thread["samples"];
            let stacks = samples["stack"].as_array().expect("a list").iter();
            let weights = samples["weight"].as_array().expect("a list").iter();
            sum += stacks
                .zip(weights)
                .filter(|(stack, _)| !stack.is_null())
                .filter_map(|(_, ms)| ms.as_f64())
                .sum::<f64>();
        }
        assert_eq!((sum * 1e6).round() as u64, SELF_SUM_NS);
        columns_are_as_long_as_they_say(&file);
    }
}

/// Every table of a Firefox profile says how long its columns are.
#[track_caller]
fn columns_are_as_long_as_they_say(value: &Value) {
    match value {
        Value::Object(fields) => {
            if let Some(length) = fields.get("length") {
                for (name, column) in fields {
                    let is_right = column.as_array().is_none_or(|column| *length == column.len());
                    assert!(is_right, "{name}: {column} should have {length}");
                }
            }
            fields.values().for_each(columns_are_as_long_as_they_say);
        }
        Value::Array(list) => list.iter().for_each(columns_are_as_long_as_they_say),
        _ => {}
    }
}

#[test]
fn an_empty_profile_is_a_whole_file_with_nothing() {
    let run = sample::empty();
    assert_eq!(drawn(&json(&run, named("chrome"))), []);
    assert_eq!(json(&run, named("speedscope"))["profiles"][0]["samples"], Value::Array(vec![]));
    let firefox = json(&run, named("firefox"));
    assert_eq!(firefox["threads"][0]["markers"]["length"], 0);
    columns_are_as_long_as_they_say(&firefox);
}
