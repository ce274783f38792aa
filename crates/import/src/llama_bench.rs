//! llama-bench: JSON, JSONL, CSV, SQL and the Markdown table, which `hotloop bench` writes too. A
//! run for each model and setting, with a row for each test of it.

mod quantisation;
mod tables;

use std::collections::HashMap;

use record::{Better, Git, Model, Row, Unread};
use serde_json::Value;

use crate::draft::{Draft, value};
use crate::format::ReadRuns;
use crate::json::{Object, refuse};
use crate::{Error, Result, Source};

/// What decides neither the work nor how it is done, or follows from the rest.
const IGNORED: &[&str] = &["avg_ns", "avg_ts", "stddev_ts", "samples_ts", "build_number", "model_filename"];

/// Tests that are read: which of them belong together is looked for among all pairs.
const MOST_TESTS: usize = 5_000;

/// A test: some tokens read at once, some generated one by one, after so many that stand in the cache already.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Test {
    prompt: u64,
    generated: u64,
    depth: u64,
}

/// One measurement.
struct Entry {
    /// Where it stands.
    place: String,
    test: Test,
    /// Seconds of each repeat.
    times: Vec<f64>,
    is_mean: bool,
    /// The standard deviation beside a mean, as it is written: it tells two equal means apart.
    spread: Option<String>,
    model: Model,
    commit: Option<String>,
    cpu: Option<String>,
    created: String,
    /// What decides how it is done.
    settings: Vec<(String, String)>,
    /// Whether `hotloop bench` measured it.
    is_ours: bool,
}

impl PartialEq for Entry {
    /// Whether it is the same measurement, wherever it stands.
    fn eq(&self, other: &Self) -> bool {
        self.test == other.test
            && self.times == other.times
            && self.created == other.created
            && self.spread == other.spread
            && self.model == other.model
            && self.commit == other.commit
            && self.cpu == other.cpu
            && self.settings == other.settings
            && self.is_ours == other.is_ours
    }
}

pub(crate) fn read(text: &str, _source: &Source) -> Result<ReadRuns> {
    let mut unread = Vec::new();
    let mut entries = Vec::new();
    match text.trim_start().chars().next() {
        Some('[') => {
            let list: Vec<Value> = serde_json::from_str(text)?;
            for (at, value) in list.into_iter().enumerate() {
                entries.extend(entry(value, &format!("[{at}]"), &mut unread));
            }
        }
        Some('{') => read_lines(text, &mut entries, &mut unread)?,
        _ => tables::read(text, &mut entries, &mut unread)?,
    }
    if entries.len() > MOST_TESTS {
        let more = entries.len() - MOST_TESTS;
        refuse(&mut unread, format!("{more} more tests"), "too many");
        entries.truncate(MOST_TESTS);
    }
    let entries = without_copies(entries, &mut unread);
    Ok(ReadRuns { drafts: drafts(entries), unread })
}

/// JSONL. A line that was cut off does not spoil the others.
fn read_lines(text: &str, entries: &mut Vec<Entry>, unread: &mut Vec<Unread>) -> Result<()> {
    let mut first_error = None;
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match serde_json::from_str::<Value>(line) {
            Ok(value) => entries.extend(entry(value, &format!("line {}", at + 1), unread)),
            Err(error) => {
                let why = format!("invalid JSON: {error}");
                let shown = line[..line.floor_char_boundary(80)].to_owned();
                unread.push(Unread { line: Some(at as u64 + 1), text: shown, why });
                first_error.get_or_insert_with(|| Error::at(at as u64 + 1, format!("invalid JSON: {error}")));
                // A document over many lines is no JSONL.
                if entries.is_empty() && unread.len() > 8 {
                    break;
                }
            }
        }
    }
    if let (true, Some(error)) = (entries.is_empty(), first_error) {
        return Err(error);
    }
    Ok(())
}

fn entry(value: Value, place: &str, unread: &mut Vec<Unread>) -> Option<Entry> {
    let Some(mut fields) = Object::new(value, place) else {
        refuse(unread, place.to_owned(), "not an object");
        return None;
    };
    let mut number = |name: &str| fields.count(name).unwrap_or(0);
    let test = Test { prompt: number("n_prompt"), generated: number("n_gen"), depth: number("n_depth") };
    let samples = fields.amounts("samples_ns", unread);
    let is_mean = samples.is_empty();
    let mean = fields.amount("avg_ns").filter(|_| is_mean);
    for (at, _) in samples.iter().filter(|(_, ns)| *ns == 0.0) {
        refuse(unread, format!("{place}.samples_ns[{at}]: 0"), "a test cannot take no time");
    }
    let all = samples.into_iter().map(|(_, ns)| ns).chain(mean);
    let times: Vec<f64> = all.filter(|ns| *ns > 0.0).map(|ns| ns * 1e-9).collect();
    if test.tokens() == 0 || times.is_empty() {
        refuse(unread, place.to_owned(), "no tokens or no time");
        return None;
    }
    let path = fields.text("model_filename").unwrap_or_default();
    let file = path.rsplit(['/', '\\']).next().unwrap_or_default();
    let model = model(
        file,
        &fields.text("model_type").unwrap_or_default(),
        (fields.count("model_n_params").unwrap_or(0), fields.count("model_size").unwrap_or(0)),
    );
    let commit = fields.text("build_commit").filter(|commit| commit != "unknown");
    let (cpu, created) = (fields.text("cpu_info"), fields.text("test_time").unwrap_or_default());
    let spread = fields.number("stddev_ns").map(|ns| ns.to_string());
    fields.ignore(IGNORED);
    let settings = fields.texts().into_iter().filter(|(_, value)| !value.is_empty()).collect();
    fields.finish(unread);
    let place = place.to_owned();
    Some(Entry { place, test, times, is_mean, spread, model, commit, cpu, created, settings, is_ours: false })
}

impl Entry {
    /// What measured it.
    fn program(&self) -> &'static str {
        if self.is_ours { "`hotloop bench`" } else { "llama-bench" }
    }
}

impl Test {
    fn tokens(self) -> u64 {
        self.prompt.saturating_add(self.generated)
    }

    /// As llama-bench calls it: `pp512`, `tg128`, `pp512+tg128`.
    fn name(self) -> String {
        match (self.prompt, self.generated) {
            (prompt, 0) => format!("pp{prompt}"),
            (0, generated) => format!("tg{generated}"),
            (prompt, generated) => format!("pp{prompt}+tg{generated}"),
        }
    }

    /// `pp512+tg128 @ d1024`; older versions write `pp 512`.
    fn parse(text: &str) -> Option<Test> {
        let (test, depth) = text.split_once(" @ d").unwrap_or((text, "0"));
        let mut found = Test { prompt: 0, generated: 0, depth: depth.trim().parse().ok()? };
        for part in test.split('+') {
            match part.trim().split_at_checked(2)? {
                ("pp", number) => found.prompt = number.trim().parse().ok()?,
                ("tg", number) => found.generated = number.trim().parse().ok()?,
                _ => return None,
            }
        }
        (found.tokens() > 0).then_some(found)
    }
}

fn model(file: &str, kind: &str, (parameters, weight_bytes): (u64, u64)) -> Model {
    Model {
        name: if file.is_empty() { kind.to_owned() } else { file.to_owned() },
        architecture: kind.split_whitespace().next().unwrap_or_default().to_owned(),
        format: quantisation::format_of(kind),
        parameters,
        active_parameters: parameters,
        weight_bytes,
        ..Model::default()
    }
}

/// Leaves out measurements that stand there twice, as in files that were joined: they are no further repeats.
fn without_copies(entries: Vec<Entry>, unread: &mut Vec<Unread>) -> Vec<Entry> {
    let mut kept: Vec<Entry> = Vec::with_capacity(entries.len());
    for entry in entries {
        if kept.contains(&entry) {
            refuse(unread, entry.place, "a copy of a measurement above; it counts once");
        } else {
            kept.push(entry);
        }
    }
    kept
}

/// Entries of the same model, build, depth and settings belong together.
fn drafts(entries: Vec<Entry>) -> Vec<Draft> {
    let mut groups: Vec<Vec<Entry>> = Vec::new();
    for entry in entries {
        let is_same = |group: &&mut Vec<Entry>| {
            group.first().is_some_and(|first| {
                first.model == entry.model
                    && first.settings == entry.settings
                    && first.commit == entry.commit
                    && first.is_ours == entry.is_ours
                    && first.test.depth == entry.test.depth
            })
        };
        match groups.iter_mut().find(is_same) {
            Some(group) => group.push(entry),
            None => groups.push(vec![entry]),
        }
    }
    let several = groups.len() > 1;
    let numbered = groups.iter().enumerate();
    numbered.filter_map(|(at, group)| draft(group, several.then(|| (at + 1).to_string()))).collect()
}

fn draft(group: &[Entry], part: Option<String>) -> Option<Draft> {
    let first = group.first()?;
    let (subject, workload) = if first.is_ours { ("hotloop", "bench") } else { ("llama.cpp", "llama-bench") };
    let mut draft = Draft::new(subject, workload);
    draft.part = part;
    draft.run.created.clone_from(&first.created);
    draft.run.subject.git = first.commit.as_ref().map(|commit| Git { commit: commit.clone(), ..Git::default() });
    draft.run.environment.machine.cpu.model.clone_from(&first.cpu);
    draft.run.models = vec![first.model.clone()];
    draft.summarised = group.iter().any(|entry| entry.is_mean);
    draft.single_shot = group.iter().all(|entry| entry.times.len() == 1 && !entry.is_mean);
    draft.run.workload.repeat = group.iter().map(|entry| entry.times.len() as u64).max().filter(|_| !draft.summarised);
    for (name, value) in &first.settings {
        draft.parameter(if name == "n_threads" { "threads" } else { name }, value.clone());
    }
    if first.test.depth > 0 {
        draft.parameter("depth", first.test.depth.to_string());
    }
    if first.model.layers == 0 {
        draft.note("The output gives only the kind, size and parameter count of the model.");
    }
    let mut counts: HashMap<String, u64> = HashMap::new();
    for entry in group {
        add_test(&mut draft, group, entry, &mut counts);
    }
    Some(draft)
}

/// A row, called as ours are where there is one of its kind.
fn add_test(draft: &mut Draft, group: &[Entry], entry: &Entry, counts: &mut HashMap<String, u64>) {
    let Test { prompt, generated, .. } = entry.test;
    let kind = |test: Test| (test.prompt > 0, test.generated > 0);
    let others = group.iter().filter(|other| kind(other.test) == kind(entry.test) && other.test != entry.test).count();
    let word = match kind(entry.test) {
        (true, true) => "",
        (true, false) => "prefill",
        (false, _) => "decode",
    };
    let name = match (word, others) {
        ("", _) => entry.test.name(),
        (word, 0) => word.to_owned(),
        (word, _) => format!("{} {word}", entry.test.name()),
    };
    if others == 0 && word == "prefill" {
        draft.parameter("prompt_tokens", prompt.to_string());
    }
    if others == 0 && word == "decode" {
        draft.parameter("tokens", generated.to_string());
    }
    let before = counts.get(&name).copied();
    if before.is_none() {
        let (calls, tokens) = if prompt == 0 { (generated, 1) } else { (1, entry.test.tokens()) };
        draft.row(Row {
            name: name.clone(),
            what: format!("{}'s {}", entry.program(), entry.test.name()),
            model: Some(entry.model.name.clone()),
            calls,
            tokens: Some(tokens as f64),
            ..Row::default()
        });
    }
    let definition = format!("time of the sample by the clock, as {} tells it", entry.program());
    draft.metric("wall_s", &definition, "s", Better::Lower);
    for (round, time) in entry.times.iter().enumerate() {
        draft.sample(&name, before.unwrap_or(0) + round as u64, [value("wall_s", *time)]);
    }
    *counts.entry(name).or_default() += entry.times.len() as u64;
}
