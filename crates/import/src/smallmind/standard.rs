//! The standard report: `profile-report.md`. The deep mode writes the same about other scopes.

use super::SUBJECT;
use super::methods::{self, Mode};
use crate::draft::Draft;
use crate::format::ReadRuns;
use crate::lines::{Lines, name};
use crate::numbers::{decimal, mib_as_bytes, moment, ms_as_ns, whole, with_unit};
use crate::tree::{Callers, MOST_METHODS, Method, TOO_MANY};
use crate::{Result, Source};

pub(crate) const HEADING: &str = "# Performance Profile Report";

const SAID_ELSEWHERE: &[&str] = &[
    "Performance Profile Report",
    "System Information",
    "Hot Paths (by Time)",
    "Methods consuming the most CPU time:",
    "Top Allocators (by Memory)",
    "Methods allocating the most memory:",
    "Most Called Methods",
    "Methods called most frequently:",
    "Call Hierarchy",
    "Parent-child relationships for hot paths:",
    "Performance Insights",
    "Top 5 hot paths",
    "Top 5 methods",
    "*methods** allocate more than 1 MB per call",
    "*methods** called more than 10,000 times",
    "*methods** are called more than 10,000 times",
];

pub(crate) fn read(text: &str, _source: &Source) -> Result<ReadRuns> {
    let mut lines = Lines::new(text);
    let mut draft = Draft::new(SUBJECT, "smallmind-standard");
    draft.run.created = lines.fact("Generated").and_then(moment).unwrap_or_default();
    let wall_ns = lines.fact("Total Runtime").and_then(|text| with_unit(text, "ms")).and_then(ms_as_ns);
    let said_mib = lines.fact("Total Allocations").and_then(|text| with_unit(text, "MB"));
    let said_methods = lines.fact("Methods Profiled").and_then(whole);
    system(&mut draft, &mut lines);
    let (mut found, odd) = hot_paths(&mut lines);
    most_called(&mut lines, &mut found);
    allocators(&mut lines, &mut found);
    let told = hierarchy(&mut lines);
    let is_deep = found.iter().any(|method| method.name == "Transformer_Forward" || method.name == "Inference");
    let mode = if is_deep { Mode::Deep } else { Mode::Standard };
    if is_deep {
        draft.run.workload.name = "smallmind-deep".to_owned();
    }
    settings(&mut draft, &found);
    if let Some(said) = said_methods.filter(|said| *said > found.len() as u64) {
        draft.note(format!("The report counts {said} methods and lists {}.", found.len()));
    }
    methods::add(&mut draft, found, &told, mode, wall_ns);
    methods::say_total(&mut draft, None, said_mib);
    if !odd.is_empty() {
        let names = odd.join(", ");
        draft.note(format!(
            "{names}: the shortest call is longer than the longest, because the clock was read at \
                            each use."
        ));
    }
    Ok(ReadRuns { drafts: vec![draft], unread: lines.finish(SAID_ELSEWHERE) })
}

/// Where it ran, and on which runtime.
pub(super) fn system(draft: &mut Draft, lines: &mut Lines<'_>) {
    let machine = &mut draft.run.environment.machine;
    machine.os = lines.fact("OS").unwrap_or_default().to_owned();
    machine.arch = match lines.fact("Architecture").unwrap_or_default() {
        "X64" | "x64" => "x86_64".to_owned(),
        "Arm64" | "arm64" => "aarch64".to_owned(),
        other => other.to_owned(),
    };
    machine.cpus = lines.fact("CPU Cores").and_then(whole).and_then(|cpus| cpus.try_into().ok()).unwrap_or(0);
    if let Some(version) = lines.fact(".NET Version") {
        draft.run.subject.build.get_or_insert_default().compiler = Some(format!(".NET {version}"));
    }
    if let Some(mode) = lines.fact("GC Mode") {
        draft.parameter("gc", mode);
    }
}

/// What decided the work, as far as the numbers of calls tell it.
fn settings(draft: &mut Draft, found: &[Method]) {
    let calls = |name: &str| found.iter().find(|method| method.name == name).map(|method| method.calls);
    let inferences = calls("InferenceComplete").or_else(|| calls("Inference")).filter(|calls| *calls > 0);
    if let Some((inferences, tokens)) = inferences.zip(calls("GenerateToken")) {
        draft.parameter("tokens", (tokens / inferences).to_string());
        draft.parameter("inferences", inferences.to_string());
        draft.parameter("kv_cache", "off");
        draft.note("The model runs in training mode and recomputes the whole context for each token.");
    }
}

/// The methods, and those whose extremes are the wrong way round.
fn hot_paths(lines: &mut Lines<'_>) -> (Vec<Method>, Vec<String>) {
    let headings =
        ["Rank", "Method", "Total Time (ms)", "% of Total", "Calls", "Avg Time (ms)", "Min (ms)", "Max (ms)"];
    let (mut found, mut odd): (Vec<Method>, Vec<String>) = (Vec::new(), Vec::new());
    for row in lines.table(&headings) {
        let [_, name_cell, total, _, calls, _, min, max] = row.cells[..] else { continue };
        let time = |cell: &str| decimal(cell).and_then(ms_as_ns);
        let (Some(total_ns), Some(calls)) = (time(total), whole(calls)) else {
            lines.refuse(row.at, "the time or the number of calls is not a number");
            continue;
        };
        let name = name(name_cell).to_owned();
        let is_known = found.iter().any(|method| method.name == name);
        if is_known || found.len() == MOST_METHODS {
            lines.refuse(row.at, if is_known { "a method of that name is already listed above" } else { TOO_MANY });
            continue;
        }
        let extremes_ns = time(min).zip(time(max)).map(|(min, max)| (min.min(max), min.max(max)));
        // A digit apart is rounding.
        if time(min).zip(time(max)).is_some_and(|(min, max)| min > max + 1_000) {
            odd.push(format!("`{name}`"));
        }
        found.push(Method { name, calls, total_ns, extremes_ns, ..Method::default() });
    }
    (found, odd)
}

/// Those that are called often and take too little time for the first table.
fn most_called(lines: &mut Lines<'_>, found: &mut Vec<Method>) {
    let by_calls = |unit: &str| ["Rank", "Method", "Calls", "Total Time (ms)", unit].map(str::to_owned);
    // Either of the two signs for micro.
    for unit in ["Avg Time (\u{3bc}s)", "Avg Time (\u{b5}s)"] {
        let headings = by_calls(unit);
        for row in lines.table(&headings.each_ref().map(String::as_str)) {
            let [_, name_cell, calls, total, _] = row.cells[..] else { continue };
            let name = name(name_cell).to_owned();
            if found.iter().any(|method| method.name == name) {
                continue;
            }
            match (decimal(total).and_then(ms_as_ns), whole(calls)) {
                _ if found.len() == MOST_METHODS => lines.refuse(row.at, TOO_MANY),
                (Some(total_ns), Some(calls)) => found.push(Method { name, calls, total_ns, ..Method::default() }),
                _ => lines.refuse(row.at, "the time or the number of calls is not a number"),
            }
        }
    }
}

fn allocators(lines: &mut Lines<'_>, found: &mut [Method]) {
    for row in lines.table(&["Rank", "Method", "Total Alloc (MB)", "% of Total", "Calls", "Avg Alloc (KB)"]) {
        let [_, name_cell, total, ..] = row.cells[..] else { continue };
        let Some(method) = found.iter_mut().find(|method| method.name == name(name_cell)) else {
            lines.refuse(row.at, "this method has no time");
            continue;
        };
        match decimal(total).and_then(mib_as_bytes) {
            Some(bytes) => method.alloc_bytes = Some(bytes),
            None => lines.refuse(row.at, "the allocations are not a number"),
        }
    }
}

/// Who called the first methods of the report.
fn hierarchy(lines: &mut Lines<'_>) -> Callers {
    let mut told = Callers::new();
    let mut current: Option<String> = None;
    for at in 0..lines.len() {
        let line = lines.get(at).trim();
        if let Some(heading) = line.strip_prefix("### `").and_then(|rest| rest.strip_suffix('`')) {
            current = Some(heading.to_owned());
            lines.take(at);
        } else if line.starts_with('#') {
            current = None;
        } else if let Some(method) = &current {
            if line == "*Entry point method*" {
                told.insert(method.clone(), Vec::new());
                lines.take(at);
            } else if line == "**Called by:**" {
                lines.take(at);
            } else if let Some((caller, calls)) = line.strip_prefix("- `").and_then(|rest| rest.split_once("` (")) {
                let calls = calls.strip_suffix(" times)").and_then(whole);
                told.entry(method.clone()).or_default().push((caller.to_owned(), calls));
                lines.take(at);
            }
        }
    }
    told
}
