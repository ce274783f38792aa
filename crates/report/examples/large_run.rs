//! How long the report of a large profile takes: `cargo run --release -p hotloop-report --example large_run`.

use std::time::Instant;

use record::{Profile, Run, Scope, Thread};

/// What a scope is called, by its place.
type Name = fn(usize) -> String;

/// Distinct paths.
const SCOPES: usize = 100_000;

fn run(name: Name) -> Run {
    let mut scopes: Vec<Scope> = (0..SCOPES).map(|at| scope(name(at), at)).collect();
    for at in (1..SCOPES).rev() {
        let (total, parent) = (scopes[at].total_ns, scopes[at].parent.expect("all but the first have one"));
        scopes[parent].total_ns += total;
    }
    let wall_ns = scopes[0].total_ns;
    let thread = Thread { count: 1, wall_ns, in_scopes_ns: wall_ns, ..Thread::default() };
    let profile = Profile { wall_ns, scopes, threads: vec![thread], ..Profile::default() };
    Run { profile: Some(profile), ..Run::default() }
}

fn scope(name: String, at: usize) -> Scope {
    let ns = 1_000 + (at as u64 * 7_919) % 10_000;
    Scope {
        name,
        index: at.is_multiple_of(3).then_some(at as u64),
        parent: at.checked_sub(1).map(|before| before / 4),
        calls: 10,
        timed_calls: 10,
        self_ns: ns,
        total_ns: ns,
        min_ns: ns / 20,
        max_ns: ns,
        p50_ns: Some(ns / 10),
        p90_ns: Some(ns / 8),
        p99_ns: Some(ns / 5),
        threads: 1,
        ..Scope::default()
    }
}

fn main() {
    let kinds: [(&str, Name); 2] = [
        ("as many names", |at| format!("module::part_{}::scope_{at}", at % 100)),
        ("ten names", |at| format!("scope_{}", at % 10)),
    ];
    for (what, name) in kinds {
        let run = run(name);
        let options = report::RunOptions::default();
        type Written = fn(&report::Document) -> String;
        let writers: [(&str, Written); 2] =
            [("text", |document| document.terminal(report::Page::default())), ("Markdown", report::Document::markdown)];
        for (kind, write) in writers {
            let mut best = f64::INFINITY;
            let mut length = 0;
            for _ in 0..5 {
                let start = Instant::now();
                length = write(&report::run(&run, &options)).len();
                best = best.min(start.elapsed().as_secs_f64());
            }
            #[expect(clippy::print_stdout, reason = "an example speaks to the terminal")]
            {
                println!("{SCOPES} paths, {what}: {kind} of {length} bytes in {:.0} ms", best * 1e3);
            }
        }
    }
}
