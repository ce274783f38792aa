//! What `go test -bench` prints: a line for each benchmark and repeat. Each package is a run.

use std::collections::BTreeMap;

use record::{Better, Row};

use crate::draft::Draft;
use crate::format::ReadRuns;
use crate::lines::Lines;
use crate::numbers::whole;
use crate::{Result, Source};

/// Beginnings of lines that say nothing about a benchmark.
const SAID_ELSEWHERE: &[&str] = &["PASS", "ok ", "ok\t", "RUN ", "testing: warning: no tests to run", "BENCH: "];

/// A line of a benchmark.
struct BenchmarkLine<'a> {
    name: &'a str,
    iterations: u64,
    /// Numbers and their units.
    values: Vec<(f64, &'a str)>,
}

/// What is known of where the next benchmarks run.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
struct BenchmarkContext {
    package: String,
    os: String,
    arch: String,
    cpu: String,
}

pub(crate) fn is_it(text: &str) -> bool {
    text.lines()
        .any(|line| measured(line).is_some_and(|found| found.values.iter().any(|(_, unit)| unit.ends_with("/op"))))
}

/// `BenchmarkSum/1024-8   5000   2345 ns/op   436.7 MB/s   64 B/op   1 allocs/op   12.5 tok/s`
fn measured(line: &str) -> Option<BenchmarkLine<'_>> {
    let mut words = line.split_whitespace();
    let name = words.next().filter(|name| name.starts_with("Benchmark"))?;
    let iterations = words.next()?.parse().ok()?;
    let mut values = Vec::new();
    while let Some(number) = words.next() {
        values.push((number.parse::<f64>().ok().filter(|number| number.is_finite())?, words.next()?));
    }
    (!values.is_empty()).then_some(BenchmarkLine { name, iterations, values })
}

pub(crate) fn read(text: &str, _source: &Source) -> Result<ReadRuns> {
    let mut lines = Lines::new(text);
    let mut place = BenchmarkContext::default();
    let mut packages: Vec<(BenchmarkContext, Vec<BenchmarkLine<'_>>)> = Vec::new();
    let mut numbers: BTreeMap<BenchmarkContext, usize> = BTreeMap::new();
    let mut failures: Vec<(String, String)> = Vec::new();
    for at in 0..lines.len() {
        let line = lines.get(at).trim();
        if let Some(found) = measured(line) {
            if found.values.iter().any(|(number, unit)| is_wrong(*number, unit)) {
                lines.refuse(at, "a time of 0 or a negative number");
                continue;
            }
            lines.take(at);
            let number = *numbers.entry(place.clone()).or_insert_with(|| {
                packages.push((place.clone(), Vec::new()));
                packages.len() - 1
            });
            packages[number].1.push(found);
        } else if place.tell(line) || is_announced(line) {
            lines.take(at);
        } else if line.starts_with("--- FAIL") || line.starts_with("FAIL\t") {
            lines.take(at);
            failures.push((place.package.clone(), line.split_whitespace().collect::<Vec<_>>().join(" ")));
        } else if line == "FAIL" || (line.starts_with('?') && line.ends_with("[no test files]")) {
            lines.take(at);
        }
    }
    let several = packages.len() > 1;
    let mut drafts = Vec::new();
    for (at, (place, found)) in packages.iter().enumerate() {
        let is_named = packages.iter().filter(|(other, _)| other.package == place.package).count() == 1;
        let part = if is_named && !place.package.is_empty() { place.package.clone() } else { (at + 1).to_string() };
        let mut draft = draft(place, found);
        draft.part = several.then_some(part);
        let of_it = failures.iter().filter(|(package, _)| *package == place.package);
        draft.run.failures.extend(of_it.map(|(_, failure)| failure.clone()));
        drafts.push(draft);
    }
    Ok(ReadRuns { drafts, unread: lines.finish(SAID_ELSEWHERE) })
}

/// What no operation takes; other numbers are the benchmark's own, and may be anything.
fn is_wrong(number: f64, unit: &str) -> bool {
    match unit {
        "ns/op" => number <= 0.0,
        "B/op" | "allocs/op" | "MB/s" => number < 0.0,
        _ => false,
    }
}

/// The name alone, as `-v` prints it before a benchmark begins.
fn is_announced(line: &str) -> bool {
    line.starts_with("Benchmark") && !line.contains(char::is_whitespace)
}

impl BenchmarkContext {
    /// `goos: linux` and the like; whether the line is one.
    fn tell(&mut self, line: &str) -> bool {
        let Some((key, value)) = line.split_once(": ") else { return false };
        let field = match key {
            "goos" => &mut self.os,
            "goarch" => &mut self.arch,
            "pkg" => &mut self.package,
            "cpu" => &mut self.cpu,
            _ => return false,
        };
        value.trim().clone_into(field);
        true
    }
}

/// The number of threads behind a name: `BenchmarkSum-8`.
fn threads_of(name: &str) -> Option<u64> {
    name.rsplit_once('-').and_then(|(_, threads)| whole(threads)).filter(|threads| (2..=1 << 16).contains(threads))
}

fn draft(place: &BenchmarkContext, found: &[BenchmarkLine<'_>]) -> Draft {
    let subject = if place.package.is_empty() { "a Go package" } else { &*place.package };
    let mut draft = Draft::new(subject, "go-bench");
    let machine = &mut draft.run.environment.machine;
    machine.os.clone_from(&place.os);
    machine.arch = match &*place.arch {
        "amd64" => "x86_64".to_owned(),
        "arm64" => "aarch64".to_owned(),
        other => other.to_owned(),
    };
    machine.cpu.model = (!place.cpu.is_empty()).then(|| place.cpu.clone());
    // `-cpu 1,2,4` runs each with several; only where all agree the number is no part of the name.
    let threads = found.first().and_then(|first| threads_of(first.name));
    let threads = threads.filter(|_| found.iter().all(|other| threads_of(other.name) == threads));
    if let Some(threads) = threads {
        draft.parameter("gomaxprocs", threads.to_string());
    }
    let mut rounds: BTreeMap<&str, u64> = BTreeMap::new();
    for BenchmarkLine { name, iterations, values } in found {
        let name = if threads.is_some() { name.rsplit_once('-').map_or(*name, |(name, _)| name) } else { name };
        let round = rounds.entry(name).or_default();
        if *round == 0 {
            draft.row(Row { name: name.to_owned(), calls: 1, threads, ..Row::default() });
        }
        let values: Vec<(String, Option<f64>)> = values.iter().map(|value| metric(&mut draft, *value)).collect();
        let iterations = ("iterations".to_owned(), Some(*iterations as f64));
        draft.sample(name, *round, values.into_iter().chain([iterations]));
        *round += 1;
    }
    draft.metric("iterations", "iterations averaged into the values", "count", Better::Higher);
    draft.single_shot = rounds.values().all(|count| *count == 1);
    draft.note("The output does not say how the package was built.");
    draft
}

/// A value by the name and unit that it has here.
fn metric(draft: &mut Draft, (number, unit): (f64, &str)) -> (String, Option<f64>) {
    let (name, number) = match unit {
        "ns/op" => {
            draft.metric(
                "wall_s",
                "time of an operation, the mean of all iterations of the sample",
                "s",
                Better::Lower,
            );
            ("wall_s", number * 1e-9)
        }
        "B/op" => {
            draft.metric("alloc_bytes", "bytes allocated in an operation, on average", "bytes", Better::Lower);
            ("alloc_bytes", number)
        }
        "allocs/op" => {
            draft.metric("allocs", "allocations in an operation, on average", "count", Better::Lower);
            ("allocs", number)
        }
        unit => {
            let better = if unit.ends_with("/s") { Better::Higher } else { Better::Lower };
            draft.metric(unit, "a custom metric of the benchmark", unit, better);
            (unit, number)
        }
    };
    (name.to_owned(), Some(number))
}
