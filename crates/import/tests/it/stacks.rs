//! Profiles of other tools: folded stacks and speedscope.

use super::{has_note, read, scope, try_read};

#[test]
fn folded_stacks() {
    let found = read("folded.txt");
    assert_eq!((found.format.name(), found.runs.len(), &found.unread[..]), ("folded", 1, &[][..]));
    let run = &found.runs[0];
    let main = scope(run, "main", Some("bench"));
    assert_eq!((main.calls, main.total_ns, main.self_ns), (500, 500, 0));
    let attention = scope(run, "attention", Some("decode"));
    assert_eq!((attention.total_ns, attention.self_ns, attention.is_sampled), (160, 40, true));
    // Frames may have spaces, as templates do.
    assert_eq!(scope(run, "std::vector<float, std::allocator<float> >::resize", Some("decode")).self_ns, 7);
    assert_eq!(scope(run, "gemm_kernel_[k]", Some("decode")).self_ns, 250);
    assert_eq!(scope(run, "gemm_kernel_[k]", Some("prefill")).self_ns, 80);
    assert_eq!(run.profile.as_ref().map(|profile| (profile.wall_ns, profile.outside_ns)), Some((500, 0)));
    has_note(run, "weights without a unit");
}

#[test]
fn folded_stacks_of_a_comparison_are_two_runs() {
    let found = try_read("diff.folded", "a;b 10 12\na;c 5 0\na;d 0 2.6\n").expect("it can be read");
    assert_eq!(found.runs.len(), 2);
    let totals: Vec<u64> = found.runs.iter().map(|run| scope(run, "a", None).total_ns).collect();
    assert_eq!(totals, [15, 15]);
    assert_eq!(found.runs[1].imported.as_ref().and_then(|origin| origin.part.as_deref()), Some("after"));
    has_note(&found.runs[1], "rounded");
}

#[test]
fn lines_that_are_no_stacks_are_named() {
    let format = import::Format::named("folded");
    let text = "# a comment\na;b 3\na;c\na;d -1\n a;e  4\n";
    let found = import::import(text, &super::source("x"), format).expect("the rest can be read");
    let lines: Vec<Option<u64>> = found.unread.iter().map(|part| part.line).collect();
    assert_eq!(lines, [Some(3), Some(4)]);
    assert_eq!(scope(&found.runs[0], "a", None).total_ns, 7);
    assert!(try_read("x", text).is_err_and(|error| error.is_unknown_format()), "not all lines are stacks");
    // A line as deep as nobody calls: what lies deeper counts where there is room.
    let deep = format!("{} 9\n", vec!["f"; 5_000].join(";"));
    let found = try_read("deep.folded", &deep).expect("it can be read");
    let profile = found.runs[0].profile.as_ref().expect("it has a profile");
    assert_eq!((profile.scopes.len(), profile.lost.calls_without_room, profile.scopes[0].total_ns), (1 << 10, 9, 9));
}

#[test]
fn speedscope_evented() {
    let found = read("speedscope-evented.json");
    assert_eq!((found.format.name(), found.runs.len(), &found.unread[..]), ("speedscope", 1, &[][..]));
    let run = &found.runs[0];
    let main = scope(run, "main", None);
    assert_eq!((main.calls, main.total_ns, main.self_ns), (1, 10_000_000, 2_000_000));
    let attention = scope(run, "attention", Some("decode"));
    assert_eq!((attention.calls, attention.total_ns), (2, 6_500_000));
    assert_eq!((attention.min_ns, attention.max_ns), (500_000, 6_000_000));
    // It takes no time and begins where another ends: it is called by main all the same.
    assert_eq!(scope(run, "sample", Some("main")).calls, 1);
    let profile = run.profile.as_ref().expect("it has a profile");
    assert_eq!(profile.threads[0].name.as_deref(), Some("MainThread"));
    assert_eq!(profile.timeline[0].scopes.len(), 5);
    assert_eq!(run.subject.name, "tiny run");
    has_note(run, "tiny-profiler@1.0");
}

#[test]
fn speedscope_sampled() {
    let found = read("speedscope-sampled.json");
    let run = &found.runs[0];
    let decode = scope(run, "decode", Some("main"));
    assert_eq!((decode.calls, decode.total_ns, decode.self_ns), (4, 50_000_000, 30_000_000));
    assert!(decode.is_sampled && decode.threads == 2);
    assert_eq!(scope(run, "sample", Some("main")).total_ns, 10_000_000);
    let profile = run.profile.as_ref().expect("it has a profile");
    assert_eq!((profile.wall_ns, profile.outside_ns), (50_000_000, 10_000_000));
    let unread: Vec<(&str, &str)> = found.unread.iter().map(|part| (&*part.text, &*part.why)).collect();
    assert_eq!(unread, [("profiles[2]: sampled bytes", "its weights are not times")]);
    has_note(run, "numbers of samples");
}

#[test]
fn speedscope_that_cannot_be() {
    let file = |profile: &str| {
        let frames = r#""shared":{"frames":[{"name":"a"},{"name":"b"}]}"#;
        try_read("x.json", &format!(r#"{{{frames},"profiles":[{profile}]}}"#)).map_err(|error| error.to_string())
    };
    let events = |list: &str| {
        file(&format!(r#"{{"type":"evented","unit":"none","startValue":0,"endValue":9,"events":[{list}]}}"#))
    };
    let found = events(
        r#"{"type":"O","frame":0,"at":1},{"type":"O","frame":1,"at":2},{"type":"C","frame":0,"at":3},
           {"type":"C","frame":1,"at":1},{"type":"O","frame":7,"at":4},{"type":"Z","frame":0,"at":5}"#,
    )
    .expect("the first can be read");
    let why: Vec<&str> = found.unread.iter().map(|part| part.why.as_str()).collect();
    assert_eq!(
        why,
        [
            "closes a frame that is not the innermost open one",
            "its time is impossible or before the previous event",
            "no frame with this number",
            "unknown kind of event",
            "the frame is not closed; it ends with the profile",
            "the frame is not closed; it ends with the profile",
        ]
    );
    assert_eq!(scope(&found.runs[0], "a", None).total_ns, 4);
    has_note(&found.runs[0], "no unit");
    let samples = r#"{"type":"sampled","unit":"seconds","samples":[[0],[0,9],[1]],"weights":[-1,1]}"#;
    let error = file(samples).expect_err("nothing is left");
    assert!(error.contains("profiles[0].samples[0] (missing or impossible weight)"), "{error}");
    assert!(file("").is_err());
}

/// What we export comes back as it was.
#[test]
fn our_own_exports() {
    let run = &read("torch-trace.json").runs[0];
    let own = |run: &record::Run| {
        let scopes = &run.profile.as_ref().expect("it has a profile").scopes;
        let mut found: Vec<(String, u64)> =
            scopes.iter().filter(|one| one.self_ns > 0).map(|one| (one.name.clone(), one.self_ns)).collect();
        found.sort();
        found
    };
    for name in ["folded", "speedscope"] {
        let format = report::ExportFormat::named(name).expect("there is one");
        let text = report::export(run, "", format).expect("it can be exported");
        let found = try_read("export", &String::from_utf8(text).expect("text")).expect("it can be read");
        assert_eq!((found.format.name(), &found.unread[..]), (name, &[][..]));
        let times = |found: &[(String, u64)]| found.iter().map(|(_, ns)| *ns).sum::<u64>();
        assert_eq!(times(&own(&found.runs[0])), times(&own(run)), "{name}");
    }
}
