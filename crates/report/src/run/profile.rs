//! Where the time and the memory went, by scope.

use std::cmp::Reverse;

use super::call_tree;
use super::document::{Block, Section, Table, not_measured};
use super::estimates::{Time, longest_text, marks, percentile_text, rests_on_few, tilde};
use super::limits::{InWords as _, RooflineLimit, RowWork, operations};
use super::tree::{Sum, Tree};
use super::view::View;
use crate::units::{
    bytes, count, digits, mean_bytes, mean_count, nanos, percent, plural, rate, seconds, share, sum_of, tokens_per_s,
    whole_percent,
};

/// Below this share of the wall time nothing is worth a row of its own.
pub(super) const SMALL: f64 = 0.001;
/// Families that get a table by index.
const FAMILIES: usize = 2;

pub(super) fn sections(view: &View<'_>) -> Vec<Section> {
    let Some(tree) = view.tree.as_ref().filter(|tree| !tree.names.is_empty()) else { return Vec::new() };
    let mut sections = vec![hot_paths(view, tree)];
    sections.extend(work(view, tree));
    sections.push(allocators(view, tree));
    sections.push(most_called(view, tree));
    sections.push(call_tree::section(view, tree));
    sections.extend(tree.families.iter().take(FAMILIES).map(|family| call_tree::by_index(view, tree, family)));
    sections.extend(futures(view, tree));
    sections.extend((!tree.profile.threads.is_empty()).then(|| threads(view, tree)));
    sections
}

pub(super) fn part(ns: u64, whole: u64) -> String {
    share(ns, whole).map_or_else(String::new, percent)
}

/// What is made of an estimated time is an estimate too.
pub(super) fn estimate(sum: &Sum<'_>, value: String) -> String {
    tilde(sum.is_sampled, value)
}

fn percentile(sum: &Sum<'_>, q: f64) -> String {
    let is_thin = rests_on_few(q, sum.timed_calls(), sum.is_sampled);
    match sum.percentile(q).filter(|_| !sum.is_future()) {
        None => "-".to_owned(),
        Some((ns, is_exact)) => percentile_text(tilde(!is_exact, nanos(ns)), is_thin),
    }
}

fn longest(sum: &Sum<'_>) -> String {
    let ns = sum.max_ns().filter(|_| !sum.is_future());
    ns.map_or_else(|| "-".to_owned(), |ns| longest_text(nanos(ns), sum.is_sampled))
}

pub(super) fn mean(sum: &Sum<'_>) -> String {
    sum.mean_s().map_or_else(|| "-".to_owned(), |mean| estimate(sum, seconds(mean)))
}

fn hot_paths(view: &View<'_>, tree: &Tree<'_>) -> Section {
    let whole = view.on_cpu_ns();
    let headings = ["scope", "self", "self %", "total", "total %", "calls", "mean", "p50", "p99", "max"];
    let mut table = Table::new(&headings).least_important(&["total %", "max", "p50", "p99"]);
    let mut by_self: Vec<&Sum<'_>> = tree.names.iter().collect();
    by_self.sort_by_key(|sum| Reverse(sum.self_ns));
    for sum in by_self.iter().take(view.top) {
        table.row([
            sum.name.to_owned(),
            sum.own().text(),
            sum.own().percent_of(whole),
            sum.total().text(),
            sum.total().percent_of(whole),
            count(sum.calls),
            mean(sum),
            percentile(sum, 0.5),
            percentile(sum, 0.99),
            longest(sum),
        ]);
    }
    if by_self.len() > view.top {
        let rest = by_self[view.top..].iter().fold(Time::default(), |rest, sum| rest.plus(sum.own()));
        let name = format!("({})", plural((by_self.len() - view.top) as u64, "more scope"));
        table.row([name, rest.text(), rest.percent_of(whole)]);
    }
    remainder(&mut table, tree, whole);
    let explanation = explanation(view, tree, &table);
    Section::new("HOT PATHS", &explanation).with(Block::Table(table))
}

fn explanation(view: &View<'_>, tree: &Tree<'_>, table: &Table) -> String {
    let mut text = format!(
        "by self time: where the time is spent. self: without the scopes that it calls; total: with them; %: of {}{}; names: \
         module paths omitted where unambiguous",
        view.whole(),
        marks(table)
    );
    text.push_str(waiting_legend(tree));
    if tree.thread_count() > 1 {
        text.push_str(". Times are summed over threads, so that percentages can add up to more than 100");
    }
    if tree.has_bystanders() {
        text.push_str(". Idle time of threads that were in scopes for less than 1 % of the run is left out");
    }
    text
}

fn waiting_legend(tree: &Tree<'_>) -> &'static str {
    match tree.waiting_ns() {
        Some(_) => "; on a CPU: wall time minus waiting; waiting for a CPU: measured, in no scope's time",
        None => "",
    }
}

/// What is in no scope, so that the parts sum to the whole.
pub(super) fn remainder(table: &mut Table, tree: &Tree<'_>, on_cpu: u64) {
    let own = tree.profile.own_cost.total_ns;
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

/// Waiting is no part of the time that other shares are of.
fn of_wall(ns: u64, wall: u64) -> String {
    share(ns, wall).map_or_else(String::new, |share| format!("{} of wall", whole_percent(share)))
}

impl View<'_> {
    /// The least time of a call of these scopes, by the work that they declare.
    pub(super) fn scope_roof(&self, sum: &Sum<'_>) -> Option<RooflineLimit> {
        let calls = (sum.calls > 0).then_some(sum.calls as f64)?;
        let per_call = |amount: u64| (amount > 0).then(|| amount as f64 / calls);
        let row = self.row_of(sum);
        let model = self.scope_model(row);
        // Layers take turns: what a scope reads was last read a whole pass ago. Work of no model reads its own again.
        let working_set = model.map_or(0.0, |model| model.weight_bytes as f64);
        // Scopes on several threads are timed by the sum of those; else the caller's time is that of all who help it.
        let threads = if sum.threads > 1 { Some(1) } else { self.threads(row) };
        let (flops, bytes, arithmetic) = (per_call(sum.flops), per_call(sum.bytes), compare::arithmetic(model));
        self.roof(&RowWork { flops, bytes, working_set, arithmetic, threads })
    }

    /// The model whose work a scope does: that of its row; of several the smallest, so that no share comes out too large.
    fn scope_model(&self, row: Option<&record::Row>) -> Option<&record::Model> {
        let is_of_none = |row: &record::Row| row.tokens.is_none() && (row.flops.is_some() || row.bytes.is_some());
        match row {
            Some(row) if row.model.is_some() => self.model(row),
            Some(row) if is_of_none(row) => None,
            _ => self.run.models.iter().min_by_key(|model| model.weight_bytes),
        }
    }

    /// The share of that limit which they reach, and the limit.
    pub(super) fn scope_share(&self, sum: &Sum<'_>) -> Option<(f64, RooflineLimit)> {
        let (roof, time) = (self.scope_roof(sum)?, sum.work_s()?);
        Some((roof.seconds / time, roof))
    }
}

fn work(view: &View<'_>, tree: &Tree<'_>) -> Option<Section> {
    let headings = ["scope", "total", "arithmetic", "bytes", "tokens", "per byte", "limit", "by"];
    let mut table = Table::new(&headings).least_important(&["per byte", "tokens"]);
    let declared = |sum: &&Sum<'_>| sum.flops | sum.bytes | sum.tokens != 0;
    let (mut shares, mut has_whole_numbers): (Vec<f64>, bool) = (Vec::new(), false);
    for sum in tree.names.iter().filter(declared).take(view.top) {
        let time = sum.total_ns as f64 * 1e-9;
        let cell = |amount: u64, unit: &str| match amount as f64 / time {
            value if amount > 0 && value.is_finite() => estimate(sum, rate(value, unit)),
            _ => String::new(),
        };
        let intensity = (sum.flops > 0 && sum.bytes > 0).then(|| digits(sum.flops as f64 / sum.bytes as f64));
        let limit = view.scope_share(sum);
        shares.extend(limit.as_ref().map(|(share, _)| *share));
        let unit = operations(compare::arithmetic(view.scope_model(view.row_of(sum))).name());
        has_whole_numbers |= unit == "OP/s" && sum.flops > 0;
        table.row([
            sum.name.to_owned(),
            sum.total().text(),
            cell(sum.flops, unit),
            cell(sum.bytes, "B/s"),
            if sum.tokens > 0 && time > 0.0 {
                estimate(sum, tokens_per_s(sum.tokens as f64 / time))
            } else {
                String::new()
            },
            intensity.unwrap_or_default(),
            limit.as_ref().map_or_else(String::new, |(share, _)| whole_percent(*share)),
            limit.map_or_else(String::new, |(_, roof)| roof.cell()),
        ]);
    }
    // What a scope of a quantised model multiplies is not recorded: most of it is in whole numbers.
    let of_f32 = if has_whole_numbers { "; OP/s: of a quantised model, those in f32 with them" } else { "" };
    let several = if tree.thread_count() > 1 { "; of scopes on several threads: for each" } else { "" };
    let explanation = format!(
        "declared work by the time of the scopes, in the mean over all calls, where FIGURES and ROWS have medians: they differ \
         when the machine was disturbed; per byte: operations{of_f32}{}{several}{}",
        view.legend(shares.into_iter()),
        marks(&table)
    );
    (!table.is_empty()).then(|| Section::new("RATES", &explanation).with(Block::Table(table)))
}

fn allocators(view: &View<'_>, tree: &Tree<'_>) -> Section {
    if !tree.counts_allocations() {
        return Section::new("TOP ALLOCATORS", &format!("{}: nothing counted allocations", not_measured()));
    }
    let mut by_bytes: Vec<&Sum<'_>> =
        tree.names.iter().filter(|sum| sum.allocs.is_some_and(|own| own.allocs | own.alloc_bytes > 0)).collect();
    by_bytes.sort_by_key(|sum| Reverse(sum.allocs.map_or(0, |own| own.alloc_bytes)));
    let headings = ["scope", "bytes", "allocs", "frees", "allocs/call", "bytes/call", "with callees", "peak live"];
    let mut table = Table::new(&headings).least_important(&["frees", "allocs/call"]);
    // Other profilers count bytes alone.
    let known = |text: String| if view.run.imported.is_some() { String::new() } else { text };
    for sum in by_bytes.iter().take(view.top) {
        let (own, calls) = (sum.allocs.unwrap_or_default(), sum.calls.max(1) as f64);
        table.row([
            sum.name.to_owned(),
            bytes(own.alloc_bytes),
            known(count(own.allocs)),
            known(count(own.frees)),
            known(mean_count(own.allocs as f64 / calls)),
            mean_bytes(own.alloc_bytes as f64 / calls),
            sum.allocs_total.map_or_else(String::new, |total| bytes(total.alloc_bytes)),
            known(bytes(sum.peak_live_bytes)),
        ]);
    }
    let mut row = |name: String, sum: record::Allocations| {
        table.row([name, bytes(sum.alloc_bytes), known(count(sum.allocs)), known(count(sum.frees))]);
    };
    let rest: Vec<record::Allocations> = by_bytes.iter().skip(view.top).filter_map(|sum| sum.allocs).collect();
    if !rest.is_empty() {
        row(format!("({})", plural(rest.len() as u64, "more scope")), summed(&rest));
    }
    if view.run.imported.is_none() {
        row("(outside any scope)".to_owned(), tree.profile.outside_allocs.unwrap_or_default());
    }
    let mut all: Vec<record::Allocations> = by_bytes.iter().filter_map(|sum| sum.allocs).collect();
    all.extend(tree.profile.outside_allocs);
    row("= all".to_owned(), summed(&all));
    let explanation = "by bytes that the scope itself allocates; peak live: the most at a time above its entry";
    Section::new("TOP ALLOCATORS", explanation).with(Block::Table(table))
}

fn summed(all: &[record::Allocations]) -> record::Allocations {
    let sum = |of: fn(&record::Allocations) -> u64| sum_of(all.iter().map(of));
    record::Allocations {
        allocs: sum(|one| one.allocs),
        alloc_bytes: sum(|one| one.alloc_bytes),
        frees: sum(|one| one.frees),
        free_bytes: sum(|one| one.free_bytes),
        reallocs: sum(|one| one.reallocs),
    }
}

fn most_called(view: &View<'_>, tree: &Tree<'_>) -> Section {
    let mut by_calls: Vec<&Sum<'_>> = tree.names.iter().collect();
    by_calls.sort_by_key(|sum| Reverse(sum.calls));
    let mut table = Table::new(&["scope", "calls", "timed", "mean", "fastest", "total"]);
    for sum in by_calls.iter().take(view.top) {
        table.row([
            sum.name.to_owned(),
            count(sum.calls),
            if sum.is_sampled { count(sum.timed_calls()) } else { "all".to_owned() },
            mean(sum),
            sum.min_ns().filter(|_| !sum.is_future()).map_or_else(|| "-".to_owned(), nanos),
            sum.total().text(),
        ]);
    }
    let explanation = format!("calls are exact, also where only some were timed{}", marks(&table));
    Section::new("MOST CALLED", &explanation).with(Block::Table(table))
}

/// Futures: busy while they are polled, and waiting between.
fn futures(view: &View<'_>, tree: &Tree<'_>) -> Option<Section> {
    let mut table = Table::new(&["scope", "calls", "polls", "busy", "elapsed", "waiting"]);
    for sum in tree.names.iter().filter(|sum| sum.elapsed_ns() > 0).take(view.top) {
        let elapsed = sum.elapsed_ns();
        table.row([
            sum.name.to_owned(),
            count(sum.calls),
            count(sum.polls()),
            sum.total().text(),
            nanos(elapsed),
            part(elapsed.saturating_sub(sum.total_ns), elapsed),
        ]);
    }
    let explanation =
        format!("busy: being polled; elapsed: from first poll to last, summed over the calls{}", marks(&table));
    (!table.is_empty()).then(|| Section::new("FUTURES", &explanation).with(Block::Table(table)))
}

fn threads(view: &View<'_>, tree: &Tree<'_>) -> Section {
    let headings = ["thread", "state", "wall", "in scopes", "share", "waiting", "profiler", "calls", "allocs", "bytes"];
    let mut table = Table::new(&headings).least_important(&["profiler", "state"]);
    let mut by_time: Vec<&record::Thread> = tree.profile.threads.iter().collect();
    by_time.sort_by_key(|thread| Reverse(thread.in_scopes_ns));
    let counted = tree.counts_allocations();
    for thread in by_time.iter().take(view.top) {
        let name = match (&thread.name, thread.count) {
            (_, 2..) => format!("({} ended threads)", count(thread.count)),
            (Some(name), _) => name.clone(),
            (None, _) => format!("thread {}", thread.id),
        };
        let state = if thread.is_alive { "running" } else { "ended" };
        table.row(thread_cells(name, state, thread, counted));
    }
    let is_waiting_known = by_time.iter().any(|thread| thread.waiting_ns.is_some());
    if is_waiting_known && by_time.len() > 1 {
        let all = by_time.iter().fold(record::Thread::default(), |sum, thread| both(sum, thread));
        table.row(thread_cells("= all threads".to_owned(), "", &all, counted));
    }
    let mut explanation =
        "wall: from the thread's first scope to its end, or to the end of the run; threads that help a kernel \
                           open no scopes: their work is in the scope that waits for it"
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

fn thread_cells(name: String, state: &str, thread: &record::Thread, counted: bool) -> [String; 10] {
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

fn both(sum: record::Thread, thread: &record::Thread) -> record::Thread {
    let waiting_ns = match (sum.waiting_ns, thread.waiting_ns) {
        (Some(one), Some(other)) => Some(one.saturating_add(other)),
        (one, other) => one.or(other),
    };
    record::Thread {
        wall_ns: sum.wall_ns.saturating_add(thread.wall_ns),
        in_scopes_ns: sum.in_scopes_ns.saturating_add(thread.in_scopes_ns),
        own_cost_ns: sum.own_cost_ns.saturating_add(thread.own_cost_ns),
        waiting_ns,
        calls: sum.calls.saturating_add(thread.calls),
        allocs: sum.allocs.saturating_add(thread.allocs),
        alloc_bytes: sum.alloc_bytes.saturating_add(thread.alloc_bytes),
        ..sum
    }
}
