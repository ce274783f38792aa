//! SmallMind's reports: the standard one, and the enhanced one for the workload of that name.

use std::cmp::Reverse;
use std::fmt::Write;

use record::{Run, WorkloadKind};

use super::methods::{Method, Methods};
use crate::units::count;

const MIB: f64 = 1_048_576.0;
const KIB: f64 = 1024.0;

/// A run in SmallMind's layout: `# Enhanced Performance Profile Report` for the workload `enhanced`, else
/// `# Performance Profile Report`.
///
/// Total runtime and total allocations are those of the whole run: nothing is counted twice.
#[must_use]
pub fn text(run: &Run) -> String {
    match compare::workload_kind(&run.workload) {
        WorkloadKind::Enhanced => enhanced(run),
        _ => standard(run),
    }
}

/// Their tables need a number in every cell; what it means is said below them.
const NOT_COUNTED: &str = "\nAllocations were not measured: where this layout needs a number it is 0.\n";

/// `2026-11-15 08:00:00` of `2026-11-15T08:00:00Z`.
fn generated(run: &Run) -> String {
    known(run.created.replacen('T', " ", 1).chars().take(19).collect())
}

fn known(text: String) -> String {
    if text.trim().is_empty() { "unknown".to_owned() } else { text }
}

fn total_runtime(methods: &Methods) -> String {
    if methods.all.is_empty() { "not measured".to_owned() } else { format!("{:.2} ms", methods.wall_ms) }
}

fn megabytes(bytes: Option<u64>) -> f64 {
    bytes.unwrap_or(0) as f64 / MIB
}

fn total_allocations(methods: &Methods) -> String {
    methods.bytes.map_or_else(|| "not measured".to_owned(), |bytes| format!("{:.2} MB", bytes as f64 / MIB))
}

/// The `most` with the largest key, larger ones first, and their ranks.
fn ranked(methods: &Methods, most: usize, key: impl Fn(&Method) -> u64) -> Vec<(usize, &Method)> {
    let mut ranked: Vec<&Method> = methods.all.iter().collect();
    ranked.sort_by_key(|method| Reverse(key(method)));
    (1..).zip(ranked.into_iter().take(most)).collect()
}

fn standard(run: &Run) -> String {
    let methods = Methods::of(run);
    let mut text = "# Performance Profile Report\n\n".to_owned();
    let _ = writeln!(text, "**Generated:** {}", generated(run));
    let _ = writeln!(text, "**Total Runtime:** {}", total_runtime(&methods));
    let _ = writeln!(text, "**Total Allocations:** {}", total_allocations(&methods));
    let _ = writeln!(text, "**Methods Profiled:** {}\n", methods.all.len());
    system(&mut text, run);
    hot_paths(&mut text, &methods);
    allocators(&mut text, &methods);
    most_called(&mut text, &methods);
    hierarchy(&mut text, &methods);
    insights(&mut text, &methods);
    text
}

/// Where theirs names its runtime, ours names its compiler and that nothing collects garbage.
fn system(text: &mut String, run: &Run) {
    let machine = &run.environment.machine;
    let kernel = machine.kernel.as_ref().map_or(String::new(), |kernel| format!(" {kernel}"));
    let compiler = run.subject.build.as_ref().and_then(|build| build.compiler.clone()).unwrap_or_default();
    let _ = writeln!(text, "## System Information\n");
    let _ = writeln!(text, "- **OS:** {}", known(format!("{}{kernel}", machine.os)));
    let _ = writeln!(text, "- **Architecture:** {}", known(machine.arch.clone()));
    let cores = if machine.cpus == 0 { String::new() } else { machine.cpus.to_string() };
    let _ = writeln!(text, "- **CPU Cores:** {}", known(cores));
    let _ = writeln!(text, "- **.NET Version:** none; {}", known(compiler));
    let _ = writeln!(text, "- **GC Mode:** none\n");
}

fn hot_paths(text: &mut String, methods: &Methods) {
    text.push_str("## \u{1f525} Hot Paths (by Time)\n\nMethods consuming the most CPU time:\n\n");
    text.push_str("| Rank | Method | Total Time (ms) | % of Total | Calls | Avg Time (ms) | Min (ms) | Max (ms) |\n");
    text.push_str("|------|--------|----------------|-----------|-------|---------------|----------|----------|\n");
    for (rank, method) in (1..).zip(methods.all.iter().take(20)) {
        let Method { name, total_ms, min_ms, max_ms, .. } = method;
        let (part, mean) = (percentage(*total_ms, methods.wall_ms), method.mean_ms());
        let calls = count(method.calls);
        let _ = writeln!(
            text,
            "| {rank} | `{name}` | {total_ms:.3} | {part:.2}% | {calls} | {mean:.3} | {min_ms:.3} | {max_ms:.3} |"
        );
    }
    text.push('\n');
}

fn percentage(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { 100.0 * part / whole } else { 0.0 }
}

fn allocators(text: &mut String, methods: &Methods) {
    text.push_str("## \u{1f4be} Top Allocators (by Memory)\n\nMethods allocating the most memory:\n\n");
    text.push_str("| Rank | Method | Total Alloc (MB) | % of Total | Calls | Avg Alloc (KB) |\n");
    text.push_str("|------|--------|------------------|-----------|-------|----------------|\n");
    let counted = methods.bytes.is_some();
    for (rank, method) in ranked(methods, if counted { 20 } else { 0 }, |method| method.bytes.unwrap_or(0)) {
        if megabytes(method.bytes) < 0.000_5 {
            break;
        }
        let total = megabytes(method.bytes);
        let part = percentage(total, megabytes(methods.bytes));
        let mean = total * KIB / method.calls.max(1) as f64;
        let _ = writeln!(
            text,
            "| {rank} | `{}` | {total:.3} | {part:.2}% | {} | {mean:.3} |",
            method.name,
            count(method.calls)
        );
    }
    text.push('\n');
}

fn most_called(text: &mut String, methods: &Methods) {
    text.push_str("## \u{1f4de} Most Called Methods\n\nMethods called most frequently:\n\n");
    text.push_str("| Rank | Method | Calls | Total Time (ms) | Avg Time (\u{3bc}s) |\n");
    text.push_str("|------|--------|-------|----------------|---------------|\n");
    for (rank, method) in ranked(methods, 20, |method| method.calls) {
        let Method { name, total_ms, .. } = method;
        let _ = writeln!(
            text,
            "| {rank} | `{name}` | {} | {total_ms:.3} | {:.3} |",
            count(method.calls),
            method.mean_ms() * 1e3
        );
    }
    text.push('\n');
}

fn hierarchy(text: &mut String, methods: &Methods) {
    text.push_str("## \u{1f332} Call Hierarchy\n\nParent-child relationships for hot paths:\n\n");
    for method in methods.all.iter().take(5) {
        let _ = writeln!(text, "### `{}`\n", method.name);
        if method.called_by.is_empty() {
            text.push_str("*Entry point method*\n");
        } else {
            text.push_str("**Called by:**\n");
        }
        let mut callers: Vec<(&String, &u64)> = method.called_by.iter().collect();
        callers.sort_by_key(|(_, calls)| Reverse(**calls));
        for (name, calls) in callers {
            let _ = writeln!(text, "- `{name}` ({} times)", count(*calls));
        }
        text.push('\n');
    }
}

fn insights(text: &mut String, methods: &Methods) {
    text.push_str("## \u{1f4a1} Performance Insights\n\n");
    let top: f64 = methods.all.iter().take(5).map(|method| method.total_ms).sum();
    match percentage(top, methods.wall_ms) {
        nested if nested > 100.0 => {
            text.push_str("- **Top 5 methods** include nested operations (some time is counted in multiple scopes)\n");
        }
        part => {
            let _ = writeln!(text, "- **Top 5 hot paths** account for **{part:.1}%** of total runtime");
        }
    }
    let large = methods.all.iter().filter(|method| method.bytes.unwrap_or(0) / method.calls.max(1) > 1 << 20).count();
    if large > 0 {
        let _ = writeln!(text, "- **{large} methods** allocate more than 1 MB per call on average");
    }
    let frequent = methods.all.iter().filter(|method| method.calls > 10_000).count();
    if frequent > 0 {
        let _ = writeln!(text, "- **{frequent} methods** called more than 10,000 times");
    }
    text.push('\n');
    if methods.bytes.is_none() {
        text.push_str(NOT_COUNTED.trim_start());
    }
}

fn enhanced(run: &Run) -> String {
    let methods = Methods::of_named_rows(run);
    let mut text = "# Enhanced Performance Profile Report\n\n".to_owned();
    let _ = writeln!(text, "**Generated:** {}\n\n## Summary\n", generated(run));
    let _ = writeln!(text, "- **Total Runtime:** {}", total_runtime(&methods));
    let _ = writeln!(text, "- **Total Allocations:** {}", total_allocations(&methods));
    let _ = writeln!(text, "- **Methods Profiled:** {}\n", methods.all.len());
    text.push_str("## \u{1f525} Hot Paths (Top 30)\n\n");
    text.push_str("| Rank | Method | Time (ms) | Calls | Avg (ms) | Alloc (MB) |\n");
    text.push_str("|------|--------|-----------|-------|----------|------------|\n");
    for (rank, method) in (1..).zip(methods.all.iter().take(30)) {
        let (total, mean, alloc) = (method.total_ms, method.mean_ms(), megabytes(method.bytes));
        let _ = writeln!(
            text,
            "| {rank} | `{}` | {total:.2} | {} | {mean:.3} | {alloc:.2} |",
            method.name,
            count(method.calls)
        );
    }
    text.push_str("\n## \u{1f4be} Top Allocators\n\n");
    text.push_str("| Rank | Method | Total (MB) | Calls | Avg (KB) |\n");
    text.push_str("|------|--------|------------|-------|----------|\n");
    let most = if methods.bytes.is_some() { 15 } else { 0 };
    for (rank, method) in ranked(&methods, most, |method| method.bytes.unwrap_or(0)) {
        let alloc = megabytes(method.bytes);
        if alloc < 0.005 {
            break;
        }
        let mean = alloc * KIB / method.calls.max(1) as f64;
        let _ = writeln!(text, "| {rank} | `{}` | {alloc:.2} | {} | {mean:.2} |", method.name, count(method.calls));
    }
    text.push_str("\n## Analysis\n\nSee `hotloop report` for detailed figures.\n");
    if methods.bytes.is_none() {
        text.push_str(NOT_COUNTED);
    }
    text
}
