//! The sections of the report, in the order in which it prints them.

use std::fmt::Write;

use super::estimates::{self, Estimate, longest_text, on_cpu_ns, percentile_text, tilde};
use super::table::Table;
use super::units::{SMALL, bytes, count, mean_count, name, percent, plural, rate, share, short_time, time};
use crate::snapshot::{ScopeStats, Snapshot, ThreadStats};

const NAME_WIDTH: usize = 44;
/// Rows of the call tree for each row of a ranking.
const TREE_ROWS: usize = 4;

fn heading(text: &mut String, title: &str, explanation: &str) {
    let _ = writeln!(text, "\n{}", format!("{title}  {explanation}").trim_end());
}

/// A time of single calls. There is none before the first has ended; of futures only polls are timed, and they have a
/// section of their own.
fn call_time(scope: &ScopeStats, text: Option<String>) -> String {
    let is_known = scope.timed_calls > 0 && scope.polls <= scope.calls;
    text.filter(|_| is_known).unwrap_or_else(|| "-".to_owned())
}

fn percentile(scope: &ScopeStats, q: f64, ns: Option<u64>) -> Option<String> {
    ns.map(|ns| percentile_text(scope, q, ns))
}

fn thread_count(snapshot: &Snapshot) -> u64 {
    snapshot.threads.iter().map(|thread| thread.count).sum()
}

pub(super) fn head(text: &mut String, snapshot: &Snapshot, names: &[ScopeStats], module: &str) {
    let calls = names.iter().map(|scope| scope.calls).sum();
    let threads = thread_count(snapshot);
    let _ = writeln!(
        text,
        "HOTLOOP PROFILE  {} of wall time, {}, {}, {}",
        time(snapshot.wall_ns),
        plural(threads, "thread"),
        plural(names.len() as u64, "scope"),
        plural(calls, "call"),
    );
    text.push_str("  total: time in a scope and all that it calls; self: without the scopes that it calls.\n");
    let _ = writeln!(text, "  %: of {}{}", estimates::whole(snapshot), waiting_legend(snapshot));
    if let Some(marks) = estimates::marks(names) {
        let _ = writeln!(text, "  {marks}.");
    }
    if !module.is_empty() {
        let _ = writeln!(text, "  All names begin with {module}, which is left out.");
    }
    if threads > 1 {
        text.push_str("  Times are summed over threads, so that percentages can add up to more than 100.\n");
    }
}

fn waiting_legend(snapshot: &Snapshot) -> &'static str {
    match snapshot.waiting_ns {
        Some(_) => " (wall time minus waiting). Waiting for a CPU is measured, and in no scope's time.",
        None => ".",
    }
}

pub(super) fn hot_paths(text: &mut String, snapshot: &Snapshot, names: &[ScopeStats], n: usize) {
    heading(text, "HOT PATHS", "by self time: where the time is spent");
    let whole = on_cpu_ns(snapshot);
    let headings = ["scope", "self", "self %", "total", "total %", "calls", "mean", "min", "p50", "p90", "p99", "max"];
    let mut table = Table::new(&headings);
    let mut by_self: Vec<&ScopeStats> = names.iter().collect();
    by_self.sort_by_key(|scope| std::cmp::Reverse(scope.self_ns));
    for scope in by_self.iter().take(n) {
        let (own, total) = (Estimate::own(scope), Estimate::total(scope));
        table.row([
            name(&scope.name, NAME_WIDTH),
            own.text(),
            own.percent_of(whole),
            total.text(),
            total.percent_of(whole),
            count(scope.calls),
            tilde(scope, short_time(scope.mean_ns())),
            call_time(scope, Some(time(scope.min_ns))),
            call_time(scope, percentile(scope, 0.5, scope.p50_ns)),
            call_time(scope, percentile(scope, 0.9, scope.p90_ns)),
            call_time(scope, percentile(scope, 0.99, scope.p99_ns)),
            call_time(scope, Some(longest_text(scope))),
        ]);
    }
    let rest: u64 = by_self.iter().skip(n).map(|scope| scope.self_ns).sum();
    if names.len() > n {
        let label = format!("({})", plural((names.len() - n) as u64, "more scope"));
        table.row([label, time(rest), percent(share(rest, whole))]);
    }
    remainder(&mut table, snapshot, names);
    table.write_to(text);
}

/// What is in no scope, so that the parts sum to the whole.
fn remainder(table: &mut Table, snapshot: &Snapshot, names: &[ScopeStats]) {
    let whole = on_cpu_ns(snapshot);
    let mut row = |label: String, ns: u64| table.row([label, time(ns), percent(share(ns, whole))]);
    row("(idle or in no scope)".into(), snapshot.outside_ns);
    let own = snapshot.own_cost.total_ns;
    row("(the profiler itself)".into(), own);
    let on_cpu = names.iter().map(|scope| scope.self_ns).sum::<u64>() + snapshot.outside_ns + own;
    let threads = thread_count(snapshot);
    let all = if threads > 1 { format!("= the time of {threads} threads") } else { "= the run".to_owned() };
    let Some(waiting) = snapshot.waiting_ns else { return row(all, on_cpu) };
    row("= on a CPU".into(), on_cpu);
    let of_wall = format!("{} of wall", percent(share(waiting, on_cpu + waiting)));
    table.row(["(waiting for a CPU)".into(), time(waiting), of_wall]);
    table.row([all, time(on_cpu + waiting)]);
}

pub(super) fn work(text: &mut String, names: &[ScopeStats], n: usize) {
    let mut table = Table::new(&["scope", "total", "FLOP/s", "bytes/s", "tokens/s", "FLOP/byte"]);
    let declared = |scope: &&ScopeStats| scope.flops | scope.bytes | scope.tokens != 0;
    for scope in names.iter().filter(declared).take(n) {
        let intensity = (scope.flops > 0 && scope.bytes > 0).then(|| scope.flops as f64 / scope.bytes as f64);
        let cell = |value: Option<f64>, unit| value.map_or_else(String::new, |value| tilde(scope, rate(value, unit)));
        table.row([
            name(&scope.name, NAME_WIDTH),
            Estimate::total(scope).text(),
            cell(scope.gflops().map(|gflops| gflops * 1e9), "FLOP/s"),
            cell(scope.gbytes_per_s().map(|rate| rate * 1e9), "B/s"),
            cell(scope.tokens_per_s(), "tok/s"),
            intensity.map_or_else(String::new, |intensity| format!("{intensity:.2}")),
        ]);
    }
    if !table.is_empty() {
        heading(text, "WORK", "declared work by the time of the calling threads; several threads: per thread");
        table.write_to(text);
    }
}

pub(super) fn top_allocators(text: &mut String, snapshot: &Snapshot, names: &[ScopeStats], n: usize) {
    if !snapshot.allocations_counted {
        heading(
            text,
            "TOP ALLOCATORS",
            "not measured: nothing counts allocations (Rust: hotloop::Allocator, C: hotloop_malloc.c)",
        );
        return;
    }
    heading(
        text,
        "TOP ALLOCATORS",
        "by bytes that the scope itself allocates; peak: most live at once above its entry",
    );
    let mut by_bytes: Vec<&ScopeStats> = names.iter().filter(|scope| scope.allocs.alloc_bytes > 0).collect();
    by_bytes.sort_by_key(|scope| std::cmp::Reverse(scope.allocs.alloc_bytes));
    let mut table = Table::new(&[
        "scope",
        "bytes",
        "allocs",
        "reallocs",
        "frees",
        "freed",
        "allocs/call",
        "bytes/call",
        "with callees",
        "peak",
    ]);
    for scope in by_bytes.iter().take(n) {
        let calls = scope.calls.max(1);
        table.row([
            name(&scope.name, NAME_WIDTH),
            bytes(scope.allocs.alloc_bytes),
            count(scope.allocs.allocs),
            count(scope.allocs.reallocs),
            count(scope.allocs.frees),
            bytes(scope.allocs.free_bytes),
            mean_count(scope.allocs.allocs as f64 / calls as f64),
            bytes(scope.allocs.alloc_bytes / calls),
            bytes(scope.allocs_total.alloc_bytes),
            bytes(scope.peak_live_bytes),
        ]);
    }
    let outside = &snapshot.outside_allocs;
    table.row([
        "(outside any scope)".to_owned(),
        bytes(outside.alloc_bytes),
        count(outside.allocs),
        count(outside.reallocs),
        count(outside.frees),
        bytes(outside.free_bytes),
    ]);
    table.write_to(text);
    let none = names.iter().filter(|scope| scope.allocs_total == Default::default()).count();
    match none {
        0 => {}
        1 => text.push_str("  1 scope allocates nothing at all.\n"),
        n => {
            let _ = writeln!(text, "  {n} scopes allocate nothing at all.");
        }
    }
}

pub(super) fn most_called(text: &mut String, names: &[ScopeStats], n: usize) {
    heading(text, "MOST CALLED", "");
    let mut by_calls: Vec<&ScopeStats> = names.iter().collect();
    by_calls.sort_by_key(|scope| std::cmp::Reverse(scope.calls));
    let mut table = Table::new(&["scope", "calls", "total", "mean", "timed"]);
    for scope in by_calls.iter().take(n) {
        table.row([
            name(&scope.name, NAME_WIDTH),
            count(scope.calls),
            Estimate::total(scope).text(),
            tilde(scope, short_time(scope.mean_ns())),
            timed_part(scope),
        ]);
    }
    table.write_to(text);
}

/// How many of the calls were timed.
fn timed_part(scope: &ScopeStats) -> String {
    let entered = scope.polls.max(scope.calls);
    if entered == 0 {
        return "-".to_owned();
    }
    match entered / scope.timed_calls.max(1) {
        _ if !scope.is_sampled => "all".to_owned(),
        0 | 1 => percent(share(scope.timed_calls, entered)),
        n => format!("1 in {n}"),
    }
}

pub(super) fn call_tree(text: &mut String, snapshot: &Snapshot, n: usize) {
    heading(text, "CALL TREE", "who calls whom; scopes that differ only by index are one row");
    let scopes = snapshot.without_indices();
    let headings = ["scope", "total", "total %", "% parent", "self", "calls", "mean", "allocs", "bytes"];
    let mut table = Table::new(&headings);
    let whole = on_cpu_ns(snapshot);
    let (mut shown, mut hidden, most) = (0, 0, n.saturating_mul(TREE_ROWS));
    for scope in &scopes {
        if shown >= most || share(scope.total_ns, whole) < SMALL && scope.depth > 0 {
            hidden += 1;
            continue;
        }
        shown += 1;
        let of_parent = |parent: usize| percent(share(scope.total_ns, scopes[parent].total_ns));
        let indent = "  ".repeat(scope.depth.min(24));
        let allocs = |cell: String| if snapshot.allocations_counted { cell } else { String::new() };
        let width = NAME_WIDTH.saturating_sub(indent.len()).max(16);
        table.row([
            format!("{indent}{}", name(&scope.name, width)),
            Estimate::total(scope).text(),
            Estimate::total(scope).percent_of(whole),
            scope.parent.map_or_else(String::new, of_parent),
            Estimate::own(scope).text(),
            count(scope.calls),
            tilde(scope, short_time(scope.mean_ns())),
            allocs(count(scope.allocs_total.allocs)),
            allocs(bytes(scope.allocs_total.alloc_bytes)),
        ]);
    }
    table.write_to(text);
    if hidden > 0 {
        let _ = writeln!(text, "  ({} not shown: below {}, or beyond {most})", plural(hidden, "row"), percent(SMALL));
    }
}

/// For scopes with an index, how their indices differ.
pub(super) fn indices(text: &mut String, snapshot: &Snapshot, n: usize) {
    let families = snapshot.by_index();
    if families.is_empty() {
        return;
    }
    heading(text, "BY INDEX", "scopes that carry an index: is one of them slower than the others?");
    let mut table =
        Table::new(&["scope", "indices", "mean of all", "fastest", "its mean", "slowest", "its mean", "slowest/mean"]);
    for (family, members) in families.iter().take(n) {
        let calls: u64 = members.iter().map(|member| member.calls).sum();
        let total: u64 = members.iter().map(|member| member.total_ns).sum();
        let mean = total as f64 / calls.max(1) as f64;
        let by_mean = |a: &&ScopeStats, b: &&ScopeStats| a.mean_ns().total_cmp(&b.mean_ns());
        let kept = || members.iter().filter(|member| member.index.is_some());
        let (Some(fastest), Some(slowest)) = (kept().min_by(by_mean), kept().max_by(by_mean)) else { continue };
        let (least, most) = (Estimate::mean(fastest), Estimate::mean(slowest));
        // Which one is slow cannot be told where the intervals of the extremes overlap.
        let is_tie = least.ties_with(most);
        let index = |scope: &ScopeStats| match scope.index {
            Some(index) if !is_tie => format!("[{index}]"),
            _ => "-".to_owned(),
        };
        let others = if members.iter().any(|member| member.is_other_index) { "+" } else { "" };
        table.row([
            name(family, NAME_WIDTH),
            format!("{}{others}", kept().count()),
            short_time(mean),
            index(fastest),
            least.text(),
            index(slowest),
            most.text(),
            match is_tie {
                true => "within \u{b1}".to_owned(),
                false => format!("{:.2}", slowest.mean_ns() / mean.max(f64::MIN_POSITIVE)),
            },
        ]);
    }
    table.write_to(text);
}

pub(super) fn futures(text: &mut String, names: &[ScopeStats], n: usize) {
    let mut table =
        Table::new(&["scope", "calls", "polls", "busy", "elapsed", "waiting", "poll p50", "poll p99", "longest"]);
    for scope in names.iter().filter(|scope| scope.polls > 0).take(n) {
        table.row([
            name(&scope.name, NAME_WIDTH),
            count(scope.calls),
            count(scope.polls),
            Estimate::total(scope).text(),
            time(scope.elapsed_ns),
            percent(1.0 - share(scope.total_ns.min(scope.elapsed_ns), scope.elapsed_ns)),
            percentile(scope, 0.5, scope.p50_ns).unwrap_or_else(|| "-".to_owned()),
            percentile(scope, 0.99, scope.p99_ns).unwrap_or_else(|| "-".to_owned()),
            longest_text(scope),
        ]);
    }
    if !table.is_empty() {
        heading(text, "FUTURES", "busy: being polled; elapsed: first poll to last");
        table.write_to(text);
    }
}

pub(super) fn threads(text: &mut String, snapshot: &Snapshot, n: usize) {
    let waiting = match snapshot.waiting_ns {
        Some(_) => "; waiting: ready to run, but no CPU was free, measured; % of it: of wall minus waiting",
        None => "",
    };
    let wall = "wall: from its first scope, or from the start on the thread that started, to its end, or now";
    heading(text, "THREADS", &super::units::wrapped(&format!("{wall}{waiting}"), "\n  "));
    let mut threads = group_ended(&snapshot.threads);
    threads.sort_by_key(|thread| std::cmp::Reverse(thread.in_scopes_ns));
    let headings =
        ["thread", "state", "wall", "in scopes", "% of it", "waiting", "profiler", "calls", "allocs", "bytes"];
    let mut table = Table::new(&headings);
    for thread in threads.iter().take(n) {
        let state = if thread.is_alive { "running" } else { "ended" };
        table.row(thread_cells(snapshot, thread, thread_name(thread), state));
    }
    if snapshot.waiting_ns.is_some() && threads.len() > 1 {
        let all = threads.iter().cloned().reduce(both);
        table.row(all.iter().flat_map(|all| thread_cells(snapshot, all, "= all threads".to_owned(), "")));
    }
    let early = &snapshot.early_allocs;
    if early.allocs > 0 {
        let empty = || std::iter::repeat_n(String::new(), 7);
        let cells = [count(early.allocs), bytes(early.alloc_bytes)];
        table.row(std::iter::once("(before their first scope)".to_owned()).chain(empty()).chain(cells));
    }
    table.write_to(text);
    let rest: u64 = threads.iter().skip(n).map(|thread| thread.count).sum();
    if rest > 0 {
        let _ = writeln!(text, "  ({})", plural(rest, "more thread"));
    }
}

/// Threads that ended without a name tell nobody anything one by one.
fn group_ended(threads: &[ThreadStats]) -> Vec<ThreadStats> {
    let (nameless, mut kept): (Vec<ThreadStats>, Vec<ThreadStats>) =
        threads.iter().cloned().partition(|thread| !thread.is_alive && thread.name.is_none());
    kept.extend(nameless.into_iter().reduce(both));
    kept
}

fn both(mut sum: ThreadStats, thread: ThreadStats) -> ThreadStats {
    sum.count += thread.count;
    sum.calls += thread.calls;
    sum.wall_ns += thread.wall_ns;
    sum.in_scopes_ns += thread.in_scopes_ns;
    sum.own_cost_ns += thread.own_cost_ns;
    sum.waiting_ns = sum.waiting_ns.zip(thread.waiting_ns).map(|(one, other)| one + other);
    sum.cpu_ns = sum.cpu_ns.zip(thread.cpu_ns).map(|(one, other)| one + other);
    sum.allocs += thread.allocs;
    sum.alloc_bytes += thread.alloc_bytes;
    sum
}

fn thread_cells(snapshot: &Snapshot, thread: &ThreadStats, name: String, state: &str) -> [String; 10] {
    let allocs = |cell: String| if snapshot.allocations_counted { cell } else { String::new() };
    let on_cpu = thread.wall_ns.saturating_sub(thread.waiting_ns.unwrap_or(0));
    let waiting = |ns: u64| format!("{} ({})", time(ns), percent(share(ns, thread.wall_ns)));
    [
        name,
        state.to_owned(),
        time(thread.wall_ns),
        time(thread.in_scopes_ns),
        percent(share(thread.in_scopes_ns, on_cpu)),
        thread.waiting_ns.map_or_else(String::new, waiting),
        time(thread.own_cost_ns),
        count(thread.calls),
        allocs(count(thread.allocs)),
        allocs(bytes(thread.alloc_bytes)),
    ]
}

fn thread_name(thread: &ThreadStats) -> String {
    match (&thread.name, thread.count) {
        (_, 2..) => format!("({} ended threads)", count(thread.count)),
        (Some(given), _) => name(given, 28),
        (None, _) => format!("thread {}", thread.id),
    }
}
