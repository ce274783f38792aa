//! Google Benchmark's JSON. Repetitions are samples; the means and medians beside them follow from those.

use std::collections::HashMap;

use record::{Better, Cache, CacheKind, Row, Unread};
use serde_json::Value;

use crate::draft::{Draft, value};
use crate::format::ReadRuns;
use crate::json::{Object, refuse};
use crate::{Error, Result, Source};

pub(crate) fn read(text: &str, _source: &Source) -> Result<ReadRuns> {
    let document: Value = serde_json::from_str(text)?;
    let mut document = Object::new(document, "").ok_or_else(|| Error::new("not a JSON object"))?;
    let mut unread = Vec::new();
    let mut draft = Draft::new("", "google-benchmark");
    if let Some(context) = document.object("context") {
        read_context(&mut draft, context, &mut unread);
    }
    let list = document.list("benchmarks").ok_or_else(|| Error::new("no list `benchmarks`"))?;
    let objects = list.into_iter().enumerate().map(|(at, value)| (format!("benchmarks[{at}]"), value));
    let mut benchmarks = Vec::new();
    for (place, value) in objects {
        match Object::new(value, place.clone()) {
            Some(mut object) => benchmarks.push((object.text("run_type").unwrap_or_default(), object)),
            None => refuse(&mut unread, place, "not an object"),
        }
    }
    // Where there are repetitions, what was made of them is of no use; where there is nothing else, it has to do.
    let has_raw = benchmarks.iter().any(|(kind, _)| kind != "aggregate");
    draft.summarised = !has_raw;
    let mut repeats: HashMap<String, u64> = HashMap::new();
    for (kind, benchmark) in benchmarks {
        let kind = Kind { is_made: kind == "aggregate", has_raw };
        read_benchmark(&mut draft, benchmark, kind, &mut repeats, &mut unread);
    }
    draft.single_shot = has_raw && repeats.values().all(|count| *count == 1);
    document.finish(&mut unread);
    Ok(ReadRuns { drafts: vec![draft], unread })
}

fn read_context(draft: &mut Draft, mut context: Object, unread: &mut Vec<Unread>) {
    draft.run.created = context.text("date").unwrap_or_default();
    let executable = context.text("executable").unwrap_or_default();
    draft.run.subject.name = executable.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
    if !executable.is_empty() {
        draft.run.subject.command = vec![executable];
    }
    let machine = &mut draft.run.environment.machine;
    machine.cpus = context.count("num_cpus").and_then(|cpus| cpus.try_into().ok()).unwrap_or(0);
    machine.frequency.max_hz = context.amount("mhz_per_cpu").map(|mhz| (mhz * 1e6) as u64);
    for cache in context.list("caches").unwrap_or_default() {
        machine.caches.extend(Object::new(cache, "context.caches").and_then(read_cache));
    }
    let load = context.list("load_avg").unwrap_or_default();
    if let Some(load) = load.first().and_then(Value::as_f64) {
        draft.note(format!("The load average was {load} at the start."));
    }
    if context.flag("cpu_scaling_enabled") == Some(true) {
        draft.note("CPU frequency scaling was enabled, which makes the figures noisy.");
    }
    if let Some(kind) = context.text("library_build_type") {
        draft.note(format!("Google Benchmark itself is a {kind} build; how the program was built is unknown."));
    }
    context.ignore(&["host_name", "library_version", "json_schema_version", "aslr_enabled"]);
    for (name, value) in context.texts() {
        draft.parameter(&name, value);
    }
    context.finish(unread);
}

fn read_cache(mut cache: Object) -> Option<Cache> {
    let kind = match cache.text("type")?.as_str() {
        "Data" => CacheKind::Data,
        "Instruction" => CacheKind::Instruction,
        _ => CacheKind::Unified,
    };
    let level = cache.count("level")?.try_into().ok()?;
    let shared_by = cache.count("num_sharing").and_then(|count| count.try_into().ok());
    Some(Cache { level, kind, bytes: cache.count("size")?, shared_by, instances: None, line_bytes: None })
}

/// Whether a result was made of others, and whether any was not.
struct Kind {
    is_made: bool,
    has_raw: bool,
}

fn read_benchmark(
    draft: &mut Draft,
    mut found: Object,
    kind: Kind,
    repeats: &mut HashMap<String, u64>,
    unread: &mut Vec<Unread>,
) {
    let whole_name = found.text("name").unwrap_or_default();
    let name = found.text("run_name").unwrap_or_else(|| whole_name.clone());
    let place = format!("{} ({whole_name})", found.place());
    if let Some(wrong) = found.text("error_message") {
        draft.run.failures.push(format!("{name}: {wrong}"));
    }
    if found.flag("error_occurred") == Some(true) || found.flag("skipped") == Some(true) {
        return refuse(unread, place, "the benchmark failed or was skipped");
    }
    let made = found.text("aggregate_name");
    if kind.is_made && (kind.has_raw || made.as_deref() != Some("median")) {
        return refuse(unread, place, "an aggregate of repetitions");
    }
    let unit = found.text("time_unit").unwrap_or_else(|| "ns".to_owned());
    let (Some(scale), Some(real)) = (scale(&unit), found.amount("real_time")) else {
        return refuse(unread, place, "no time, or an unknown unit");
    };
    let mut values = vec![value("wall_s", real * scale)];
    values.push(("cpu_s".to_owned(), found.amount("cpu_time").map(|time| time * scale)));
    let round = found.count("repetition_index").unwrap_or(0);
    let threads = found.count("threads");
    let label = found.text("label").unwrap_or_default();
    draft.metric("iterations", "iterations averaged into the time", "count", Better::Higher);
    values.push(("iterations".to_owned(), found.amount("iterations")));
    found.ignore(&[
        "family_index",
        "per_family_instance_index",
        "repetitions",
        "aggregate_unit",
        "error_occurred",
        "skipped",
    ]);
    for (counter, number) in found.numbers() {
        let better = if counter.contains("per_second") { Better::Higher } else { Better::Lower };
        draft.metric(&counter, "a custom counter of the benchmark", "", better);
        values.push((counter, Some(number)));
    }
    found.finish(unread);
    let count = repeats.entry(name.clone()).or_default();
    *count += 1;
    if *count == 1 {
        draft.row(Row { name: name.clone(), what: label, calls: 1, threads, ..Row::default() });
    }
    draft.sample(&name, round, values);
}

fn scale(unit: &str) -> Option<f64> {
    Some(match unit {
        "ns" => 1e-9,
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        _ => return None,
    })
}
