//! JSON of SmallMind's two better benchmarks: ProfilerBenchmarks (median of 20 repeats, the extremes) and the SIMD benchmarks
//! (mean of all iterations). Both say where they ran and how they were built.

use std::collections::HashSet;

use record::{Better, Build, Git, Row, Unread};
use serde_json::Value;

use super::SUBJECT;
use crate::draft::{Draft, value};
use crate::format::ReadRuns;
use crate::json::{Object, refuse};
use crate::{Error, Result, Source};

pub(crate) fn read(text: &str, _source: &Source) -> Result<ReadRuns> {
    let document: Value = serde_json::from_str(text)?;
    let mut document = Object::new(document, "").ok_or_else(|| Error::new("not a JSON object"))?;
    let mut unread = Vec::new();
    let mut draft = Draft::new(SUBJECT, "smallmind-benchmarks");
    draft.summarised = true;
    draft.run.created = document.text("reportTimestamp").unwrap_or_default();
    if let Some(system) = document.object("systemInfo") {
        read_system(&mut draft, system, &mut unread);
    }
    let results = document.list("results").ok_or_else(|| Error::new("no list `results`"))?;
    let mut seen = HashSet::new();
    for (at, result) in results.into_iter().enumerate() {
        match Object::new(result, format!("results[{at}]")) {
            Some(result) => read_result(&mut draft, result, &mut seen, &mut unread),
            None => refuse(&mut unread, format!("results[{at}]"), "not an object"),
        }
    }
    document.finish(&mut unread);
    Ok(ReadRuns { drafts: vec![draft], unread })
}

fn read_system(draft: &mut Draft, mut system: Object, unread: &mut Vec<Unread>) {
    let machine = &mut draft.run.environment.machine;
    if let Some(mut found) = system.object("machine") {
        machine.cpu.model = found.text("cpuModel");
        machine.cpus = found.count("logicalCores").and_then(|cpus| cpus.try_into().ok()).unwrap_or(0);
        machine.arch = match found.text("cpuArchitecture").as_deref() {
            Some("X64") => "x86_64".to_owned(),
            Some("Arm64") => "aarch64".to_owned(),
            other => other.unwrap_or_default().to_owned(),
        };
        if let Some(mut sets) = found.object("simdCapabilities") {
            let features = sets.texts().into_iter().filter(|(_, has)| has == "true").map(|(name, _)| name);
            machine.isa.features = features.filter(|name| name != "Vector_IsHardwareAccelerated").collect();
            sets.finish(unread);
        }
        found.ignore(&["simdVectorSize", "endianness", "numaAware"]);
        found.finish(unread);
    }
    if let Some(mut memory) = system.object("memory") {
        machine.mem_bytes = memory.count("totalMemoryBytes");
        machine.mem_available_bytes = memory.count("availableMemoryBytes");
        memory.ignore(&["totalMemoryFormatted", "availableMemoryFormatted"]);
        memory.finish(unread);
    }
    if let Some(mut os) = system.object("operatingSystem") {
        machine.os = os.text("osName").unwrap_or_default();
        machine.kernel = os.text("osVersion");
        os.ignore(&["platform", "kernelVersion"]);
        os.finish(unread);
    }
    let runtime = system.object("runtime").map(|runtime| read_runtime(draft, runtime, unread));
    if let Some(build) = system.object("build") {
        read_build(draft, build, unread);
    }
    if let Some(version) = runtime.flatten() {
        draft.run.subject.build.get_or_insert_default().compiler = Some(version);
    }
    system.ignore(&["process"]);
    system.finish(unread);
}

fn read_runtime(draft: &mut Draft, mut runtime: Object, unread: &mut Vec<Unread>) -> Option<String> {
    for (name, parameter) in [("gcMode", "gc"), ("gcLatencyMode", "gc_latency")] {
        if let Some(text) = runtime.text(name) {
            draft.parameter(parameter, text);
        }
    }
    for (name, parameter) in [("tieredCompilation", "tiered_compilation"), ("readyToRun", "ready_to_run")] {
        if let Some(flag) = runtime.flag(name) {
            draft.parameter(parameter, flag.to_string());
        }
    }
    let version = runtime.text("frameworkDescription");
    runtime.ignore(&["dotNetVersion", "runtimeIdentifier"]);
    runtime.finish(unread);
    version
}

fn read_build(draft: &mut Draft, mut build: Object, unread: &mut Vec<Unread>) {
    let is_release = build.flag("isReleaseBuild");
    draft.run.subject.build = Some(Build {
        profile: build.text("configuration").map(|name| name.to_lowercase()),
        debug_assertions: is_release.map(|release| !release),
        target: build.text("targetFramework"),
        ..Build::default()
    });
    // Whether files differed from the commit is not told; saying nothing would mean that they did not.
    if let Some(commit) = build.text("gitCommitHash").filter(|commit| commit != "unknown") {
        draft.run.subject.git = Some(Git { commit, ..Git::default() });
        draft.note("The file does not say whether there were uncommitted changes.");
    }
    build.ignore(&["compilationTimestamp"]);
    build.finish(unread);
}

/// A benchmark, as a row and a sample.
fn read_result(draft: &mut Draft, mut result: Object, seen: &mut HashSet<String>, unread: &mut Vec<Unread>) {
    let Some(name) = result.text("name") else {
        return refuse(unread, result.place().to_owned(), "no name");
    };
    let Some(mut metrics) = result.object("metrics") else {
        return refuse(unread, format!("{} ({name})", result.place()), "no metrics");
    };
    let mut parameters = result.object("parameters");
    let mut parameter = |name: &str| parameters.as_mut().and_then(|found| found.count(name));
    let (iterations, _warmup) = (parameter("Iterations"), parameter("Warmup"));
    let sizes = [parameter("M"), parameter("K"), parameter("N")];
    let what = parameters.map_or(String::new(), |mut found| {
        let texts: Vec<String> = found.texts().into_iter().map(|(name, value)| format!("{name} {value}")).collect();
        found.finish(unread);
        texts.join(", ")
    });
    let median = metrics.amount("Median (ms/op)");
    let mean = metrics.amount("Time (ms/op)");
    let Some(ms) = median.or(mean).filter(|ms| *ms > 0.0) else {
        return refuse(unread, format!("{} ({name})", result.place()), "no time");
    };
    // A mean is of all iterations together, which are one sample; a median is that of single ones.
    let calls = if median.is_some() { 1 } else { iterations.unwrap_or(1).clamp(1, 1 << 32) };
    let mut values = vec![value("wall_s", ms * 1e-3 * calls as f64)];
    let extreme = |ms: Option<f64>| ms.map(|ms| ms * 1e-3);
    values.push(("wall_min_s".to_owned(), extreme(metrics.amount("Min (ms)"))));
    values.push(("wall_max_s".to_owned(), extreme(metrics.amount("Max (ms)"))));
    values.push(("alloc_bytes".to_owned(), metrics.amount("Allocated (bytes/op)").map(|bytes| bytes * calls as f64)));
    metrics.ignore(&["Allocated (bytes)"]);
    let (flops, bytes) = work(draft, &mut metrics, (&name, ms * 1e-3, sizes));
    for (metric, number) in metrics.numbers() {
        draft.metric(
            &metric,
            "as the program calls it",
            "",
            if metric == "Checksum" { Better::Lower } else { Better::Higher },
        );
        values.push((metric, Some(number)));
    }
    metrics.finish(unread);
    result.ignore(&["timestamp"]);
    result.finish(unread);
    if !seen.insert(name.clone()) {
        return refuse(unread, name, "a result of that name is already listed above");
    }
    draft.row(Row { name: name.clone(), what, calls, flops, bytes, ..Row::default() });
    draft.sample(&name, 0, values);
}

/// Operations and bytes of a call: by the sizes where they are told, else by the rate that is printed.
fn work(
    draft: &mut Draft,
    metrics: &mut Object,
    (name, seconds, sizes): (&str, f64, [Option<u64>; 3]),
) -> (Option<f64>, Option<f64>) {
    let printed = metrics.amount("Performance (GFLOPS)").map(|rate| (rate * 1e9 * seconds).round());
    let by_size = match sizes {
        [Some(m), Some(k), Some(n)] => Some(2.0 * m as f64 * k as f64 * n as f64),
        _ => None,
    };
    if let Some((printed, by_size)) =
        printed.zip(by_size).filter(|(printed, by_size)| (printed / by_size - 1.0).abs() > 0.01)
    {
        draft.note(format!("`{name}`: the printed rate corresponds to {printed} operations; its sizes to {by_size}."));
    }
    // What it calls GB is 2^30 bytes.
    let gib = f64::from(1 << 30);
    let bytes = metrics.amount("Throughput (GB/s)").map(|rate| (rate * gib * seconds).round());
    (by_size.or(printed), bytes)
}
