//! What the AllocationProfiler prints: two workloads, their time and what they allocated.

use record::{Better, Row};

use super::SUBJECT;
use crate::draft::{Draft, value};
use crate::format::ReadRuns;
use crate::lines::Lines;
use crate::numbers::{decimal, mib_as_bytes, whole, with_unit};
use crate::{Result, Source};

pub(crate) const HEADING: &str = "=== SmallMind Allocation Profiler ===";

const SAID_ELSEWHERE: &[&str] = &[
    "SmallMind Allocation Profiler",
    "This benchmark measures allocation reduction",
    "for temporary gradient buffers",
    "Simulates a mini training loop",
    "Memory Metrics:",
    "Analysis:",
    "Profiling Complete",
    "Excellent reduction",
    "Good reduction",
    "Lower than expected reduction",
    "Zero Gen0 collections",
    "*Gen0 collections occurred",
];

/// One of the two workloads: what it is called there and here, and its words.
struct AllocationWorkload {
    heading: &'static str,
    row: &'static str,
    what: &'static str,
    /// How its calls are called.
    calls: &'static str,
    each: &'static str,
    bytes_each: &'static str,
    expected: &'static str,
}

const PARTS: [AllocationWorkload; 2] = [
    AllocationWorkload {
        heading: "--- MatMul Backward Pass Allocation Profile ---",
        row: "matmul_backward",
        what: "a matrix product with its gradients",
        calls: "Iterations:",
        each: "Avg time per iteration:",
        bytes_each: "Allocations per iteration:",
        expected: "Expected allocations WITHOUT pooling:",
    },
    AllocationWorkload {
        heading: "--- Training Workload Allocation Profile ---",
        row: "training",
        what: "a training step: two matrix products with their gradients",
        calls: "Steps:",
        each: "Avg time per step:",
        bytes_each: "Allocations per step:",
        expected: "Expected WITHOUT pooling:",
    },
];

pub(crate) fn read(text: &str, _source: &Source) -> Result<ReadRuns> {
    let mut lines = Lines::new(text);
    let mut draft = Draft::new(SUBJECT, "smallmind-allocation");
    draft.single_shot = true;
    if let Some(runtime) = lines.value(0, "Runtime:") {
        draft.run.subject.build.get_or_insert_default().compiler = Some(runtime.to_owned());
    }
    draft.run.environment.machine.os = lines.value(0, "OS:").unwrap_or_default().to_owned();
    let cpus = lines.value(0, "Processor Count:").and_then(whole).and_then(|cpus| cpus.try_into().ok());
    draft.run.environment.machine.cpus = cpus.unwrap_or(0);
    for part in &PARTS {
        match lines.find(part.heading) {
            Some(at) => read_part(&mut draft, &mut lines, part, at),
            None => draft.note(format!("No section `{}`.", part.heading.trim_matches(['-', ' ']))),
        }
    }
    Ok(ReadRuns { drafts: vec![draft], unread: lines.finish(SAID_ELSEWHERE) })
}

fn read_part(draft: &mut Draft, lines: &mut Lines<'_>, part: &AllocationWorkload, at: usize) {
    let is_training = part.row == "training";
    lines.take(at);
    sizes(draft, lines, part, at);
    let calls = lines.value(at, part.calls).and_then(whole).filter(|calls| *calls > 0);
    let total = lines.value(at, "Total time:").and_then(|text| with_unit(text, "ms"));
    let each = lines.value(at, part.each).and_then(|text| with_unit(text, "ms"));
    let mib = lines.value(at, "Total allocations:").and_then(|text| with_unit(text, "MB"));
    let kib_each = lines.value(at, part.bytes_each).and_then(|text| with_unit(text, "KB"));
    let calls_or_one = calls.unwrap_or(1);
    // The total is in whole milliseconds; the mean of a call has three digits more.
    let wall_s = each.filter(|_| calls.is_some()).map(|each| each * calls_or_one as f64).or(total).map(|ms| ms * 1e-3);
    let exact = kib_each.filter(|_| calls.is_some()).map(|kib| kib / 1024.0 * calls_or_one as f64).or(mib);
    let bytes = exact.and_then(mib_as_bytes).map(|bytes| bytes as f64);
    let mut values = vec![("wall_s".to_owned(), wall_s), ("alloc_bytes".to_owned(), bytes)];
    for (name, label) in [("gen0", "Gen0 Collections:"), ("gen1", "Gen1 Collections:"), ("gen2", "Gen2 Collections:")] {
        if name != "gen0" && is_training {
            continue;
        }
        let collections = lines.value(at, label).and_then(whole).map(|count| count as f64);
        draft.metric(name, "collections of garbage of this generation during the sample", "count", Better::Lower);
        values.push((name.to_owned(), collections));
    }
    if let Some(rate) = is_training.then(|| lines.value(at, "Throughput:")).flatten() {
        draft.metric("samples_per_s", "steps by the size of their batches, in a second", "1/s", Better::Higher);
        values.extend(rate.strip_suffix("samples/sec").and_then(decimal).map(|rate| value("samples_per_s", rate)));
    }
    expected(draft, lines, part, at);
    if calls.is_none() {
        draft.note(format!("The number of calls of `{}` is unknown; one is assumed.", part.row));
    }
    draft.row(Row { name: part.row.to_owned(), what: part.what.to_owned(), calls: calls_or_one, ..Row::default() });
    draft.sample(part.row, 0, values);
}

fn sizes(draft: &mut Draft, lines: &mut Lines<'_>, part: &AllocationWorkload, at: usize) {
    if part.row == "training" {
        if let Some(sizes) = lines.value(at, "Batch size:") {
            draft.parameter("training", format!("batch size {sizes}"));
        }
    } else if let Some(sizes) = lines.value(at, "Matrix dimensions:") {
        draft.parameter("matrices", sizes);
    }
}

/// The saving that it prints is of a formula.
fn expected(draft: &mut Draft, lines: &mut Lines<'_>, part: &AllocationWorkload, at: usize) {
    let expected = lines.value(at, part.expected);
    // The same for each iteration.
    lines.value(at, "Expected per iteration:");
    let saving = lines.value(at, "Estimated reduction:");
    if let Some((expected, saving)) = expected.zip(saving) {
        draft.note(format!(
            "`{}`: the {expected} expected without pooling and the {saving} saved come from a formula and were \
             not measured.",
            part.row
        ));
    }
}
