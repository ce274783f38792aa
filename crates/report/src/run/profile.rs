//! Where the time and the memory went, by scope.

use std::cmp::Reverse;

use super::call_tree;
use super::document::{Block, Section, Table, not_measured};
use super::limits::{Arithmetic, InWords as _, Roof, Work, operations};
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

/// Times of sampled scopes are estimates, and marked as such.
pub(super) fn estimate(sum: &Sum<'_>, value: String) -> String {
    tilde(sum.is_sampled, value)
}

/// The time of its own code: what is left of a total beside estimated parts is an estimate too.
pub(super) fn own(sum: &Sum<'_>) -> String {
    tilde(sum.is_self_estimated, nanos(sum.self_ns))
}

pub(super) fn tilde(is_estimate: bool, value: String) -> String {
    if is_estimate { format!("~{value}") } else { value }
}

fn percentile(sum: &Sum<'_>, q: f64) -> String {
    match sum.percentile(q).filter(|_| !sum.is_future()) {
        None => "-".to_owned(),
        Some((ns, true)) => nanos(ns),
        Some((ns, false)) => format!("~{}", nanos(ns)),
    }
}

pub(super) fn mean(sum: &Sum<'_>) -> String {
    sum.mean_s().map_or_else(|| "-".to_owned(), |mean| estimate(sum, seconds(mean)))
}

fn hot_paths(view: &View<'_>, tree: &Tree<'_>) -> Section {
    let wall = view.wall_ns();
    let headings = ["scope", "self", "% wall", "total", "% wall", "calls", "mean", "p50", "p99", "max"];
    let mut table = Table::new(&headings).least_important(&["max", "p50", "p99"]);
    let mut by_self: Vec<&Sum<'_>> = tree.names.iter().collect();
    by_self.sort_by_key(|sum| Reverse(sum.self_ns));
    for sum in by_self.iter().take(view.top) {
        table.row([
            sum.name.to_owned(),
            own(sum),
            part(sum.self_ns, wall),
            estimate(sum, nanos(sum.total_ns)),
            part(sum.total_ns, wall),
            count(sum.calls),
            mean(sum),
            percentile(sum, 0.5),
            percentile(sum, 0.99),
            sum.max_ns().filter(|_| !sum.is_future()).map_or_else(|| "-".to_owned(), nanos),
        ]);
    }
    if by_self.len() > view.top {
        let rest = sum_of(by_self[view.top..].iter().map(|sum| sum.self_ns));
        let name = format!("({})", plural((by_self.len() - view.top) as u64, "more scope"));
        let is_estimate = by_self[view.top..].iter().any(|sum| sum.is_self_estimated);
        table.row([name, tilde(is_estimate, nanos(rest)), part(rest, wall)]);
    }
    remainder(&mut table, tree, wall);
    Section::new("HOT PATHS", &explanation(tree)).with(Block::Table(table))
}

fn explanation(tree: &Tree<'_>) -> String {
    let mut text =
        "by self time: where the time is spent. self: without the scopes that it calls; total: with them; ~: estimated, as \
         some calls were counted and not timed, there or one step below; names: without modules, where that is clear"
            .to_owned();
    if tree.thread_count() > 1 {
        text.push_str(
            ". Times are summed over threads, so that percentages of the wall time can add up to more than 100",
        );
    }
    if tree.has_bystanders() {
        text.push_str(". Idle time of threads that were in scopes for less than 1 % of the run is left out");
    }
    text
}

/// What is in no scope, so that the parts sum to the whole.
pub(super) fn remainder(table: &mut Table, tree: &Tree<'_>, wall: u64) {
    let own = tree.profile.own_cost.total_ns;
    let mut row = |name: String, ns: u64| table.row([name, nanos(ns), part(ns, wall)]);
    row("(idle or in no scope)".to_owned(), tree.idle_ns());
    // What the profiler of another program cost is not known.
    if tree.profile.clock.source != "unknown" {
        row("(the profiler itself)".to_owned(), own);
    }
    let (accounted, whole) = (tree.accounted_ns(), tree.threads_wall_ns());
    if whole > accounted && share(whole - accounted, whole).is_some_and(|part| part > SMALL) {
        row("(not accounted for)".to_owned(), whole - accounted);
    }
    let sum = match share(whole.abs_diff(accounted), whole) {
        Some(part) if part > SMALL => accounted.max(whole),
        _ => accounted,
    };
    let threads = tree.thread_count();
    row(if threads > 1 { format!("= the time of {threads} threads") } else { "= the run".to_owned() }, sum);
}

impl View<'_> {
    /// The least time of a call of these scopes, by the work that they declare.
    pub(super) fn scope_roof(&self, sum: &Sum<'_>) -> Option<Roof> {
        let calls = (sum.calls > 0).then_some(sum.calls as f64)?;
        let per_call = |amount: u64| (amount > 0).then(|| amount as f64 / calls);
        let row = self.row_of(sum);
        let model = self.scope_model(row);
        // Layers take turns: what a scope reads was last read a whole pass ago. Work of no model reads its own again.
        let working_set = model.map_or(0.0, |model| model.weight_bytes as f64);
        // Scopes on several threads are timed by the sum of those; else the caller's time is that of all who help it.
        let threads = if sum.threads > 1 { Some(1) } else { self.threads(row) };
        let (flops, bytes, arithmetic) = (per_call(sum.flops), per_call(sum.bytes), Arithmetic::of(model));
        self.roof(&Work { flops, bytes, working_set, arithmetic, threads })
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
    pub(super) fn scope_share(&self, sum: &Sum<'_>) -> Option<(f64, Roof)> {
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
        let unit = operations(Arithmetic::of(view.scope_model(view.row_of(sum))).name());
        has_whole_numbers |= unit == "OP/s" && sum.flops > 0;
        table.row([
            sum.name.to_owned(),
            estimate(sum, nanos(sum.total_ns)),
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
         when the machine was disturbed; per byte: operations{of_f32}{}{several}",
        view.legend(shares.into_iter())
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
            estimate(sum, nanos(sum.total_ns)),
        ]);
    }
    Section::new("MOST CALLED", "calls are exact, also where only some were timed").with(Block::Table(table))
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
            estimate(sum, nanos(sum.total_ns)),
            nanos(elapsed),
            part(elapsed.saturating_sub(sum.total_ns), elapsed),
        ]);
    }
    let explanation = "busy: being polled; elapsed: from first poll to last, summed over the calls";
    (!table.is_empty()).then(|| Section::new("FUTURES", explanation).with(Block::Table(table)))
}

fn threads(view: &View<'_>, tree: &Tree<'_>) -> Section {
    let headings = ["thread", "state", "wall", "in scopes", "share", "profiler", "calls", "allocs", "bytes"];
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
        table.row([
            name,
            if thread.is_alive { "running" } else { "ended" }.to_owned(),
            nanos(thread.wall_ns),
            nanos(thread.in_scopes_ns),
            part(thread.in_scopes_ns, thread.wall_ns),
            nanos(thread.own_cost_ns),
            count(thread.calls),
            if counted { count(thread.allocs) } else { String::new() },
            if counted { bytes(thread.alloc_bytes) } else { String::new() },
        ]);
    }
    let explanation = "wall: from the thread's first scope to its end, or to the end of the run; threads that help a kernel \
                       open no scopes: their work is in the scope that waits for it";
    let mut section = Section::new("THREADS", explanation).with(Block::Table(table));
    let hidden = sum_of(by_time.iter().skip(view.top).map(|thread| thread.count));
    if hidden > 0 {
        section.text(format!("({})", plural(hidden, "more thread")));
    }
    section
}
