//! pytest-benchmark's JSON: every round is a sample where the file has them, else the medians.

use record::{Better, Git, Row, Unread};
use serde_json::Value;

use crate::draft::{Draft, value};
use crate::format::ReadRuns;
use crate::json::{Object, refuse};
use crate::numbers::moment;
use crate::{Error, Result, Source};

/// What follows from the rounds, or is of no use without them.
const STATISTICS: &[&str] = &[
    "min",
    "max",
    "mean",
    "stddev",
    "median",
    "iqr",
    "q1",
    "q3",
    "iqr_outliers",
    "stddev_outliers",
    "outliers",
    "ld15iqr",
    "hd15iqr",
    "ops",
    "total",
    "rounds",
];
/// How long and how often it was asked to measure; what came of that is told too.
const EFFORT: &[&str] = &["min_rounds", "max_time", "min_time", "precision", "confidence"];

pub(crate) fn read(text: &str, _source: &Source) -> Result<ReadRuns> {
    let document: Value = serde_json::from_str(text)?;
    let mut document = Object::new(document, "").ok_or_else(|| Error::new("not a JSON object"))?;
    let list = document.list("benchmarks").ok_or_else(|| Error::new("no list `benchmarks`"))?;
    let mut unread = Vec::new();
    let mut draft = Draft::new("a Python program", "pytest-benchmark");
    if let Some(when) = document.text("datetime") {
        let has_zone = when.get(19..).is_some_and(|rest| rest.contains(['Z', '+', '-']));
        let utc = when.get(..19).and_then(moment).filter(|_| !has_zone);
        draft.run.created = utc.unwrap_or(when);
    }
    if let Some(machine) = document.object("machine_info") {
        read_machine(&mut draft, machine);
    }
    if let Some(commit) = document.object("commit_info") {
        read_commit(&mut draft, commit, &mut unread);
    }
    for (at, benchmark) in list.into_iter().enumerate() {
        let place = format!("benchmarks[{at}]");
        match Object::new(benchmark, place.clone()) {
            Some(benchmark) => read_benchmark(&mut draft, benchmark, &mut unread),
            None => refuse(&mut unread, place, "not an object"),
        }
    }
    draft.single_shot = !draft.summarised && draft.run.samples.len() == draft.run.rows.len();
    document.ignore(&["version"]);
    document.finish(&mut unread);
    Ok(ReadRuns { drafts: vec![draft], unread })
}

/// Where it ran. The list of what the CPU can do, and the name of the host, are left out.
fn read_machine(draft: &mut Draft, mut found: Object) {
    let machine = &mut draft.run.environment.machine;
    machine.arch = match found.text("machine").unwrap_or_default().as_str() {
        "AMD64" => "x86_64".to_owned(),
        "arm64" => "aarch64".to_owned(),
        other => other.to_owned(),
    };
    let system = [found.text("system"), found.text("release")];
    machine.os = system.into_iter().flatten().collect::<Vec<_>>().join(" ");
    if let Some(mut cpu) = found.object("cpu") {
        machine.cpu.model = cpu.text("brand_raw").or_else(|| cpu.text("brand"));
        machine.cpus = cpu.count("count").and_then(|cpus| cpus.try_into().ok()).unwrap_or(0);
    }
    let python = [found.text("python_implementation"), found.text("python_version")];
    let python = python.into_iter().flatten().collect::<Vec<_>>().join(" ");
    if !python.is_empty() {
        draft.run.subject.build.get_or_insert_default().compiler = Some(python);
    }
}

fn read_commit(draft: &mut Draft, mut found: Object, unread: &mut Vec<Unread>) {
    if let Some(project) = found.text("project") {
        draft.run.subject.name = project;
    }
    let dirty = found.flag("dirty");
    let commit = found.text("id").filter(|id| !["unversioned", "unknown"].contains(&id.as_str()));
    let (branch, commit_time) = (found.text("branch"), found.text("time"));
    let branch = branch.filter(|branch| *branch != "(unknown)");
    draft.run.subject.git = commit.map(|commit| Git { commit, dirty: dirty.unwrap_or(false), branch, commit_time });
    found.ignore(&["author_time", "error"]);
    found.finish(unread);
}

fn read_benchmark(draft: &mut Draft, mut found: Object, unread: &mut Vec<Unread>) {
    let short = found.text("name").unwrap_or_default();
    let name = found.text("fullname").unwrap_or(short);
    let place = format!("{} ({name})", found.place());
    let Some(mut stats) = found.object("stats") else {
        return refuse(unread, place, "no statistics");
    };
    if draft.run.rows.iter().any(|row| row.name == name) {
        return refuse(unread, place, "a benchmark of that name is already listed above");
    }
    let metric = read_options(draft, found.object("options"), unread);
    draft.metric("iterations", "iterations averaged into the time", "count", Better::Higher);
    let iterations = ("iterations".to_owned(), stats.amount("iterations"));
    let rounds = stats.amounts("data", unread);
    for (round, seconds) in &rounds {
        draft.sample(&name, *round as u64, [value(metric, *seconds), iterations.clone()]);
    }
    if rounds.is_empty() {
        let Some(median) = stats.amount("median").or_else(|| stats.amount("mean")) else {
            return refuse(unread, place, "neither rounds nor a median");
        };
        draft.summarised = true;
        let extreme = |name: &str, value: Option<f64>| (name.to_owned(), value.filter(|_| metric == "wall_s"));
        let (min, max) = (stats.amount("min"), stats.amount("max"));
        let values = [value(metric, median), extreme("wall_min_s", min), extreme("wall_max_s", max), iterations];
        draft.sample(&name, 0, values);
    }
    stats.ignore(STATISTICS);
    stats.finish(unread);
    let mut what: Vec<String> = found.text("group").into_iter().collect();
    if let Some(mut extra) = found.object("extra_info") {
        what.extend(extra.texts().into_iter().map(|(name, value)| format!("{name} {value}")));
        extra.finish(unread);
    }
    // They are a part of the name.
    found.ignore(&["params", "param"]);
    found.finish(unread);
    draft.row(Row { name, what: what.join(", "), calls: 1, ..Row::default() });
}

/// How it was measured, and the name of what the timer measures.
fn read_options(draft: &mut Draft, options: Option<Object>, unread: &mut Vec<Unread>) -> &'static str {
    let Some(mut options) = options else { return "wall_s" };
    let timer = options.text("timer").unwrap_or_default();
    options.ignore(EFFORT);
    for (name, value) in options.texts() {
        set(draft, &name, value);
    }
    options.finish(unread);
    let is_cpu = timer.contains("process_time") || timer.contains("thread_time");
    if !timer.is_empty() {
        set(draft, "timer", timer);
    }
    if is_cpu { "cpu_s" } else { "wall_s" }
}

/// A setting of all benchmarks; where they differ that is said.
fn set(draft: &mut Draft, name: &str, value: String) {
    match draft.run.workload.parameters.get(name) {
        None => draft.parameter(name, value),
        Some(before) if *before == value => {}
        Some(_) => draft.parameter(name, "differs"),
    }
}
