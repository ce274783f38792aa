//! The enhanced report: `enhanced-profile-report.md`.

use std::collections::BTreeMap;

use super::SUBJECT;
use super::methods::{self, Mode};
use crate::draft::Draft;
use crate::format::ReadRuns;
use crate::lines::{Lines, TableRow, name};
use crate::numbers::{decimal, mib_as_bytes, moment, ms_as_ns, whole, with_unit};
use crate::tree::{Callers, MOST_METHODS, Method, TOO_MANY};
use crate::{Result, Source};

pub(crate) const HEADING: &str = "# Enhanced Performance Profile Report";

const SAID_ELSEWHERE: &[&str] = &[
    "Enhanced Performance Profile Report",
    "Summary",
    "Hot Paths",
    "Top Allocators",
    "Analysis",
    "See COMPREHENSIVE_HOT_PATHS_ANALYSIS.md",
];

pub(crate) fn read(text: &str, _source: &Source) -> Result<ReadRuns> {
    let mut lines = Lines::new(text);
    let mut draft = Draft::new(SUBJECT, "smallmind-enhanced");
    draft.run.created = lines.fact("Generated").and_then(moment).unwrap_or_default();
    let said_ms = lines.fact("Total Runtime").and_then(|text| with_unit(text, "ms"));
    let said_mib = lines.fact("Total Allocations").and_then(|text| with_unit(text, "MB"));
    let said_methods = lines.fact("Methods Profiled").and_then(whole);
    let mut found = hot_paths(&mut lines);
    allocators(&mut lines, &mut found);
    if let Some(said) = said_methods.filter(|said| *said > found.len() as u64) {
        draft.note(format!("The report counts {said} methods and lists {}.", found.len()));
    }
    let tokens = found.iter().find(|method| method.name.ends_with("_GenerateToken")).map(|method| method.calls);
    if let Some(tokens) = tokens {
        draft.parameter("tokens", tokens.to_string());
        draft.parameter("kv_cache", "off");
        draft.note(
            "Each token recomputes the whole context and the next one is random, so the text is not the model's.",
        );
    }
    methods::add(&mut draft, found, &Callers::new(), Mode::Enhanced, None);
    methods::say_total(&mut draft, said_ms, said_mib);
    draft.note("The report has no total time: the wall time is the sum of the root scopes.");
    Ok(ReadRuns { drafts: vec![draft], unread: lines.finish(SAID_ELSEWHERE) })
}

fn hot_paths(lines: &mut Lines<'_>) -> Vec<Method> {
    let mut found: Vec<Method> = Vec::new();
    for row in lines.table(&["Rank", "Method", "Time (ms)", "Calls", "Avg (ms)", "Alloc (MB)"]) {
        match method(&row) {
            Err(why) => lines.refuse(row.at, why),
            Ok(_) if found.len() == MOST_METHODS => lines.refuse(row.at, TOO_MANY),
            Ok(method) if found.iter().any(|other| other.name == method.name) => {
                lines.refuse(row.at, "a method of that name is already listed above");
            }
            Ok(method) => found.push(method),
        }
    }
    found
}

fn method(row: &TableRow<'_>) -> std::result::Result<Method, &'static str> {
    let [_, name_cell, time, calls, average, bytes] = row.cells[..] else { return Err("not six cells") };
    let time = decimal(time).ok_or("the time is not a number")?;
    let calls = whole(calls).ok_or("the number of calls is not a number")?;
    // The average has a digit more than the time.
    let exact = decimal(average).filter(|average| calls == 1 && (average - time).abs() < 0.006);
    let total_ns = ms_as_ns(exact.unwrap_or(time)).ok_or("impossibly long")?;
    let alloc_bytes = decimal(bytes).and_then(mib_as_bytes).ok_or("the allocations are not a number")?;
    let name = name(name_cell).to_owned();
    Ok(Method { name, calls, total_ns, alloc_bytes: Some(alloc_bytes), ..Method::default() })
}

/// The second table has the allocations again, with two digits more for each call.
fn allocators(lines: &mut Lines<'_>, found: &mut [Method]) {
    let places: BTreeMap<String, usize> =
        found.iter().enumerate().map(|(at, method)| (method.name.clone(), at)).collect();
    for row in lines.table(&["Rank", "Method", "Total (MB)", "Calls", "Avg (KB)"]) {
        let [_, name_cell, _, _, average] = row.cells[..] else { continue };
        let Some(method) = places.get(name(name_cell)).map(|at| &mut found[*at]) else {
            lines.refuse(row.at, "this method has no time");
            continue;
        };
        let bytes = decimal(average).and_then(|kib| mib_as_bytes(kib / 1024.0 * method.calls as f64));
        match (bytes, method.alloc_bytes) {
            // Half a digit of the first table, and of the second for each call.
            (Some(bytes), Some(known)) if bytes.abs_diff(known) <= 5_300 + 6 * method.calls => {
                method.alloc_bytes = Some(bytes);
            }
            (Some(_), _) => lines.refuse(row.at, "differs from the table above, which is used"),
            (None, _) => lines.refuse(row.at, "the allocations are not a number"),
        }
    }
}
