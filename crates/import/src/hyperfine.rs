//! hyperfine's JSON, of version 1 (a list of times for each command) and 2 (a list of measurements). Each command is a run.

use std::collections::BTreeMap;

use record::{Row, Unread, WorkloadKind};
use serde_json::Value;

use crate::draft::{Draft, value};
use crate::format::ReadRuns;
use crate::json::{Object, refuse};
use crate::{Error, Result, Source};

/// The row of a program that is run as it is, as `hotloop run` calls it.
const ROW: &str = "command";

pub(crate) fn read(text: &str, _source: &Source) -> Result<ReadRuns> {
    let document: Value = serde_json::from_str(text)?;
    let mut document = Object::new(document, "").ok_or_else(|| Error::new("not a JSON object"))?;
    let mut unread = Vec::new();
    let results = document.list("results").ok_or_else(|| Error::new("no list `results`"))?;
    let mut metadata = document.object("metadata");
    let start = metadata.as_mut().and_then(|about| about.text("start_time"));
    let mut platform = metadata.as_mut().and_then(|about| about.object("platform"));
    let os = platform.as_mut().and_then(|found| found.text("os"));
    let arch = platform.as_mut().and_then(|found| found.text("architecture"));
    if let Some(mut about) = metadata {
        about.ignore(&["hyperfine_version"]);
        about.finish(&mut unread);
    }
    document.ignore(&["schema_version", "primary_metric"]);
    let several = results.len() > 1;
    let mut drafts = Vec::new();
    for (at, result) in results.into_iter().enumerate() {
        let place = format!("results[{at}]");
        let Some(result) = Object::new(result, place.clone()) else {
            refuse(&mut unread, place, "not an object");
            continue;
        };
        let mut draft = Draft::new("", "command");
        draft.run.workload.kind = Some(WorkloadKind::Command);
        draft.part = several.then(|| (at + 1).to_string());
        draft.run.created = start.clone().unwrap_or_default();
        draft.run.environment.machine.os = os.clone().unwrap_or_default();
        draft.run.environment.machine.arch = arch.clone().unwrap_or_default();
        read_result(&mut draft, result, &mut unread);
        drafts.push(draft);
    }
    document.finish(&mut unread);
    Ok(ReadRuns { drafts, unread })
}

fn read_result(draft: &mut Draft, mut result: Object, unread: &mut Vec<Unread>) {
    let command = result.text("command").unwrap_or_default();
    let name = result.text("name").filter(|name| *name != command);
    draft.run.subject.command = command.split_whitespace().map(str::to_owned).collect();
    draft.run.subject.name = program(&command);
    draft.row(Row { name: ROW.to_owned(), what: name.unwrap_or_else(|| command.clone()), calls: 1, ..Row::default() });
    if let Some(mut parameters) = result.object("parameters") {
        for (name, value) in parameters.texts() {
            draft.parameter(&name, value);
        }
        parameters.finish(unread);
    }
    if let Some(arguments) = command.split_once(char::is_whitespace).map(|(_, rest)| rest.trim()) {
        draft.parameter("arguments", arguments);
    }
    if result.list("measurements").map(|list| measurements(draft, list, result.place(), unread)).is_none() {
        times(draft, &mut result, unread);
    }
    let count = draft.run.samples.len() as u64;
    draft.single_shot = count == 1 && !draft.summarised;
    draft.run.workload.repeat = (count > 0 && !draft.summarised).then_some(count);
    // They follow from the times.
    result.ignore(&["mean", "stddev", "median", "min", "max", "relative", "summary"]);
    result.finish(unread);
}

/// The file name of the program that a line begins with.
fn program(command: &str) -> String {
    let word = command.split_whitespace().next().unwrap_or_default();
    word.rsplit(['/', '\\']).next().unwrap_or_default().to_owned()
}

/// Version 1.
fn times(draft: &mut Draft, result: &mut Object, unread: &mut Vec<Unread>) {
    let times = result.amounts("times", unread);
    let memory: BTreeMap<usize, f64> = result.amounts("memory_usage_byte", unread).into_iter().collect();
    let codes = result.list("exit_codes").unwrap_or_default();
    for (at, time) in &times {
        let peak = memory.get(at).copied();
        draft.sample(ROW, *at as u64, [value("wall_s", *time), ("peak_rss_bytes".to_owned(), peak)]);
    }
    if times.is_empty()
        && let Some(mean) = result.amount("median").or_else(|| result.amount("mean"))
    {
        draft.summarised = true;
        draft.sample(ROW, 0, [value("wall_s", mean)]);
    }
    failures(draft, codes.iter().map(Value::as_i64));
    if let Some((user, system)) = result.amount("user").zip(result.amount("system")) {
        draft.note(format!("Average CPU time per repeat: {user} s in the program and {system} s in the system."));
    }
}

/// Version 2.
fn measurements(draft: &mut Draft, list: Vec<Value>, place: &str, unread: &mut Vec<Unread>) {
    let known = [
        ("time_wall_clock", "wall_s"),
        ("time_cpu", "cpu_s"),
        ("time_user", "user_s"),
        ("time_system", "system_s"),
        ("memory_peak_resident", "peak_rss_bytes"),
    ];
    let mut codes = Vec::new();
    for (at, measurement) in list.into_iter().enumerate() {
        let place = format!("{place}.measurements[{at}]");
        let Some(mut measurement) = Object::new(measurement, place.clone()) else {
            refuse(unread, place, "not an object");
            continue;
        };
        let mut values = Vec::new();
        for (theirs, ours) in known {
            let Some(mut found) = measurement.object(theirs) else { continue };
            let unit = found.text("unit").unwrap_or_default();
            let scale = match unit.as_str() {
                "second" | "byte" => 1.0,
                _ => {
                    refuse(unread, format!("{place}.{theirs}"), "its unit is neither seconds nor bytes");
                    continue;
                }
            };
            values.push((ours.to_owned(), found.amount("value").map(|value| value * scale)));
        }
        codes.push(measurement.number("exit_code").map(|code| code as i64));
        measurement.finish(unread);
        draft.sample(ROW, at as u64, values);
    }
    failures(draft, codes.into_iter());
}

fn failures(draft: &mut Draft, codes: impl Iterator<Item = Option<i64>>) {
    let failed = codes.flatten().filter(|code| *code != 0);
    let failed: Vec<i64> = failed.collect();
    if let Some(first) = failed.first() {
        draft.run.failures.push(format!("{} repeats had a non-zero exit code, the first {first}", failed.len()));
    }
}
