//! What the numbers say, in words: each with its evidence, none without.

use std::fmt::Write;

use super::estimates::{self, Estimate, on_cpu_ns, rests_on_few, threads_wall_ns};
use super::trust::judged_cost;
use super::units::{bytes, count, mean_count, percent, plural, share, short_time, time, wrapped};
use crate::snapshot::{InterruptionSource, ScopeStats, Snapshot, ThreadStats};

/// A share of the wall time worth a sentence.
const NOTABLE: f64 = 0.10;
/// Calls from which on a distribution means something.
const ENOUGH_CALLS: u64 = 100;
/// Allocations of this size, on each call, dominate a scope.
const LARGE_ALLOC: u64 = 1 << 20;

type Rule = fn(&Snapshot, &[ScopeStats]) -> Option<String>;

const RULES: &[Rule] = &[
    hottest,
    waited_for_cpu,
    outside,
    allocations,
    large_allocations,
    frequent,
    uneven,
    waiting,
    imbalance,
    over_budget,
];

/// Writes the insights, or that there are none.
pub(super) fn write(text: &mut String, snapshot: &Snapshot, names: &[ScopeStats]) {
    text.push_str("\nINSIGHTS\n");
    let found: Vec<String> = RULES.iter().filter_map(|rule| rule(snapshot, names)).collect();
    if found.is_empty() {
        text.push_str("  Nothing stands out.\n");
    }
    for (number, insight) in found.iter().enumerate() {
        let _ = writeln!(text, "  {}. {}", number + 1, wrapped(insight, "\n     "));
    }
}

/// Names of a tie that are listed.
const TIED: usize = 3;

fn hottest(snapshot: &Snapshot, names: &[ScopeStats]) -> Option<String> {
    if is_crowded(snapshot) && snapshot.interruptions.source == InterruptionSource::None {
        return Some(
            "Attribution unreliable: other programs had most of the CPUs, and interruptions are not recognised.".into(),
        );
    }
    let tied = estimates::hottest(names);
    let scope = tied.first()?;
    let (whole, own) = (on_cpu_ns(snapshot), Estimate::own(scope));
    if own.low() / (whole.max(1) as f64) < NOTABLE {
        return None;
    }
    if tied.len() > 1 {
        return Some(tie(&tied, whole));
    }
    if scope.threads > 1 || scope.self_ns > whole {
        let threads = plural(scope.threads, "thread");
        return Some(format!("`{}` spends the most time in its own code: {} on {threads}.", scope.name, own.text()));
    }
    let part = share(scope.self_ns, whole).min(1.0);
    let limit = match 1.0 / (1.0 - part) {
        limit if limit < 20.0 => format!("more than {limit:.2} times cannot be had there"),
        _ => "nearly all that can be had is there".to_owned(),
    };
    Some(format!(
        "`{}` spends {} of {} in its own code. Twice as fast there would make the run {:.2} times as fast; {limit}.",
        scope.name,
        own.percent_of(whole),
        estimates::whole(snapshot),
        1.0 / (1.0 - part / 2.0),
    ))
}

/// Scopes of which nobody can tell which is the hottest.
fn tie(tied: &[&ScopeStats], whole: u64) -> String {
    let shown = tied.iter().take(TIED);
    let names: Vec<String> = shown.clone().map(|scope| format!("`{}`", scope.name)).collect();
    let shares: Vec<String> = shown.map(|scope| Estimate::own(scope).percent_of(whole)).collect();
    let more = match tied.len().saturating_sub(TIED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let which = if tied.len() == 2 { "hotter" } else { "hottest" };
    format!(
        "Most time in their own code: {}{more}, {} (cannot tell which is {which}).",
        names.join(if more.is_empty() && names.len() == 2 { " and " } else { ", " }),
        shares.join(if shares.len() == 2 { " and " } else { ", " }),
    )
}

/// The part of the time in which threads could run from where on others had most of it.
const CROWDED: f64 = 0.5;

/// Whether threads waited for a CPU longer than they had one.
fn is_crowded(snapshot: &Snapshot) -> bool {
    let runnable = |thread: &ThreadStats| Some(thread.cpu_ns? + thread.waiting_ns?);
    let runnable: Option<u64> = snapshot.threads.iter().map(runnable).sum();
    let runnable = runnable.unwrap_or_else(|| threads_wall_ns(snapshot));
    snapshot.waiting_ns.is_some_and(|waiting| share(waiting, runnable) > CROWDED)
}

fn waited_for_cpu(snapshot: &Snapshot, _: &[ScopeStats]) -> Option<String> {
    let waiting = snapshot.waiting_ns?;
    let part = share(waiting, threads_wall_ns(snapshot));
    (part > NOTABLE).then(|| {
        format!(
            "Threads waited {} for a CPU, {} of their time: other programs used it. Shares are of the time on a CPU.",
            time(waiting),
            percent(part)
        )
    })
}

fn outside(snapshot: &Snapshot, _: &[ScopeStats]) -> Option<String> {
    let threads = threads_wall_ns(snapshot).saturating_sub(snapshot.waiting_ns.unwrap_or(0));
    let part = share(snapshot.outside_ns, threads);
    (part > NOTABLE).then(|| {
        format!("{} of the threads' time lies outside any scope: idle, or code that has no scope yet.", percent(part))
    })
}

fn allocations(_: &Snapshot, names: &[ScopeStats]) -> Option<String> {
    let scope = names.iter().filter(|scope| scope.calls >= ENOUGH_CALLS).max_by_key(|scope| scope.allocs.allocs)?;
    let per_call = scope.allocs.allocs as f64 / scope.calls as f64;
    (per_call >= 1.0).then(|| {
        format!(
            "`{}` allocates {} times per call ({} per call, {} in all): a buffer kept between calls would save them.",
            scope.name,
            mean_count(per_call),
            bytes(scope.allocs.alloc_bytes / scope.calls),
            bytes(scope.allocs.alloc_bytes)
        )
    })
}

fn large_allocations(_: &Snapshot, names: &[ScopeStats]) -> Option<String> {
    let large = |scope: &&ScopeStats| scope.allocs.alloc_bytes / scope.calls.max(1) > LARGE_ALLOC;
    let large: Vec<&str> = names.iter().filter(large).map(|scope| scope.name.as_str()).collect();
    (!large.is_empty()).then(|| format!("More than 1 MiB per call is allocated by: {}.", large.join(", ")))
}

fn frequent(snapshot: &Snapshot, names: &[ScopeStats]) -> Option<String> {
    let scope = names.iter().filter(|scope| scope.is_sampled).max_by_key(|scope| scope.calls)?;
    let (every, mean) = (snapshot.own_cost.per_scope_ns, scope.mean_ns().max(0.1));
    Some(format!(
        "`{}` is called {} times for {} each: timing every call would take {} on top of that, so {} were timed. A scope \
         around the loop that calls it would tell as much.",
        scope.name,
        count(scope.calls),
        short_time(mean),
        percent(every / mean),
        count(scope.timed_calls)
    ))
}

fn uneven(snapshot: &Snapshot, names: &[ScopeStats]) -> Option<String> {
    let notable = |scope: &&ScopeStats| {
        scope.timed_calls >= ENOUGH_CALLS
            && !rests_on_few(scope, 0.99)
            && share(scope.total_ns, on_cpu_ns(snapshot)) > NOTABLE / 10.0
            && scope.polls == 0
    };
    let ratio = |scope: &ScopeStats| Some(scope.p99_ns? as f64 / scope.p50_ns?.max(1) as f64);
    let uneven = names.iter().filter(notable).filter_map(|scope| Some((ratio(scope)?, scope)));
    let (ratio, scope) = uneven.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (ratio >= 5.0).then(|| {
        format!(
            "`{}` is uneven: half of its calls take at most {}, one in a hundred {} or more.",
            scope.name,
            time(scope.p50_ns.unwrap_or(0)),
            time(scope.p99_ns.unwrap_or(0))
        )
    })
}

fn waiting(_: &Snapshot, names: &[ScopeStats]) -> Option<String> {
    let scope = names.iter().filter(|scope| scope.polls > 0).max_by_key(|scope| scope.elapsed_ns)?;
    let idle = 1.0 - share(scope.total_ns.min(scope.elapsed_ns), scope.elapsed_ns);
    (idle > 0.5 && scope.elapsed_ns > 0).then(|| {
        format!(
            "`{}` waits for {} of its {} between first and last poll.",
            scope.name,
            percent(idle),
            time(scope.elapsed_ns)
        )
    })
}

fn imbalance(snapshot: &Snapshot, _: &[ScopeStats]) -> Option<String> {
    // Threads that lived for most of the run: a short one has its reasons to have done less.
    let lasting = |wall_ns| share(wall_ns, snapshot.wall_ns) > 0.5;
    let running = || snapshot.threads.iter().filter(|thread| thread.count == 1 && lasting(thread.wall_ns));
    let most = running().max_by_key(|thread| thread.in_scopes_ns)?;
    let least = running().min_by_key(|thread| thread.in_scopes_ns)?;
    let named = |name: &Option<String>, id: u64| name.clone().unwrap_or_else(|| format!("thread {id}"));
    (least.in_scopes_ns * 2 < most.in_scopes_ns && share(most.in_scopes_ns, snapshot.wall_ns) > NOTABLE).then(|| {
        format!(
            "The threads are uneven: `{}` spent {} in scopes, `{}` {}.",
            named(&most.name, most.id),
            time(most.in_scopes_ns),
            named(&least.name, least.id),
            time(least.in_scopes_ns)
        )
    })
}

fn over_budget(snapshot: &Snapshot, names: &[ScopeStats]) -> Option<String> {
    let limit = snapshot.own_cost.budget?;
    let most = names.iter().max_by_key(|scope| scope.calls)?;
    let (share, whole) = judged_cost(&snapshot.own_cost);
    (share > limit).then(|| {
        format!(
            "The profiler took {} of the {whole}, above its budget of {}: mostly by counting `{}`; remove that scope, or \
             move it outward.",
            percent(share),
            percent(limit),
            most.name
        )
    })
}
