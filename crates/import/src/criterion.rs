//! What Criterion keeps of a benchmark: `sample.json` with all times, `estimates.json` with what it made of them, and
//! `benchmark.json` with its name. One file alone, or the folder `target/criterion`.
//!
//! A folder holds several measurements: `new` is the last, `base` the one before or a copy of it, other names are baselines that
//! somebody kept. Each is a run.

use std::collections::BTreeMap;

use record::{Better, Row, Unread};
use serde_json::Value;

use crate::draft::{Draft, value};
use crate::format::{Format, ReadRuns};
use crate::json::{Object, refuse};
use crate::{Error, Imported, Result, Source};

const BENCHMARK: &str = "benchmark.json";
const SAMPLE: &str = "sample.json";
const ESTIMATES: &str = "estimates.json";
/// Folders of a benchmark that hold no measurement.
const NO_MEASUREMENTS: [&str; 2] = ["change", "report"];

/// A file of a folder of Criterion.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct File {
    /// Its path from the folder, parts divided by `/`.
    pub path: String,
    /// What is in it.
    pub text: String,
}

impl File {
    /// Whether a file of this name has something in it that is read.
    pub fn is_one(name: &str) -> bool {
        [BENCHMARK, SAMPLE, ESTIMATES].contains(&name)
    }
}

/// One file alone.
pub(crate) fn read(text: &str, source: &Source) -> Result<ReadRuns> {
    let mut draft = Draft::new("", "criterion");
    let mut unread = Vec::new();
    let texts = if text.contains("\"iters\"") { (Some(text), None) } else { (None, Some(text)) };
    draft.note("The benchmark's name is in another file; the row is named after this file.");
    add(&mut draft, &Named { name: source.name.clone(), throughput: None }, texts, &mut unread)?;
    settle(&mut draft);
    Ok(ReadRuns { drafts: vec![draft], unread })
}

/// The files of one benchmark in one measurement.
#[derive(Default)]
struct Files<'a> {
    benchmark: Option<&'a str>,
    sample: Option<&'a str>,
    estimates: Option<&'a str>,
}

/// A folder such as `target/criterion`.
///
/// # Errors
/// What is wrong and where, if nothing in it can be read.
pub fn folder(files: &[File], source: &Source) -> Result<Imported> {
    let mut unread: Vec<Unread> = Vec::new();
    // By measurement, then by the folder of the benchmark.
    let mut measurements: BTreeMap<&str, BTreeMap<&str, Files<'_>>> = BTreeMap::new();
    for file in files {
        let Some((folder, name)) = file.path.rsplit_once('/') else {
            refuse(&mut unread, file.path.clone(), "not in a benchmark's folder");
            continue;
        };
        let (benchmark, measurement) = folder.rsplit_once('/').unwrap_or(("", folder));
        if NO_MEASUREMENTS.contains(&measurement) {
            refuse(&mut unread, file.path.clone(), "changes, which follow from the samples");
            continue;
        }
        let found = measurements.entry(measurement).or_default().entry(benchmark).or_default();
        match name {
            BENCHMARK => found.benchmark = Some(&file.text),
            SAMPLE => found.sample = Some(&file.text),
            _ => found.estimates = Some(&file.text),
        }
    }
    if same(measurements.get("new"), measurements.get("base")) {
        measurements.remove("base");
        refuse(&mut unread, "base".to_owned(), "a copy of `new`");
    }
    let several = measurements.len() > 1;
    let mut drafts = Vec::new();
    for (measurement, benchmarks) in &measurements {
        let mut draft = Draft::new("", "criterion");
        draft.part = several.then(|| (*measurement).to_owned());
        for (folder, files) in benchmarks {
            let place = format!("{folder}/{measurement}");
            let named = files.benchmark.and_then(|text| named(text, &mut unread));
            let named = named.unwrap_or_else(|| Named { name: (*folder).to_owned(), throughput: None });
            if let Err(error) = add(&mut draft, &named, (files.sample, files.estimates), &mut unread) {
                refuse(&mut unread, place, &error.to_string());
            }
        }
        settle(&mut draft);
        drafts.push(draft);
    }
    if drafts.is_empty() {
        return Err(Error::new("no benchmark folder in it"));
    }
    let format = Format::named("criterion").ok_or_else(|| Error::new("no such format"))?;
    format.imported(ReadRuns { drafts, unread }, source)
}

fn same(one: Option<&BTreeMap<&str, Files<'_>>>, other: Option<&BTreeMap<&str, Files<'_>>>) -> bool {
    let (Some(one), Some(other)) = (one, other) else { return false };
    one.len() == other.len()
        && one
            .iter()
            .zip(other)
            .all(|((a, one), (b, other))| a == b && one.sample == other.sample && one.sample.is_some())
}

/// What `benchmark.json` says.
struct Named {
    name: String,
    /// Bytes or elements of one iteration.
    throughput: Option<(String, f64)>,
}

fn named(text: &str, unread: &mut Vec<Unread>) -> Option<Named> {
    let value: Value = serde_json::from_str(text).ok()?;
    let mut found = Object::new(value, BENCHMARK)?;
    let name = found.text("full_id").or_else(|| found.text("title"))?;
    let throughput = found.object("throughput").and_then(|mut object| object.numbers().into_iter().next());
    found.ignore(&["group_id", "function_id", "value_str", "directory_name", "title"]);
    found.finish(unread);
    Some(Named { name, throughput })
}

/// All times where they are there, else the estimate of the median.
fn add(draft: &mut Draft, named: &Named, files: (Option<&str>, Option<&str>), unread: &mut Vec<Unread>) -> Result<()> {
    let (sample, estimates) = files;
    let is_in_bytes = |unit: &str| unit.starts_with("Bytes");
    let bytes = named.throughput.as_ref().filter(|(unit, _)| is_in_bytes(unit)).map(|(_, number)| *number);
    if let Some((unit, number)) = named.throughput.as_ref().filter(|(unit, _)| !is_in_bytes(unit)) {
        draft.note(format!("`{}`: an iteration is {number} {}.", named.name, unit.to_lowercase()));
    }
    match (sample, estimates) {
        (Some(sample), _) => add_samples(draft, &named.name, sample, unread)?,
        (None, Some(estimates)) => add_estimate(draft, &named.name, estimates)?,
        (None, None) => return Err(Error::new("neither times nor estimates")),
    }
    draft.row(Row { name: named.name.clone(), calls: 1, bytes, ..Row::default() });
    Ok(())
}

/// Each sample has its own number of iterations, so that values are those of one.
fn add_samples(draft: &mut Draft, name: &str, text: &str, unread: &mut Vec<Unread>) -> Result<()> {
    let mut sample = Object::new(serde_json::from_str(text)?, format!("{name}: {SAMPLE}"))
        .ok_or_else(|| Error::new("not a JSON object"))?;
    let (iters, times) = (sample.amounts("iters", unread), sample.amounts("times", unread));
    if let Some(mode) = sample.text("sampling_mode") {
        draft.parameter("sampling_mode", mode);
    }
    draft.metric("iterations", "iterations averaged into the time", "count", Better::Higher);
    let iterations: BTreeMap<usize, f64> = iters.into_iter().collect();
    for (at, time) in times {
        match iterations.get(&at).filter(|count| **count > 0.0) {
            Some(count) => {
                draft.sample(name, at as u64, [value("wall_s", time * 1e-9 / count), value("iterations", *count)]);
            }
            None => refuse(unread, format!("{name}: times[{at}]"), "its number of iterations is missing"),
        }
    }
    sample.finish(unread);
    Ok(())
}

fn add_estimate(draft: &mut Draft, name: &str, text: &str) -> Result<()> {
    let mut estimates =
        Object::new(serde_json::from_str(text)?, name).ok_or_else(|| Error::new("not a JSON object"))?;
    // `change/estimates.json` has the mean and the median alone; estimates of times have their spread too.
    if !estimates.has("std_dev") && !estimates.has("median_abs_dev") {
        return Err(change(&mut estimates));
    }
    let mut estimate = |kind: &str| estimates.object(kind)?.amount("point_estimate");
    let ns = estimate("median").or_else(|| estimate("mean")).ok_or_else(|| Error::new("no estimate of a time"))?;
    draft.summarised = true;
    draft.sample(name, 0, [value("wall_s", ns * 1e-9)]);
    Ok(())
}

/// Why estimates of a change are not read: ratios between two measurements are no times.
fn change(estimates: &mut Object) -> Error {
    let told = estimates.object("median").or_else(|| estimates.object("mean")).and_then(|mut median| {
        let mut interval = median.object("confidence_interval")?;
        let percent = |ratio: f64| ratio * 100.0;
        let bounds = (interval.number("lower_bound").map(percent)?, interval.number("upper_bound").map(percent)?);
        Some((median.number("point_estimate").map(percent)?, bounds))
    });
    let told =
        told.map_or_else(String::new, |(ratio, (low, high))| format!(" ({ratio:+.1} %, CI {low:+.1} to {high:+.1} %)"));
    Error::new(format!("these are Criterion's estimates of a relative change{told}, not of a time"))
        .with_hint("import new/estimates.json or new/sample.json of the same benchmark, or the folder target/criterion")
}

fn settle(draft: &mut Draft) {
    draft.run.subject.name = "a program measured by Criterion".to_owned();
    draft.note("The file does not say which program was measured, how it was built and where it ran.");
    draft.single_shot = !draft.summarised && draft.run.samples.len() == draft.run.rows.len();
}
