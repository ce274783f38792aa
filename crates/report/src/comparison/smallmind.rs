//! A comparison in SmallMind's layout, with totals of roots where SmallMind's counted nested time again.

use std::collections::HashMap;
use std::fmt::Write;

use record::{Comparison, ScopeChange, ScopeFigures, Total};

use crate::gate::word;

const MIB: f64 = 1_048_576.0;

/// A method on both sides: milliseconds and mebibytes.
struct Method {
    name: String,
    time: [Option<f64>; 2],
    alloc: [Option<f64>; 2],
}

impl Method {
    /// How much longer, and the change in percent; nothing where it is there once only.
    fn change(&self) -> Option<(f64, Option<f64>)> {
        let (old, new) = (self.time[0]?, self.time[1]?);
        Some((new - old, (old > 0.0).then(|| 100.0 * (new - old) / old)))
    }
}

/// A comparison as `# Profile Comparison Report`. Where theirs says improved or regressed by a threshold alone, this one
/// says what the comparison found.
#[must_use]
pub fn text(comparison: &Comparison) -> String {
    let methods = methods(comparison);
    let mut text = "# Profile Comparison Report\n\n".to_owned();
    let _ = writeln!(text, "**Previous Run:** {}", when(&comparison.base.created));
    let _ = writeln!(text, "**Current Run:** {}\n", when(&comparison.candidate.created));
    let profiled = [0, 1].map(|side| methods.iter().filter(|method| method.time[side].is_some()).count());
    summary(&mut text, comparison, profiled);
    moved(&mut text, &methods, false);
    moved(&mut text, &methods, true);
    detail(&mut text, &methods);
    models(&mut text, comparison);
    kernels(&mut text, comparison);
    text
}

fn when(created: &str) -> String {
    let told: String = created.replacen('T', " ", 1).chars().take(19).collect();
    if told.trim().is_empty() { "unknown".to_owned() } else { told }
}

/// Scopes by name, those inside one of the same name not again; the longest first.
fn methods(comparison: &Comparison) -> Vec<Method> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut methods: Vec<Method> = Vec::new();
    for scope in comparison.scopes.iter().filter(|scope| !is_inside_itself(&comparison.scopes, scope)) {
        let place = *places.entry(&scope.name).or_insert(methods.len());
        if place == methods.len() {
            methods.push(Method { name: scope.name.clone(), time: [None; 2], alloc: [None; 2] });
        }
        for (side, figures) in [scope.base, scope.candidate].into_iter().enumerate() {
            let Some(figures) = figures else { continue };
            let ScopeFigures { total_s, alloc_bytes, .. } = figures;
            *methods[place].time[side].get_or_insert_default() += total_s * 1e3;
            if let Some(bytes) = alloc_bytes {
                *methods[place].alloc[side].get_or_insert_default() += bytes / MIB;
            }
        }
    }
    let most = |method: &Method| method.time.iter().flatten().copied().fold(0.0, f64::max);
    methods.sort_by(|a, b| most(b).total_cmp(&most(a)));
    methods
}

/// Recursion is looked for a few scopes up: who goes deeper is counted again.
fn is_inside_itself(scopes: &[ScopeChange], scope: &ScopeChange) -> bool {
    let above = std::iter::successors(scope.parent, |place| scopes[*place].parent);
    above.take(32).any(|place| scopes[place].name == scope.name)
}

fn summary(text: &mut String, comparison: &Comparison, [old, new]: [usize; 2]) {
    let totals = comparison.totals.as_ref();
    let pair = |of: fn(&Total) -> Option<f64>| {
        let side = |total: Option<Total>| total.as_ref().and_then(of);
        [side(totals.and_then(|totals| totals.base)), side(totals.and_then(|totals| totals.candidate))]
    };
    text.push_str("## \u{1f4ca} Overall Performance Summary\n\n");
    text.push_str(
        "| Metric | Previous | Current | Delta | Change % |\n|--------|----------|---------|-------|----------|\n",
    );
    let rows = [
        ("Total Runtime", "ms", pair(|total| Some(total.seconds * 1e3))),
        ("Total Allocations", "MB", pair(|total| total.alloc_bytes.map(|bytes| bytes / MIB))),
    ];
    for (name, unit, [old, new]) in rows {
        let cell =
            |value: Option<f64>| value.map_or_else(|| "not measured".to_owned(), |value| format!("{value:.2} {unit}"));
        let change = old.zip(new).map(|(old, new)| (new - old, (old > 0.0).then(|| 100.0 * (new - old) / old)));
        let delta = change.map_or_else(|| "-".to_owned(), |(delta, _)| format!("{delta:+.2} {unit}"));
        let percent =
            change.and_then(|change| change.1).map_or_else(|| "-".to_owned(), |percent| format!("{percent:+.1}%"));
        let _ = writeln!(text, "| **{name}** | {} | {} | {delta} | {percent} |", cell(old), cell(new));
    }
    let _ = writeln!(text, "| **Methods Profiled** | {old} | {new} | {:+} | - |\n", new as i64 - old as i64);
    text.push_str("Totals cover top-level scopes only: nested time is counted once.\n\n");
    let _ = writeln!(
        text,
        "### \u{1f3af} Performance Verdict\n\n**{}**: {}\n",
        word(comparison.verdict),
        comparison.sentence
    );
}

fn moved(text: &mut String, methods: &[Method], more: bool) {
    let title = if more { "## \u{26a0}\u{fe0f} Top 10 Regressions" } else { "## \u{1f680} Top 10 Improvements" };
    let _ = writeln!(text, "{title}\n");
    text.push_str("| Method | Previous (ms) | Current (ms) | Delta (ms) | Change % |\n");
    text.push_str("|--------|---------------|--------------|------------|----------|\n");
    let mut found: Vec<(&Method, f64, Option<f64>)> = methods
        .iter()
        .filter_map(|method| method.change().map(|(delta, percent)| (method, delta, percent)))
        .filter(|(_, delta, _)| if more { *delta > 0.0 } else { *delta < 0.0 })
        .collect();
    found.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
    for (method, delta, percent) in found.into_iter().take(10) {
        let [old, new] = method.time.map(Option::unwrap_or_default);
        let percent = percent.map_or_else(|| "-".to_owned(), |percent| format!("{percent:+.1}%"));
        let _ = writeln!(text, "| `{}` | {old:.2} | {new:.2} | {delta:+.2} | {percent} |", method.name);
    }
    text.push('\n');
}

fn detail(text: &mut String, methods: &[Method]) {
    text.push_str("## \u{1f4cb} Detailed Method Comparison\n\n");
    text.push_str("| Method | Prev Time (ms) | Curr Time (ms) | Time \u{394} | Time \u{394}% | Prev Alloc (MB) | Curr Alloc (MB) | Status |\n");
    text.push_str("|--------|----------------|----------------|--------|---------|-----------------|-----------------|--------|\n");
    for method in methods.iter().take(30) {
        let cell = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"));
        let change = method.change();
        let status = match method.time {
            [None, _] => "Added",
            [_, None] => "Removed",
            _ => "-",
        };
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} | {} | {} | {} | {status} |",
            method.name,
            cell(method.time[0]),
            cell(method.time[1]),
            change.map_or_else(|| "-".to_owned(), |change| format!("{:+.2}", change.0)),
            change.and_then(|change| change.1).map_or_else(|| "-".to_owned(), |percent| format!("{percent:+.1}%")),
            cell(method.alloc[0]),
            cell(method.alloc[1]),
        );
    }
    text.push('\n');
}

fn models(text: &mut String, comparison: &Comparison) {
    if comparison.models.is_empty() {
        return;
    }
    text.push_str("## \u{1f52c} Model Size Comparison\n\n");
    text.push_str("| Model | Prev tokens/s | Curr tokens/s | Prev MB/token | Curr MB/token |\n");
    text.push_str("|-------|---------------|---------------|---------------|---------------|\n");
    for model in &comparison.models {
        let sides = [&model.base, &model.candidate];
        let cell = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"));
        let [old, new] = sides.map(|side| cell(side.as_ref().and_then(|side| side.tokens_per_s)));
        let memory = |side: &Option<record::StoredModel>| Some(side.as_ref()?.alloc_bytes_per_token? / MIB);
        let [old_memory, new_memory] = sides.map(|side| cell(memory(side)));
        let _ = writeln!(text, "| {} | {old} | {new} | {old_memory} | {new_memory} |", model.name);
    }
    text.push('\n');
}

fn kernels(text: &mut String, comparison: &Comparison) {
    let counted = || {
        comparison.kernels.iter().filter(|kernel| {
            kernel.base.iter().chain(&kernel.candidate).any(|speed| ["FLOP", "OP"].contains(&&*speed.unit))
        })
    };
    if counted().next().is_none() {
        return;
    }
    text.push_str("### SIMD Operation Performance\n\nRates of all calls in a scope, warm-up included.\n\n");
    text.push_str("| Operation | Prev GFLOPS | Curr GFLOPS |\n|-----------|-------------|-------------|\n");
    for kernel in counted().take(30) {
        let [old, new] = [&kernel.base, &kernel.candidate]
            .map(|side| side.as_ref().map_or_else(|| "-".to_owned(), |speed| format!("{:.2}", speed.per_second / 1e9)));
        let _ = writeln!(text, "| `{}` | {old} | {new} |", kernel.name);
    }
    text.push('\n');
}
