//! Where the time and the memory went, by scope.

use std::cmp::Reverse;

use super::document::{Block, Section, Table, not_measured};
use super::limits::{Arithmetic, Roof, Work};
use super::tree::{Family, Member, Sum, Tree};
use super::view::View;
use crate::units::{
    bytes, count, digits, mean_bytes, mean_count, nanos, percent, plural, rate, seconds, share, whole_percent,
};

/// Rows of the call tree, and of indices, for each row of a ranking.
const TREE_ROWS: usize = 4;
/// Below this share of the wall time a path is not worth a row of its own.
const SMALL: f64 = 0.001;
/// Steps that stand beside each other in the table by index.
const STEPS: usize = 7;
/// Families that get a table by index.
const FAMILIES: usize = 2;

pub(super) fn sections(view: &View<'_>) -> Vec<Section> {
    let Some(tree) = view.tree.as_ref().filter(|tree| !tree.names.is_empty()) else { return Vec::new() };
    let mut sections = vec![hot_paths(view, tree)];
    sections.extend(work(view, tree));
    sections.push(allocators(view, tree));
    sections.push(most_called(view, tree));
    sections.push(call_tree(view, tree));
    sections.extend(tree.families.iter().take(FAMILIES).map(|family| by_index(view, tree, family)));
    sections.extend(futures(view, tree));
    sections.push(threads(view, tree));
    sections
}

fn part(ns: u64, whole: u64) -> String {
    share(ns, whole).map_or_else(String::new, percent)
}

/// Times of sampled scopes are estimates, and marked as such.
fn estimate(sum: &Sum<'_>, value: String) -> String {
    if sum.is_sampled { format!("~{value}") } else { value }
}

fn percentile(sum: &Sum<'_>, q: f64) -> String {
    match sum.percentile(q).filter(|_| !sum.is_future()) {
        None => "-".to_owned(),
        Some((ns, true)) => nanos(ns),
        Some((ns, false)) => format!("~{}", nanos(ns)),
    }
}

fn mean(sum: &Sum<'_>) -> String {
    sum.mean_s().map_or_else(|| "-".to_owned(), |mean| estimate(sum, seconds(mean)))
}

fn hot_paths(view: &View<'_>, tree: &Tree<'_>) -> Section {
    let wall = view.wall_ns();
    let mut table = Table::new(&["scope", "self", "% wall", "total", "% wall", "calls", "mean", "p50", "p99", "max"]);
    let mut by_self: Vec<&Sum<'_>> = tree.names.iter().collect();
    by_self.sort_by_key(|sum| Reverse(sum.self_ns));
    for sum in by_self.iter().take(view.top) {
        table.row([
            tree.short(sum.name).to_owned(),
            estimate(sum, nanos(sum.self_ns)),
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
        let rest = by_self[view.top..].iter().map(|sum| sum.self_ns).sum();
        let name = format!("({})", plural((by_self.len() - view.top) as u64, "more scope"));
        table.row([name, nanos(rest), part(rest, wall)]);
    }
    remainder(&mut table, tree, wall);
    Section::new("HOT PATHS", &explanation(tree)).with(Block::Table(table))
}

fn explanation(tree: &Tree<'_>) -> String {
    let mut text =
        "by self time: where the time is spent. self: without the scopes that it calls; total: with them; ~: estimated"
            .to_owned();
    if !tree.module.is_empty() {
        text.push_str(&format!(". All names begin with {}, which is left out", tree.module));
    }
    if tree.thread_count() > 1 {
        text.push_str(
            ". Times are summed over threads, so that percentages of the wall time can add up to more than 100",
        );
    }
    text
}

/// What is in no scope, so that the parts sum to the whole.
fn remainder(table: &mut Table, tree: &Tree<'_>, wall: u64) {
    let own = tree.profile.own_cost.total_ns;
    let mut row = |name: String, ns: u64| table.row([name, nanos(ns), part(ns, wall)]);
    row("(idle or in no scope)".to_owned(), tree.profile.outside_ns);
    row("(the profiler itself)".to_owned(), own);
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
        let smallest = self.run.models.iter().min_by_key(|model| model.weight_bytes);
        // Layers take turns: what a scope reads was last read a whole pass ago. Of several models the nearest level counts,
        // so that no share comes out too large.
        let working_set = smallest.map_or(0.0, |model| model.weight_bytes as f64);
        // Scopes on several threads are timed by the sum of those; else the caller's time is that of all who help it.
        let threads = if sum.threads > 1 { Some(1) } else { self.threads(None) };
        let (flops, bytes, arithmetic) = (per_call(sum.flops), per_call(sum.bytes), Arithmetic::of(smallest));
        self.roof(&Work { flops, bytes, working_set, arithmetic, threads })
    }

    /// The share of that limit which they reach, and the limit.
    pub(super) fn scope_share(&self, sum: &Sum<'_>) -> Option<(f64, Roof)> {
        let (roof, mean) = (self.scope_roof(sum)?, sum.mean_s().filter(|mean| *mean > 0.0)?);
        Some((roof.seconds / mean, roof))
    }
}

fn work(view: &View<'_>, tree: &Tree<'_>) -> Option<Section> {
    let mut table = Table::new(&["scope", "total", "FLOP/s", "bytes/s", "tokens/s", "FLOP/byte", "limit", "by"]);
    let declared = |sum: &&Sum<'_>| sum.flops | sum.bytes | sum.tokens != 0;
    for sum in tree.names.iter().filter(declared).take(view.top) {
        let time = sum.mean_s().unwrap_or(0.0) * sum.calls as f64;
        let cell = |amount: u64, unit: &str| match amount as f64 / time {
            value if amount > 0 && value.is_finite() => estimate(sum, rate(value, unit)),
            _ => String::new(),
        };
        let intensity = (sum.flops > 0 && sum.bytes > 0).then(|| digits(sum.flops as f64 / sum.bytes as f64));
        let limit = view.scope_share(sum);
        table.row([
            tree.short(sum.name).to_owned(),
            estimate(sum, nanos(sum.total_ns)),
            cell(sum.flops, "FLOP/s"),
            cell(sum.bytes, "B/s"),
            cell(sum.tokens, "tok/s"),
            intensity.unwrap_or_default(),
            limit.as_ref().map_or_else(String::new, |(share, _)| whole_percent(*share)),
            limit.map_or_else(String::new, |(_, roof)| roof.by),
        ]);
    }
    let explanation = "declared work by the time of the scopes; limit: the share of what the machine can do, and by what that is \
                       limited";
    (!table.is_empty()).then(|| Section::new("RATES", explanation).with(Block::Table(table)))
}

fn allocators(view: &View<'_>, tree: &Tree<'_>) -> Section {
    if !tree.counts_allocations() {
        return Section::new("TOP ALLOCATORS", &format!("{}: nothing counted allocations", not_measured()));
    }
    let mut by_bytes: Vec<&Sum<'_>> =
        tree.names.iter().filter(|sum| sum.allocs.is_some_and(|own| own.allocs > 0)).collect();
    by_bytes.sort_by_key(|sum| Reverse(sum.allocs.map_or(0, |own| own.alloc_bytes)));
    let headings = ["scope", "bytes", "allocs", "frees", "allocs/call", "bytes/call", "with callees", "peak live"];
    let mut table = Table::new(&headings);
    for sum in by_bytes.iter().take(view.top) {
        let (own, calls) = (sum.allocs.unwrap_or_default(), sum.calls.max(1) as f64);
        table.row([
            tree.short(sum.name).to_owned(),
            bytes(own.alloc_bytes),
            count(own.allocs),
            count(own.frees),
            mean_count(own.allocs as f64 / calls),
            mean_bytes(own.alloc_bytes as f64 / calls),
            sum.allocs_total.map_or_else(String::new, |total| bytes(total.alloc_bytes)),
            bytes(sum.peak_live_bytes),
        ]);
    }
    let mut row = |name: String, sum: record::Allocations| {
        table.row([name, bytes(sum.alloc_bytes), count(sum.allocs), count(sum.frees)]);
    };
    let rest: Vec<record::Allocations> = by_bytes.iter().skip(view.top).filter_map(|sum| sum.allocs).collect();
    if !rest.is_empty() {
        row(format!("({})", plural(rest.len() as u64, "more scope")), summed(&rest));
    }
    row("(outside any scope)".to_owned(), tree.profile.outside_allocs.unwrap_or_default());
    let mut all: Vec<record::Allocations> = by_bytes.iter().filter_map(|sum| sum.allocs).collect();
    all.extend(tree.profile.outside_allocs);
    row("= all".to_owned(), summed(&all));
    let explanation = "by bytes that the scope itself allocates; peak live: the most at a time above its entry";
    Section::new("TOP ALLOCATORS", explanation).with(Block::Table(table))
}

fn summed(all: &[record::Allocations]) -> record::Allocations {
    let sum = |of: fn(&record::Allocations) -> u64| all.iter().map(of).sum();
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
            tree.short(sum.name).to_owned(),
            count(sum.calls),
            if sum.is_sampled { count(sum.timed_calls()) } else { "all".to_owned() },
            mean(sum),
            sum.min_ns().filter(|_| !sum.is_future()).map_or_else(|| "-".to_owned(), nanos),
            estimate(sum, nanos(sum.total_ns)),
        ]);
    }
    Section::new("MOST CALLED", "calls are exact, also where only some were timed").with(Block::Table(table))
}

fn call_tree(view: &View<'_>, tree: &Tree<'_>) -> Section {
    let wall = view.wall_ns();
    let shown = shown_paths(tree, wall, view.top.saturating_mul(TREE_ROWS));
    let mut table = Table::new(&["scope", "total", "% wall", "% parent", "self", "calls", "mean", "allocs", "bytes"]);
    let roots: Vec<usize> = (0..tree.paths.len()).filter(|place| tree.paths[*place].parent.is_none()).collect();
    let mut pending: Vec<(usize, Row)> = entries(tree, &roots, &shown).into_iter().rev().map(|row| (0, row)).collect();
    while let Some((depth, row)) = pending.pop() {
        table.row_at(depth, cells(tree, &row, wall));
        if let Row::Path(place) = row {
            let below = entries(tree, &tree.paths[place].children, &shown).into_iter().rev();
            pending.extend(below.map(|row| (depth + 1, row)));
        }
    }
    remainder(&mut table, tree, wall);
    let explanation =
        "who calls whom; total = self + the rows one step to the right; scopes that differ only by index are one row";
    Section::new("CALL TREE", explanation).with(Block::Table(table))
}

/// A row of the call tree.
enum Row {
    Path(usize),
    /// Siblings that have no row of their own.
    Rest {
        parent: Option<usize>,
        count: u64,
        total_ns: u64,
        calls: u64,
    },
}

/// The longest paths, as many as have room; none without the one above it.
fn shown_paths(tree: &Tree<'_>, wall: u64, most: usize) -> Vec<bool> {
    let mut longest: Vec<usize> = (0..tree.paths.len()).collect();
    longest.sort_by_key(|place| Reverse(tree.paths[*place].sum.total_ns));
    let mut shown = vec![false; tree.paths.len()];
    for place in longest.into_iter().take(most) {
        let path = &tree.paths[place];
        let is_small = share(path.sum.total_ns, wall).is_some_and(|part| part < SMALL);
        shown[place] = path.parent.is_none_or(|parent| shown[parent] && !is_small);
    }
    shown
}

fn entries(tree: &Tree<'_>, places: &[usize], shown: &[bool]) -> Vec<Row> {
    let mut rows: Vec<Row> = places.iter().filter(|place| shown[**place]).map(|place| Row::Path(*place)).collect();
    let hidden = || places.iter().filter(|place| !shown[**place]).map(|place| &tree.paths[*place]);
    if let Some(first) = hidden().next() {
        let (total_ns, calls) =
            hidden().fold((0, 0), |(ns, calls), path| (ns + path.sum.total_ns, calls + path.sum.calls));
        rows.push(Row::Rest { parent: first.parent, count: hidden().count() as u64, total_ns, calls });
    }
    rows
}

fn cells(tree: &Tree<'_>, row: &Row, wall: u64) -> Vec<String> {
    let of_parent = |ns: u64, parent: Option<usize>| {
        parent.map_or_else(String::new, |parent| part(ns, tree.paths[parent].sum.total_ns))
    };
    match row {
        Row::Rest { parent, count: number, total_ns, calls } => vec![
            format!("({})", plural(*number, "more scope")),
            nanos(*total_ns),
            part(*total_ns, wall),
            of_parent(*total_ns, *parent),
            String::new(),
            count(*calls),
        ],
        Row::Path(place) => {
            let path = &tree.paths[*place];
            let sum = &path.sum;
            let allocs =
                |cell: fn(&record::Allocations) -> String| sum.allocs_total.as_ref().map_or_else(String::new, cell);
            vec![
                tree.short(sum.name).to_owned(),
                estimate(sum, nanos(sum.total_ns)),
                part(sum.total_ns, wall),
                of_parent(sum.total_ns, path.parent),
                estimate(sum, nanos(sum.self_ns)),
                count(sum.calls),
                mean(sum),
                allocs(|total| count(total.allocs)),
                allocs(|total| bytes(total.alloc_bytes)),
            ]
        }
    }
}

/// Index by step, such as the layers of a model by the steps of each.
fn by_index(view: &View<'_>, tree: &Tree<'_>, family: &Family<'_>) -> Section {
    let mut sums: std::collections::HashMap<&str, u64> = std::collections::HashMap::new();
    for (name, ns) in family.members.values().flat_map(|member| &member.steps) {
        *sums.entry(name).or_default() += ns;
    }
    let mut steps: Vec<(&str, u64)> = sums.into_iter().collect();
    steps.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    let hidden = steps.len().saturating_sub(STEPS);
    steps.truncate(STEPS);
    let mut headings = vec![tree.short(family.name), "calls", "total"];
    headings.extend(steps.iter().map(|(name, _)| tree.short(name)));
    headings.extend((hidden > 0).then_some("others"));
    headings.extend((!steps.is_empty()).then_some("self"));
    let mut table = Table::new(&headings);
    let line = |name: String, member: &Member<'_>| {
        let mut cells = vec![name, count(member.calls), nanos(member.total_ns)];
        let shown: Vec<u64> = steps.iter().map(|(name, _)| member.steps.get(name).copied().unwrap_or(0)).collect();
        let all: u64 = member.steps.values().sum();
        cells.extend(shown.iter().map(|ns| nanos(*ns)));
        cells.extend((hidden > 0).then(|| nanos(all - shown.iter().sum::<u64>())));
        cells.extend((!steps.is_empty()).then(|| nanos(member.self_ns)));
        cells
    };
    let most = view.top.saturating_mul(TREE_ROWS);
    for (index, member) in family.members.iter().take(most) {
        table.row(line(index.map_or_else(|| "(others)".to_owned(), |index| format!("[{index}]")), member));
    }
    if family.members.len() > most {
        let rest = family.members.values().skip(most).fold(Member::default(), Member::plus);
        table.row(line(format!("({} more)", count((family.members.len() - most) as u64)), &rest));
    }
    let all = family.members.values().fold(Member::default(), Member::plus);
    table.row(line("= all".to_owned(), &all));
    Section::new("BY INDEX", "scopes that carry an index, and the scopes below them; total = the steps + self")
        .with(Block::Table(table))
}

/// Futures: busy while they are polled, and waiting between.
fn futures(view: &View<'_>, tree: &Tree<'_>) -> Option<Section> {
    let mut table = Table::new(&["scope", "calls", "polls", "busy", "elapsed", "waiting"]);
    for sum in tree.names.iter().filter(|sum| sum.elapsed_ns() > 0).take(view.top) {
        let elapsed = sum.elapsed_ns();
        table.row([
            tree.short(sum.name).to_owned(),
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
    let mut table =
        Table::new(&["thread", "state", "wall", "in scopes", "share", "profiler", "calls", "allocs", "bytes"]);
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
    let explanation = "wall: from the thread's first scope to its end, or to the end of the run";
    let mut section = Section::new("THREADS", explanation).with(Block::Table(table));
    let hidden: u64 = by_time.iter().skip(view.top).map(|thread| thread.count).sum();
    if hidden > 0 {
        section.text(format!("({})", plural(hidden, "more thread")));
    }
    section
}
