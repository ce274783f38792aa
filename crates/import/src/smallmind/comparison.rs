//! The comparison of two enhanced reports: both sides, as two runs.

use super::SUBJECT;
use super::methods::{self, Mode};
use crate::draft::Draft;
use crate::format::ReadRuns;
use crate::lines::{Lines, name};
use crate::numbers::{decimal, mib_as_bytes, moment, ms_as_ns, whole, with_unit};
use crate::tree::{Callers, MOST_METHODS, Method, TOO_MANY};
use crate::{Result, Source};

pub(crate) const HEADING: &str = "# Profile Comparison Report";

/// A comparison does not tell how often a scope was entered; these are the numbers of SmallMind's source.
const CALLS: &[(&str, u64)] = &[
    ("MatMul_Iteration", 12),
    ("GELU_Iteration", 20),
    ("Softmax_Iteration", 20),
    ("TensorAdd_Iteration", 10),
    ("TensorMul_Iteration", 10),
    ("BroadcastAdd_Iteration", 10),
];
const TOKENS: u64 = 25;

const SAID_ELSEWHERE: &[&str] = &[
    "Profile Comparison Report",
    "Overall Performance Summary",
    "Performance Verdict",
    "REGRESSED**",
    "IMPROVED**",
    "STABLE**",
    "Top 10 Improvements",
    "Top 10 Regressions",
    "Detailed Method Comparison",
    "Model Size Comparison",
    "Small vs Medium Model Performance",
    "Scaling Analysis",
    "Medium/Small Time Ratio:",
    "Medium Model Parameters:",
    "Computational Efficiency:",
    "Inference Throughput (",
    "SIMD Operation Performance",
    "No significant",
];

/// One side of it.
struct Side {
    methods: Vec<Method>,
    said_ms: Option<f64>,
    said_mib: Option<f64>,
    said_methods: Option<u64>,
}

pub(crate) fn read(text: &str, _source: &Source) -> Result<ReadRuns> {
    let mut lines = Lines::new(text);
    let moments = [lines.fact("Previous Run").and_then(moment), lines.fact("Current Run").and_then(moment)];
    let tokens = tokens(text);
    let mut sides = summary(&mut lines);
    details(&mut lines, &mut sides, tokens);
    others(&mut lines, &mut sides, tokens);
    let unread = lines.finish(SAID_ELSEWHERE);
    let names = ["previous", "current"];
    let drafts = sides.into_iter().zip(moments).zip(names).map(|((side, moment), part)| draft(side, moment, part));
    Ok(ReadRuns { drafts: drafts.collect(), unread })
}

fn draft(side: Side, moment: Option<String>, part: &str) -> Draft {
    let mut draft = Draft::new(SUBJECT, "smallmind-enhanced");
    draft.part = Some(part.to_owned());
    draft.run.created = moment.unwrap_or_default();
    draft.note(match part {
        "previous" => "Its date is doubtful: SmallMind's program prints a constant for the previous run.",
        _ => "Its date is that of the comparison; the date of the measurement is unknown.",
    });
    let listed = side.methods.len() as u64;
    if let Some(said) = side.said_methods.filter(|said| *said != listed) {
        draft.note(format!(
            "The report counts {said} methods and compares {listed}: methods of only one side are not listed."
        ));
    }
    if listed > 0 {
        draft.parameter("tokens", TOKENS.to_string());
        draft.parameter("kv_cache", "off");
        draft.note("The report has no call counts; they are taken from SmallMind's source.");
    }
    methods::add(&mut draft, side.methods, &Callers::new(), Mode::Enhanced, None);
    methods::say_total(&mut draft, side.said_ms, side.said_mib);
    draft
}

/// `### Inference Throughput (25 tokens)`.
fn tokens(text: &str) -> u64 {
    let number = text.split("Inference Throughput (").nth(1).and_then(|rest| rest.split(" tokens").next());
    number.and_then(whole).unwrap_or(TOKENS)
}

/// The totals of both sides, as the report computes them.
fn summary(lines: &mut Lines<'_>) -> [Side; 2] {
    let empty = || Side { methods: Vec::new(), said_ms: None, said_mib: None, said_methods: None };
    let mut sides = [empty(), empty()];
    for row in lines.table(&["Metric", "Previous", "Current", "Delta", "Change %"]) {
        let [metric, previous, current, ..] = row.cells[..] else { continue };
        for (side, cell) in sides.iter_mut().zip([previous, current]) {
            match name(metric) {
                "Total Runtime" => side.said_ms = with_unit(cell, "ms"),
                "Total Allocations" => side.said_mib = with_unit(cell, "MB"),
                "Methods Profiled" => side.said_methods = whole(cell),
                _ => {
                    lines.refuse(row.at, "unknown metric");
                    break;
                }
            }
        }
    }
    sides
}

fn details(lines: &mut Lines<'_>, sides: &mut [Side; 2], tokens: u64) {
    let headings = [
        "Method",
        "Prev Time (ms)",
        "Curr Time (ms)",
        "Time \u{394}",
        "Time \u{394}%",
        "Prev Alloc (MB)",
        "Curr Alloc (MB)",
        "Status",
    ];
    for row in lines.table(&headings) {
        let [name_cell, previous, current, _, _, previous_bytes, current_bytes, _] = row.cells[..] else { continue };
        let found = [(previous, Some(previous_bytes)), (current, Some(current_bytes))];
        add(lines, sides, row.at, (name(name_cell), found, tokens));
    }
}

/// Both cells of a method: its time, and what it allocated where that is told.
type Cells<'a> = (&'a str, [(&'a str, Option<&'a str>); 2], u64);

fn add(lines: &mut Lines<'_>, sides: &mut [Side; 2], at: usize, (name, cells, tokens): Cells<'_>) {
    let read = |(time, bytes): (&str, Option<&str>)| {
        let total_ns = decimal(time).and_then(ms_as_ns)?;
        let alloc_bytes = match bytes {
            None => None,
            Some(bytes) => Some(decimal(bytes).and_then(mib_as_bytes)?),
        };
        Some(Method { name: name.to_owned(), calls: calls(name, tokens), total_ns, alloc_bytes, ..Method::default() })
    };
    let [Some(previous), Some(current)] = cells.map(read) else {
        return lines.refuse(at, "a time or an allocation is not a number");
    };
    let is_known = sides[0].methods.iter().any(|known| known.name == name);
    if is_known || sides[0].methods.len() == MOST_METHODS {
        return lines.refuse(at, if is_known { "a method of that name is already listed above" } else { TOO_MANY });
    }
    let [before, after] = sides;
    before.methods.push(previous);
    after.methods.push(current);
}

fn calls(name: &str, tokens: u64) -> u64 {
    let known = CALLS.iter().find(|(known, _)| *known == name).map(|(_, calls)| *calls);
    let of_tokens = name.ends_with("_GenerateToken") || name.ends_with("_Forward");
    known.unwrap_or(if of_tokens { tokens } else { 1 })
}

/// The other tables show some of the same methods again. What only they have is taken from them.
fn others(lines: &mut Lines<'_>, sides: &mut [Side; 2], tokens: u64) {
    let top = ["Method", "Previous (ms)", "Current (ms)", "Delta (ms)", "Change %"];
    let simd = ["Operation", "Previous (ms)", "Current (ms)", "Delta", "Change %", "GFLOPS"];
    for headings in [&top[..], &simd[..]] {
        for row in lines.table(headings) {
            let (method, previous, current) = (name(row.cells[0]), row.cells[1], row.cells[2]);
            if sides[0].methods.iter().all(|known| known.name != method) {
                add(lines, sides, row.at, (method, [(previous, None), (current, None)], tokens));
            }
        }
    }
    // The times of whole inferences and what follows from them; they stand among the methods.
    lines.table(&["Model", "Previous (ms)", "Current (ms)", "Delta", "Change %", "Alloc (MB)"]);
    lines.table(&["Model", "Tokens/Second", "Latency/Token (ms)", "Memory/Token (MB)"]);
}
