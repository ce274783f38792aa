//! How long it takes to lay two call trees of 100,000 scopes over each other: `cargo run --release -p hotloop-compare --example
//! large_runs`. Half of the scopes took longer, a tenth has another name, and some came or went.

use std::io::Write;
use std::time::Instant;

use compare::{NamedRun, RunsSettings, runs};
use record::{Profile, Run, Scope};

const SCOPES: usize = 100_000;

fn run(is_candidate: bool) -> Run {
    let scope = |at: usize| Scope {
        name: match (is_candidate, at % 10) {
            (true, 3) => format!("module::new_name_{}", at % 1_000),
            _ => format!("module::name_{}", at % 1_000),
        },
        index: at.is_multiple_of(4).then_some(at as u64 % 64),
        parent: (at > 0).then(|| (at - 1) / 7),
        calls: 25,
        self_ns: 1_000 + if is_candidate { (at % 2) as u64 * 100 } else { 0 },
        flops: (at % 5) as u64 * 1_000,
        ..Scope::default()
    };
    let count = if is_candidate { SCOPES } else { SCOPES - 500 };
    let mut scopes: Vec<Scope> = (0..count).map(scope).collect();
    for at in (0..count).rev() {
        scopes[at].total_ns += scopes[at].self_ns;
        if let Some(parent) = scopes[at].parent {
            scopes[parent].total_ns += scopes[at].total_ns;
        }
    }
    Run { profile: Some(Profile { scopes, ..Profile::default() }), ..Run::default() }
}

fn main() -> std::io::Result<()> {
    let (base, candidate) = (run(false), run(true));
    let stored = |run, name| NamedRun { run, name, id: None };
    for _ in 0..5 {
        let start = Instant::now();
        let found = runs(stored(&base, "base"), stored(&candidate, "candidate"), &RunsSettings::default());
        let compared = start.elapsed();
        let json = found.to_json();
        let written = start.elapsed() - compared;
        let parts = found.why.as_ref().map_or(0, |why| why.parts.len());
        let renamed = found.scopes.iter().filter(|scope| scope.was.is_some()).count();
        writeln!(
            std::io::stdout(),
            "{} scopes ({renamed} renamed), {parts} parts: compared in {compared:.2?}, {} MB of JSON in {written:.2?}",
            found.scopes.len(),
            json.len() / 1_000_000,
        )?;
    }
    Ok(())
}
