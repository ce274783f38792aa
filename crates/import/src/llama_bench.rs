//! llama-bench: JSON, JSONL and the Markdown table. A run for each model and setting, with a row for each test of it.

use std::collections::HashMap;

use record::{Better, Git, Model, Row, Unread};
use serde_json::Value;

use crate::draft::{Draft, value};
use crate::format::Found;
use crate::json::{Object, refuse};
use crate::lines::Lines;
use crate::numbers::{decimal, whole};
use crate::{Error, Result, Source};

/// What decides neither the work nor how it is done, or follows from the rest.
const IGNORED: &[&str] =
    &["avg_ns", "stddev_ns", "avg_ts", "stddev_ts", "samples_ts", "build_number", "model_filename"];

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
    test: Test,
    /// Seconds of each repeat.
    times: Vec<f64>,
    is_mean: bool,
    model: Model,
    commit: Option<String>,
    cpu: Option<String>,
    created: String,
    /// What decides how it is done.
    settings: Vec<(String, String)>,
}

pub(crate) fn read(text: &str, _source: &Source) -> Result<Found> {
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
        _ => read_table(text, &mut entries, &mut unread)?,
    }
    if entries.len() > MOST_TESTS {
        let more = entries.len() - MOST_TESTS;
        refuse(&mut unread, format!("{more} more tests"), "they are more than anybody measures");
        entries.truncate(MOST_TESTS);
    }
    Ok(Found { drafts: drafts(entries), unread })
}

/// JSONL. A line that was cut off does not spoil the others.
fn read_lines(text: &str, entries: &mut Vec<Entry>, unread: &mut Vec<Unread>) -> Result<()> {
    let mut first_error = None;
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match serde_json::from_str::<Value>(line) {
            Ok(value) => entries.extend(entry(value, &format!("line {}", at + 1), unread)),
            Err(error) => {
                let why = format!("no JSON that could be read: {error}");
                let shown = line[..line.floor_char_boundary(80)].to_owned();
                unread.push(Unread { line: Some(at as u64 + 1), text: shown, why });
                first_error
                    .get_or_insert_with(|| Error::at(at as u64 + 1, format!("no JSON that could be read: {error}")));
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
        refuse(unread, place.to_owned(), "it is no object");
        return None;
    };
    let mut number = |name: &str| fields.count(name).unwrap_or(0);
    let test = Test { prompt: number("n_prompt"), generated: number("n_gen"), depth: number("n_depth") };
    let times: Vec<f64> = fields.amounts("samples_ns", unread).into_iter().map(|(_, ns)| ns * 1e-9).collect();
    let mean = fields.amount("avg_ns").filter(|_| times.is_empty()).map(|ns| ns * 1e-9);
    let is_mean = times.is_empty();
    let times = if is_mean { mean.into_iter().collect() } else { times };
    if test.tokens() == 0 || times.is_empty() {
        refuse(unread, place.to_owned(), "it tells of no tokens, or of no time");
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
    fields.ignore(IGNORED);
    let settings = fields.texts().into_iter().filter(|(_, value)| !value.is_empty()).collect();
    fields.finish(unread);
    Some(Entry { test, times, is_mean, model, commit, cpu, created, settings })
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

    /// `pp512+tg128 @ d1024`.
    fn parse(text: &str) -> Option<Test> {
        let (test, depth) = text.split_once(" @ d").unwrap_or((text, "0"));
        let mut found = Test { prompt: 0, generated: 0, depth: depth.trim().parse().ok()? };
        for part in test.split('+') {
            match part.trim().split_at_checked(2)? {
                ("pp", number) => found.prompt = number.parse().ok()?,
                ("tg", number) => found.generated = number.parse().ok()?,
                _ => return None,
            }
        }
        (found.tokens() > 0).then_some(found)
    }
}

fn model(file: &str, kind: &str, (parameters, weight_bytes): (u64, u64)) -> Model {
    let mut words = kind.split_whitespace();
    Model {
        name: if file.is_empty() { kind.to_owned() } else { file.to_owned() },
        architecture: words.next().unwrap_or_default().to_owned(),
        format: words.next_back().unwrap_or_default().to_lowercase(),
        parameters,
        active_parameters: parameters,
        weight_bytes,
        ..Model::default()
    }
}

/// The table that is printed: means alone.
fn read_table(text: &str, entries: &mut Vec<Entry>, unread: &mut Vec<Unread>) -> Result<()> {
    let mut lines = Lines::new(text);
    let headings = (0..lines.len()).find_map(|at| {
        let line = lines.get(at).trim().trim_matches('|');
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        ["model", "test", "t/s"].iter().all(|wanted| cells.contains(wanted)).then_some(cells)
    });
    let headings = headings.ok_or_else(|| Error::new("there is no table with the columns model, test and t/s"))?;
    let build = lines.value(0, "build:").and_then(|text| text.split_whitespace().next());
    let commit = build.filter(|commit| *commit != "unknown").map(str::to_owned);
    for row in lines.table(&headings) {
        let cell = |name: &str| headings.iter().position(|heading| *heading == name).map(|at| row.cells[at]);
        let test = cell("test").and_then(Test::parse);
        let rate = cell("t/s").and_then(|text| decimal(text.split('\u{b1}').next()?)).filter(|rate| *rate > 0.0);
        let (Some(test), Some(rate)) = (test, rate) else {
            lines.refuse(row.at, "the test or its speed cannot be read");
            continue;
        };
        let sizes = (cell("params").and_then(scaled).unwrap_or(0), cell("size").and_then(scaled).unwrap_or(0));
        let model = model("", cell("model").unwrap_or_default(), sizes);
        let is_setting = |name: &&str| !["model", "size", "params", "test", "t/s"].contains(name);
        let settings = headings.iter().copied().filter(is_setting);
        let renamed = |name: &str| if name == "threads" { "n_threads".to_owned() } else { name.to_owned() };
        entries.push(Entry {
            test,
            times: vec![test.tokens() as f64 / rate],
            is_mean: true,
            model,
            commit: commit.clone(),
            cpu: None,
            created: String::new(),
            settings: settings.filter_map(|name| Some((renamed(name), cell(name)?.to_owned()))).collect(),
        });
    }
    unread.extend(lines.finish(&[]));
    Ok(())
}

/// `15.40 MiB`, `15.19 M`: rounded, as the table has them.
fn scaled(text: &str) -> Option<u64> {
    let (number, unit) = text.split_once(' ')?;
    let scale = match unit {
        "K" => 1e3,
        "M" => 1e6,
        "B" => 1e9,
        "T" => 1e12,
        "KiB" => 1024.0,
        "MiB" => f64::from(1 << 20),
        "GiB" => f64::from(1 << 30),
        _ => return whole(text),
    };
    Some((decimal(number)? * scale).round() as u64)
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
    let mut draft = Draft::new("llama.cpp", "llama-bench");
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
        draft.note("Of the model no more is told than its kind, its size and the number of its parameters.");
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
            what: format!("llama-bench's {}", entry.test.name()),
            model: Some(entry.model.name.clone()),
            calls,
            tokens: Some(tokens as f64),
            ..Row::default()
        });
    }
    draft.metric("wall_s", "time of the sample by the clock, as llama-bench tells it", "s", Better::Lower);
    for (round, time) in entry.times.iter().enumerate() {
        draft.sample(&name, before.unwrap_or(0) + round as u64, [value("wall_s", *time)]);
    }
    *counts.entry(name).or_default() += entry.times.len() as u64;
}
