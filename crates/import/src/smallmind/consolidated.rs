//! The consolidated report of all of SmallMind's benchmarks. It has few figures, and writes 0.00 for those that were not
//! measured.

use record::{Better, Row};

use super::SUBJECT;
use super::standard::system;
use crate::draft::Draft;
use crate::format::ReadRuns;
use crate::lines::{Lines, name};
use crate::numbers::{mib_as_bytes, moment, with_unit};
use crate::{Result, Source};

pub(crate) const HEADING: &str = "# SmallMind Comprehensive Benchmark Report";

const SAID_ELSEWHERE: &[&str] = &[
    "SmallMind Comprehensive Benchmark Report",
    "Report Directory:",
    "System Information",
    "Executive Summary",
    "Key Performance Indicators",
    "Comparison with Industry Leaders",
    "CPU-Only Inference Frameworks",
    "Key Advantages of SmallMind",
    "Pure C# implementation",
    "Enterprise-ready",
    "Lightweight deployment",
    "Competitive performance",
    "Educational clarity",
    "Detailed Results by Category",
    "1. ",
    "2. ",
    "3. ",
    "4. ",
    "5. ",
    "Methods Profiled:",
    "Detailed Report:",
    "Full Results:",
    "TTFT (P",
    "Throughput (P",
    "Latency (P",
    "Performance Insights",
    "Excellent TTFT",
    "Throughput Below Target",
    "High Memory Allocations",
    "*:** Consider",
    "*competitive with industry leaders",
    "Complete Results",
    "All detailed reports",
    "*` - ",
    "Report Generated:",
    "SmallMind Version:",
    "Benchmarking Tool:",
    "Machine:",
];

/// A figure of the summary: its name there, our metric, what one of its units is in ours.
const FIGURES: &[(&str, &str, &str, f64)] = &[
    ("Time to First Token (P50)", "ttft_s", "ms", 1e-3),
    ("Time to First Token (P95)", "ttft_p95_s", "ms", 1e-3),
    ("Throughput (P50)", "tokens_per_s", "tok/s", 1.0),
    ("Latency (P50)", "latency_s", "ms", 1e-3),
];

pub(crate) fn read(text: &str, _source: &Source) -> Result<ReadRuns> {
    let mut lines = Lines::new(text);
    let mut draft = Draft::new(SUBJECT, "smallmind-consolidated");
    draft.summarised = true;
    draft.run.created = lines.fact("Generated").and_then(moment).unwrap_or_default();
    system(&mut draft, &mut lines);
    draft.metric("ttft_s", "time to first token, the median of a program", "s", Better::Lower);
    draft.metric("ttft_p95_s", "time to first token that 95 % did not exceed", "s", Better::Lower);
    draft.metric("tokens_per_s", "tokens per second, the median of a program", "1/s", Better::Higher);
    draft.metric("latency_s", "time of a request, the median of a program", "s", Better::Lower);
    draft.metric("summed_s", "time of all scopes, those within others counted again", "s", Better::Lower);
    draft.metric("summed_bytes", "bytes of all scopes, those within others counted again", "bytes", Better::Lower);
    let mut values = summary(&mut lines, &mut draft);
    let total = lines.fact("Total Runtime").and_then(|text| with_unit(text, "ms"));
    values.push(("summed_s".to_owned(), total.map(|ms| ms * 1e-3)));
    let bytes = lines.fact("Total Allocations").and_then(|text| with_unit(text, "MB")).and_then(mib_as_bytes);
    values.push(("summed_bytes".to_owned(), bytes.map(|bytes| bytes as f64)));
    draft.row(Row { name: "summary".to_owned(), calls: 1, ..Row::default() });
    draft.sample("summary", 0, values);
    for row in lines.table(&["Framework", "Language", "Throughput (tok/s)", "TTFT (ms)", "Memory/Token", "Deployment"])
    {
        if name(row.cells[0]) != SUBJECT {
            lines.refuse(row.at, "a constant of the program that wrote the report, not a measurement");
        }
    }
    Ok(ReadRuns { drafts: vec![draft], unread: lines.finish(SAID_ELSEWHERE) })
}

/// The figures; a zero stands for what was not measured, and is absent.
fn summary(lines: &mut Lines<'_>, draft: &mut Draft) -> Vec<(String, Option<f64>)> {
    let mut values = Vec::new();
    let mut missing: Vec<&str> = Vec::new();
    for row in lines.table(&["Metric", "Value", "Industry Target", "Rating"]) {
        let figure = FIGURES.iter().find(|(known, ..)| *known == name(row.cells[0]));
        match figure {
            Some((said, metric, unit, scale)) => match with_unit(row.cells[1], unit) {
                Some(0.0) => missing.push(said),
                Some(value) => values.push(((*metric).to_owned(), Some(value * scale))),
                None => lines.refuse(row.at, "the value is not a number"),
            },
            // The nested sum that stands below again.
            None if name(row.cells[0]) == "Memory Efficiency" && with_unit(row.cells[1], "MB").is_some() => {}
            None => lines.refuse(row.at, "unknown metric"),
        }
    }
    if !missing.is_empty() {
        draft.note(format!(
            "{}: the report shows 0.00 for what was not measured. These values are left out.",
            missing.join(", ")
        ));
    }
    values
}
