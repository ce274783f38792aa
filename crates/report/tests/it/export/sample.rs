//! Runs made by hand, of which everything is known: also what the viewers are given to open.

use std::collections::BTreeMap;

use record::{
    Allocations, Losses, Metric, Phase, Profile, RUN_SCHEMA, RUN_VERSION, Run, Sample, Scope, Subject, Thread,
    Timeline, Tool, Workload,
};

/// Names that break what is written carelessly.
pub const ODD_NAMES: [&str; 4] = [
    "demo::say \"hi\" \\ <b>&amp;</b>",
    "demo::a;b\nc\td 7",
    "demo::gr\u{f6}\u{df}e \u{65e5}\u{672c} \u{1f525}",
    "demo::bell\u{7}\u{0}",
];

/// Writes down calls as the profiler does: a tree of paths, and calls in the order in which they ended.
#[derive(Default)]
pub struct Recorder {
    profile: Profile,
    open: Vec<(usize, u64, u64)>,
}

impl Recorder {
    /// From now on calls are of this thread.
    pub fn thread(&mut self, name: Option<&str>) {
        let id = self.profile.threads.len() as u64;
        let thread = Thread { id, name: name.map(str::to_owned), count: 1, ..Thread::default() };
        self.profile.threads.push(thread);
        self.profile.timeline.push(Timeline { thread: id, ..Timeline::default() });
    }

    pub fn enter(&mut self, name: &str, index: Option<u64>, at_ns: u64) {
        let parent = self.open.last().map(|open| open.0);
        let scopes = &mut self.profile.scopes;
        let known =
            scopes.iter().position(|scope| scope.name == name && scope.index == index && scope.parent == parent);
        let scope = known.unwrap_or_else(|| {
            let (file, line) = ("src/demo.rs".to_owned(), name.len() as u32);
            scopes.push(Scope { name: name.to_owned(), index, parent, file, line, threads: 1, ..Scope::default() });
            scopes.len() - 1
        });
        self.open.push((scope, at_ns, 0));
    }

    pub fn exit(&mut self, at_ns: u64) {
        let (at, start_ns, inside_ns) = self.open.pop().expect("a scope is open");
        let duration_ns = at_ns - start_ns;
        let scope = &mut self.profile.scopes[at];
        scope.min_ns = if scope.calls == 0 { duration_ns } else { scope.min_ns.min(duration_ns) };
        scope.max_ns = scope.max_ns.max(duration_ns);
        scope.calls += 1;
        scope.timed_calls += 1;
        scope.total_ns += duration_ns;
        scope.self_ns += duration_ns - inside_ns;
        scope.p50_ns = Some(scope.min_ns);
        let timeline = self.profile.timeline.last_mut().expect("there is a thread");
        timeline.scopes.push(at);
        timeline.starts_ns.push(start_ns);
        timeline.durations_ns.push(duration_ns);
        if let Some(around) = self.open.last_mut() {
            around.2 += duration_ns;
        }
    }

    pub fn call(&mut self, name: &str, index: Option<u64>, from_ns: u64, to_ns: u64) {
        self.enter(name, index, from_ns);
        self.exit(to_ns);
    }

    pub fn finish(self) -> Profile {
        self.profile
    }
}

/// A program of two threads: two tokens through two layers, names of all kinds, and edges that meet in one nanosecond.
fn recorded() -> Profile {
    let mut recorder = Recorder::default();
    recorder.thread(Some("main"));
    recorder.enter("demo::main", None, 1_000);
    for token in 0..2 {
        let t = 1_000 + token * 40_000;
        recorder.enter("demo::model::forward", None, t);
        for layer in 0..2 {
            let t = t + layer * 20_000;
            recorder.enter("demo::model::layer", Some(layer), t);
            recorder.call("demo::model::qkv", None, t, t + 12_345);
            recorder.exit(t + 20_000);
        }
        recorder.exit(t + 40_000);
    }
    // A call without length before one that begins at the same time, and three that end with all around them.
    recorder.call(ODD_NAMES[0], None, 81_000, 81_000);
    recorder.enter(ODD_NAMES[1], None, 81_000);
    recorder.enter(ODD_NAMES[2], None, 91_000);
    recorder.call(ODD_NAMES[3], None, 91_001, 101_000);
    recorder.exit(101_000);
    recorder.exit(101_000);
    recorder.exit(101_000);
    recorder.call("demo::<T as Tail>::flush", None, 101_000, 101_000);
    recorder.thread(None);
    recorder.enter("demo::worker", None, 5_000);
    recorder.call("demo::part", None, 5_000, 15_000);
    recorder.call("demo::part", None, 15_000, 34_999);
    recorder.exit(35_000);
    recorder.finish()
}

/// The run with a timeline.
pub fn with_timeline() -> Run {
    let mut profile = recorded();
    profile.wall_ns = 120_000;
    profile.lost = Losses { timeline_events: 3, ..Losses::default() };
    let forward = &mut profile.scopes[1];
    (forward.flops, forward.bytes, forward.tokens) = (2_000_000, 4_096, 2);
    forward.allocs = Some(Allocations { allocs: 7, alloc_bytes: 512, ..Allocations::default() });
    forward.allocs_total = forward.allocs;
    let value = |value: f64| BTreeMap::from([("wall".to_owned(), value)]);
    let sample = |phase, value_s: f64| Sample {
        row: "decode, \"short\"".to_owned(),
        phase,
        values: value(value_s),
        series: BTreeMap::from([("token".to_owned(), vec![0.25, 0.5])]),
        ..Sample::default()
    };
    Run {
        schema: RUN_SCHEMA.to_owned(),
        version: RUN_VERSION,
        tool: Tool { name: "hotloop".to_owned(), version: "0.1.0".to_owned() },
        created: "2026-01-02T03:04:05Z".to_owned(),
        subject: Subject { name: "demo <&> \"engine\"".to_owned(), ..Subject::default() },
        workload: Workload { name: "standard".to_owned(), ..Workload::default() },
        metrics: BTreeMap::from([("wall".to_owned(), Metric { unit: "s".to_owned(), ..Metric::default() })]),
        samples: vec![sample(Phase::Warmup, 1.5), sample(Phase::Timed, 1.0)],
        profile: Some(profile),
        ..Run::default()
    }
}

/// The same without its timeline.
pub fn without_timeline() -> Run {
    let mut run = with_timeline();
    run.profile.iter_mut().for_each(|profile| profile.timeline.clear());
    run
}

/// A run whose profile has nothing in it.
pub fn empty() -> Run {
    Run { profile: Some(Profile::default()), ..with_timeline() }
}
