//! How the numbers came about: clock, own cost, what was sampled, what was lost.

use std::fmt::Write;

use super::units::{count, fine_percent, percent, plural, short_percent, short_time, time, wrapped};
use crate::clock::ClockSource;
use crate::snapshot::{InterruptionSource, OwnCost, ScopeStats, Snapshot};

/// What stands before the second and later lines of an entry.
const INDENT: &str = "\n              ";

pub(super) fn write(text: &mut String, snapshot: &Snapshot, names: &[ScopeStats]) {
    text.push_str("\nTHE PROFILER  how far these numbers can be trusted\n");
    entry(text, "clock", &clock(snapshot));
    entry(text, "own cost", &own_cost(snapshot));
    entry(text, "budget", &budget(snapshot, names));
    entry(text, "interrupts", &interruptions(snapshot));
    sampled(text, names);
    if names.iter().any(|scope| scope.p50_ns.is_some()) {
        let error = percent(Snapshot::PERCENTILE_ERROR);
        entry(text, "percentiles", &format!("within {error} of what was timed"));
    }
    timeline(text, snapshot);
    losses(text, snapshot);
}

fn entry(text: &mut String, title: &str, sentence: &str) {
    let _ = writeln!(text, "  {title:<11} {}", wrapped(sentence, INDENT));
}

fn clock(snapshot: &Snapshot) -> String {
    let clock = match snapshot.clock.source {
        ClockSource::Counter => "the CPU's counter",
        ClockSource::Os => "the operating system's",
    };
    let apart = short_time(snapshot.clock.resolution_ns);
    format!("{clock} ({}); two readings lie {apart} apart, shorter calls read as 0", snapshot.clock.why)
}

fn own_cost(snapshot: &Snapshot) -> String {
    let cost = &snapshot.own_cost;
    let (timed, counted) = (short_time(cost.per_scope_ns), short_time(cost.per_sampled_scope_ns));
    let alloc = match snapshot.allocations_counted {
        true => format!(", {} per allocation", short_time(cost.per_alloc_ns)),
        false => String::new(),
    };
    format!(
        "{timed} per timed call, {counted} per counted one{alloc}, measured between pieces of work: {} in all; taken out of \
         the times above",
        time(cost.total_ns)
    )
}

/// What the budget is judged by: the share of CPU time, which others on the machine do not change; of the wall time where the
/// former is not known.
pub(super) fn judged_cost(cost: &OwnCost) -> (f64, &'static str) {
    cost.share_of_cpu.map_or((cost.share_of_wall, "wall time"), |share| (share, "CPU time"))
}

/// `own cost 1.3 % of CPU time (budget 2 %): kept`.
fn budget(snapshot: &Snapshot, names: &[ScopeStats]) -> String {
    let (share, whole) = judged_cost(&snapshot.own_cost);
    let took = format!("own cost {} of {whole}", fine_percent(share));
    let Some(limit) = snapshot.own_cost.budget else {
        return format!("none: every call was timed; {took} on the thread where it took most");
    };
    let verdict = if share > limit { "exceeded" } else { "kept" };
    let sampled = names.iter().filter(|scope| scope.is_sampled).count() as u64;
    let what = match sampled {
        0 => "every call was timed".to_owned(),
        n => format!(
            "{} sampled: calls, allocations and work are exact, times are estimates with a 95 % interval (\u{b1}):",
            plural(n, "scope")
        ),
    };
    format!("{took} (budget {}): {verdict}; {what}", short_percent(limit))
}

/// How it is known that a thread lost its CPU, and how long threads waited for one.
fn interruptions(snapshot: &Snapshot) -> String {
    let why = snapshot.interruptions.why;
    match snapshot.interruptions.source {
        InterruptionSource::Rseq => {
            let waited = snapshot.waiting_ns.map_or_else(String::new, |ns| {
                format!("; threads waited {} for a CPU: measured, and in no scope's time", time(ns))
            });
            format!("recognised by rseq: the kernel marks each one ({why}){waited}")
        }
        InterruptionSource::None => {
            format!("not recognised ({why}): time without a CPU is part of the scopes' times")
        }
    }
}

fn sampled(text: &mut String, names: &[ScopeStats]) {
    let sampled: Vec<&ScopeStats> = names.iter().filter(|scope| scope.is_sampled).collect();
    for scope in sampled.iter().take(8) {
        let entered = scope.polls.max(scope.calls);
        let timed = count(scope.timed_calls);
        let _ = writeln!(text, "                {}: timed {timed} of {}", scope.name, count(entered));
    }
    if sampled.len() > 8 {
        let _ = writeln!(text, "                and {} more", sampled.len() - 8);
    }
}

fn timeline(text: &mut String, snapshot: &Snapshot) {
    let kept: usize = snapshot.timeline.iter().map(|thread| thread.events.len()).sum();
    let lost = snapshot.lost.timeline_events;
    if kept > 0 || lost > 0 {
        let (kept, all) = (count(kept as u64), count(kept as u64 + lost));
        entry(text, "timeline", &format!("the last {kept} of {all} timed calls kept ({} overwritten)", count(lost)));
    }
}

fn losses(text: &mut String, snapshot: &Snapshot) {
    let lost = &snapshot.lost;
    for (n, what) in [
        (
            lost.calls_without_room,
            "found no room in the tree (too many paths, or too deep): in no row, or in one for all",
        ),
        (lost.calls_with_other_index, "had a negative index, or one beyond those kept apart, and share one row"),
        (lost.unbalanced_scopes, "ended in another order than they began"),
        (lost.scopes_after_thread_end, "were opened or closed while their thread was being torn down"),
        (lost.timings_without_percentile, "are in no percentile: the memory for histograms was used up"),
        (lost.calls_with_folded_index, "with an index lay too deep for a row of their own and are in none"),
        (lost.leaked_scopes, "never ended; closed when the profiler noticed"),
    ] {
        if n > 0 {
            entry(text, "lost", &format!("{} {what}", plural(n, "call")));
        }
    }
}
