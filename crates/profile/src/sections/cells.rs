//! Cells and rows that several sections have.

use super::SMALL;
use crate::document::Table;
use crate::units::{nanos, percent, seconds, share, whole_percent};
use crate::{CallTree, ScopeSum, longest_text, percentile_text, rests_on_few, tilde};

/// A share in percent; nothing where there is no whole.
pub(super) fn part(ns: u64, whole: u64) -> String {
    share(ns, whole).map_or_else(String::new, percent)
}

/// What is made of an estimated time is an estimate too.
pub(super) fn estimate(sum: &ScopeSum<'_>, value: String) -> String {
    tilde(sum.is_sampled, value)
}

pub(super) fn mean(sum: &ScopeSum<'_>) -> String {
    sum.mean_s().map_or_else(|| "-".to_owned(), |mean| estimate(sum, seconds(mean)))
}

/// A percentile of the calls. Of futures only polls are timed, which have a section of their own.
pub(super) fn percentile(sum: &ScopeSum<'_>, q: f64) -> String {
    if sum.is_future() { "-".to_owned() } else { timed_percentile(sum, q) }
}

pub(super) fn timed_percentile(sum: &ScopeSum<'_>, q: f64) -> String {
    let is_thin = rests_on_few(q, sum.timed_calls(), sum.is_sampled);
    match sum.percentile(q) {
        None => "-".to_owned(),
        Some((ns, is_exact)) => percentile_text(tilde(!is_exact, nanos(ns)), is_thin),
    }
}

pub(super) fn longest(sum: &ScopeSum<'_>) -> String {
    if sum.is_future() { "-".to_owned() } else { longest_timed(sum) }
}

pub(super) fn longest_timed(sum: &ScopeSum<'_>) -> String {
    sum.max_ns().map_or_else(|| "-".to_owned(), |ns| longest_text(nanos(ns), sum.is_sampled))
}

/// What is in no scope, so that the parts sum to the whole.
pub(super) fn remainder(table: &mut Table, tree: &CallTree<'_>) {
    let (on_cpu, own) = (tree.on_cpu_ns(), tree.profile.own_cost.total_ns);
    let mut row = |name: String, ns: u64, share: String| table.row([name, nanos(ns), share]);
    row("(idle or in no scope)".to_owned(), tree.idle_ns(), part(tree.idle_ns(), on_cpu));
    // What the profiler of another program cost is not known.
    if tree.profile.clock.source != "unknown" {
        row("(the profiler itself)".to_owned(), own, part(own, on_cpu));
    }
    let (accounted, whole) = (tree.accounted_ns(), tree.threads_wall_ns());
    if whole > accounted && share(whole - accounted, whole).is_some_and(|part| part > SMALL) {
        row("(not accounted for)".to_owned(), whole - accounted, part(whole - accounted, on_cpu));
    }
    let sum = match share(whole.abs_diff(accounted), whole) {
        Some(part) if part > SMALL => accounted.max(whole),
        _ => accounted,
    };
    let threads = tree.thread_count();
    let all = if threads > 1 { format!("= the time of {threads} threads") } else { "= the run".to_owned() };
    let Some(waiting) = tree.waiting_ns() else { return row(all, sum, part(sum, on_cpu)) };
    let rest = sum.saturating_sub(waiting);
    row("= on a CPU".to_owned(), rest, part(rest, on_cpu));
    row("(waiting for a CPU)".to_owned(), waiting, of_wall(waiting, sum));
    row(all, sum, String::new());
}

/// Waiting is no part of the time that other shares refer to.
fn of_wall(ns: u64, wall: u64) -> String {
    share(ns, wall).map_or_else(String::new, |share| format!("{} of wall", whole_percent(share)))
}
