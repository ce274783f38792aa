//! Threads: how long each ran, was in scopes, and waited for a CPU.

use std::cmp::Reverse;

use super::cells::part;
use crate::Thread;
use crate::document::{Block, Section, Table};
use crate::units::{bytes, count, nanos, plural, share, sum_of, whole_percent};
use crate::view::ProfileView;

pub(super) fn section(view: &ProfileView<'_>) -> Section {
    let headings = ["thread", "state", "wall", "in scopes", "share", "waiting", "profiler", "calls", "allocs", "bytes"];
    let mut table = Table::new(&headings).least_important(&["profiler", "state"]);
    let profile = view.tree.profile;
    let mut by_time = without_nameless_ended(&profile.threads);
    by_time.sort_by_key(|thread| Reverse(thread.in_scopes_ns));
    let counted = view.tree.counts_allocations();
    for thread in by_time.iter().take(view.top) {
        let state = if thread.is_alive { "running" } else { "ended" };
        table.row(cells(name(thread), state, thread, counted));
    }
    let is_waiting_known = by_time.iter().any(|thread| thread.waiting_ns.is_some());
    if is_waiting_known && by_time.len() > 1 {
        let all = by_time.iter().fold(Thread { count: 0, ..Thread::default() }, plus);
        table.row(cells("= all threads".to_owned(), "", &all, counted));
    }
    if let Some(early) = profile.early_allocs.filter(|early| early.allocs > 0) {
        let empty = std::iter::repeat_n(String::new(), headings.len() - 3);
        let amounts = [count(early.allocs), bytes(early.alloc_bytes)];
        table.row(std::iter::once("(before their first scope)".to_owned()).chain(empty).chain(amounts));
    }
    let mut explanation =
        "wall: from the thread's first scope to its end, or to the end of the run; threads that help \
                           a kernel open no scopes: their work is in the scope that waits for it"
            .to_owned();
    if is_waiting_known {
        explanation.push_str(
            "; waiting: ready to run, but no CPU was free, measured; share: of the time on a CPU, without it",
        );
    }
    let mut section = Section::new("THREADS", &explanation).with(Block::Table(table));
    let hidden = sum_of(by_time.iter().skip(view.top).map(|thread| thread.count));
    if hidden > 0 {
        section.text(format!("({})", plural(hidden, "more thread")));
    }
    section
}

fn name(thread: &Thread) -> String {
    match (&thread.name, thread.count) {
        (_, 2..) => format!("({} ended threads)", count(thread.count)),
        (Some(name), _) => name.clone(),
        (None, _) => format!("thread {}", thread.id),
    }
}

/// Threads that ended without a name say nothing one by one: they are summed.
fn without_nameless_ended(threads: &[Thread]) -> Vec<Thread> {
    let (nameless, mut kept): (Vec<Thread>, Vec<Thread>) =
        threads.iter().cloned().partition(|thread| !thread.is_alive && thread.name.is_none());
    kept.extend(nameless.into_iter().reduce(|sum, thread| plus(sum, &thread)));
    kept
}

fn cells(name: String, state: &str, thread: &Thread, counted: bool) -> [String; 10] {
    let waiting = thread.waiting_ns.unwrap_or(0);
    [
        name,
        state.to_owned(),
        nanos(thread.wall_ns),
        nanos(thread.in_scopes_ns),
        part(thread.in_scopes_ns, thread.wall_ns.saturating_sub(waiting)),
        thread.waiting_ns.map_or_else(String::new, |ns| match share(ns, thread.wall_ns) {
            Some(share) => format!("{} ({})", nanos(ns), whole_percent(share)),
            None => nanos(ns),
        }),
        nanos(thread.own_cost_ns),
        count(thread.calls),
        if counted { count(thread.allocs) } else { String::new() },
        if counted { bytes(thread.alloc_bytes) } else { String::new() },
    ]
}

fn plus(sum: Thread, thread: &Thread) -> Thread {
    let known = |one: Option<u64>, other: Option<u64>| match (one, other) {
        (Some(one), Some(other)) => Some(one.saturating_add(other)),
        (one, other) => one.or(other),
    };
    Thread {
        count: sum.count.saturating_add(thread.count),
        calls: sum.calls.saturating_add(thread.calls),
        wall_ns: sum.wall_ns.saturating_add(thread.wall_ns),
        in_scopes_ns: sum.in_scopes_ns.saturating_add(thread.in_scopes_ns),
        own_cost_ns: sum.own_cost_ns.saturating_add(thread.own_cost_ns),
        waiting_ns: known(sum.waiting_ns, thread.waiting_ns),
        cpu_ns: known(sum.cpu_ns, thread.cpu_ns),
        allocs: sum.allocs.saturating_add(thread.allocs),
        alloc_bytes: sum.alloc_bytes.saturating_add(thread.alloc_bytes),
        ..sum
    }
}
