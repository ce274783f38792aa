//! Scopes by self time.

use std::cmp::Reverse;

use super::cells::{longest, mean, percentile, remainder};
use super::marks;
use crate::document::{Block, Section, Table};
use crate::units::{count, plural};
use crate::view::ProfileView;
use crate::{CallTree, ScopeSum, TimeEstimate};

pub(super) fn section(view: &ProfileView<'_>) -> Section {
    let tree = view.tree;
    let whole = tree.on_cpu_ns();
    let headings = ["scope", "self", "self %", "total", "total %", "calls", "mean", "p50", "p99", "max"];
    let mut table = Table::new(&headings).least_important(&["total %", "max", "p50", "p99"]);
    let mut by_self: Vec<&ScopeSum<'_>> = tree.names.iter().collect();
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
        let rest = by_self[view.top..].iter().fold(TimeEstimate::default(), |rest, sum| rest.plus(sum.own()));
        let name = format!("({})", plural((by_self.len() - view.top) as u64, "more scope"));
        table.row([name, rest.text(), rest.percent_of(whole)]);
    }
    remainder(&mut table, tree);
    let explanation = explanation(tree, &table);
    Section::new("HOT PATHS", &explanation).with(Block::Table(table))
}

fn explanation(tree: &CallTree<'_>, table: &Table) -> String {
    let mut text = format!(
        "by self time: where the time is spent. self: without the scopes that it calls; total: with them; %: of {}{}; names: \
         module paths omitted where unambiguous",
        tree.whole(),
        marks(table)
    );
    if tree.waiting_ns().is_some() {
        text.push_str("; on a CPU: wall time minus waiting; waiting for a CPU: measured, in no scope's time");
    }
    if tree.thread_count() > 1 {
        text.push_str(". Times are summed over threads, so that percentages can add up to more than 100");
    }
    if tree.leaves_threads_out() {
        text.push_str(". Idle time of threads that were in scopes for less than 1 % of the run is left out");
    }
    text
}
