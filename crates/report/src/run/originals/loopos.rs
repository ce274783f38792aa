//! LoopOS's report.

use std::fmt::Write;

use record::Run;

use super::methods::{Method, Methods};

/// Name, calls, total, mean, least, most, share.
const WIDTH: usize = 40 + 12 + 14 + 12 + 12 + 12 + 10;

/// A run in LoopOS's layout. The total is the time in scopes and shares are shares of it: nothing is counted
/// twice. `top` methods are shown; LoopOS's trainer prints 15.
#[must_use]
pub fn text(run: &Run, top: usize) -> String {
    let methods = Methods::of(run);
    let shown = methods.all.len().min(top);
    let mut text = "=== Profiling Report ===\n".to_owned();
    match methods.all.is_empty() {
        true => text.push_str("Total profiled time: not measured\n"),
        false => {
            let _ = writeln!(text, "Total profiled time: {:.2} ms", methods.profiled_ms);
        }
    }
    let _ = writeln!(text, "Total entries: {}", methods.all.len());
    let _ = writeln!(text, "Showing top {shown} by total time:\n");
    let _ = writeln!(
        text,
        "{:<40}{:>12}{:>14}{:>12}{:>12}{:>12}{:>10}",
        "Name", "Calls", "Total (ms)", "Avg (ms)", "Min (ms)", "Max (ms)", "% Time"
    );
    let rule = "-".repeat(WIDTH);
    let _ = writeln!(text, "{rule}");
    for method in &methods.all[..shown] {
        let Method { name, calls, total_ms, min_ms, max_ms, .. } = method;
        let share = if methods.profiled_ms > 0.0 { 100.0 * total_ms / methods.profiled_ms } else { 0.0 };
        let mean = method.mean_ms();
        let _ = writeln!(
            text,
            "{name:<40}{calls:>12}{total_ms:>14.2}{mean:>12.2}{min_ms:>12.2}{max_ms:>12.2}{share:>9.2}%"
        );
    }
    let _ = writeln!(text, "{rule}");
    text
}
