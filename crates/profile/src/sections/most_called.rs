//! Scopes by calls, and futures by how long they waited.

use std::cmp::Reverse;

use super::cells::{longest_timed, mean, part, timed_percentile};
use super::marks;
use crate::ScopeSum;
use crate::document::{Block, Section, Table};
use crate::units::{count, nanos};
use crate::view::ProfileView;

pub(super) fn section(view: &ProfileView<'_>) -> Section {
    let mut by_calls: Vec<&ScopeSum<'_>> = view.tree.names.iter().collect();
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
pub(super) fn futures(view: &ProfileView<'_>) -> Option<Section> {
    let headings = ["scope", "calls", "polls", "busy", "elapsed", "waiting", "poll p50", "poll p99", "longest poll"];
    let mut table = Table::new(&headings).least_important(&["poll p50", "poll p99", "longest poll"]);
    for sum in view.tree.names.iter().filter(|sum| sum.polls() > 0 && sum.elapsed_ns > 0).take(view.top) {
        table.row([
            sum.name.to_owned(),
            count(sum.calls),
            count(sum.polls()),
            sum.total().text(),
            nanos(sum.elapsed_ns),
            part(sum.elapsed_ns.saturating_sub(sum.total_ns), sum.elapsed_ns),
            timed_percentile(sum, 0.5),
            timed_percentile(sum, 0.99),
            longest_timed(sum),
        ]);
    }
    let explanation =
        format!("busy: being polled; elapsed: from first poll to last, summed over the calls{}", marks(&table));
    (!table.is_empty()).then(|| Section::new("FUTURES", &explanation).with(Block::Table(table)))
}
