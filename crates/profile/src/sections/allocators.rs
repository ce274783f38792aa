//! Scopes by the bytes that they allocate.

use std::cmp::Reverse;

use crate::document::{Block, Section, Table, not_measured};
use crate::units::{bytes, count, mean_bytes, mean_count, plural};
use crate::view::ProfileView;
use crate::{Allocations, ScopeSum};

pub(super) fn section(view: &ProfileView<'_>) -> Section {
    let tree = view.tree;
    if !tree.counts_allocations() {
        let how = "the program counts no allocations (Rust: hotloop::Allocator, C: hotloop_malloc.c)";
        return Section::new("TOP ALLOCATORS", &format!("{}: {how}", not_measured()));
    }
    let mut by_bytes: Vec<(&ScopeSum<'_>, Allocations)> = tree
        .names
        .iter()
        .filter_map(|sum| Some((sum, sum.allocs.filter(|own| own.allocs | own.alloc_bytes > 0)?)))
        .collect();
    by_bytes.sort_by_key(|(_, own)| Reverse(own.alloc_bytes));
    let headings = ["scope", "bytes", "allocs", "frees", "allocs/call", "bytes/call", "with callees", "peak live"];
    let mut table = Table::new(&headings).least_important(&["frees", "allocs/call"]);
    // Other profilers count bytes alone.
    let is_imported = view.context.is_imported();
    let known = |text: String| if is_imported { String::new() } else { text };
    for (sum, own) in by_bytes.iter().take(view.top) {
        let calls = sum.calls.max(1) as f64;
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
    let mut row = |name: String, sum: Allocations| {
        table.row([name, bytes(sum.alloc_bytes), known(count(sum.allocs)), known(count(sum.frees))]);
    };
    let all = by_bytes.iter().map(|(_, own)| own);
    if by_bytes.len() > view.top {
        let hidden = (by_bytes.len() - view.top) as u64;
        row(format!("({})", plural(hidden, "more scope")), summed(all.clone().skip(view.top)));
    }
    let outside = tree.profile.outside_allocs;
    if !is_imported {
        row("(outside any scope)".to_owned(), outside.unwrap_or_default());
    }
    row("= all".to_owned(), summed(all.chain(&outside)));
    let explanation = "by bytes that the scope itself allocates; peak live: the most at a time above its entry";
    Section::new("TOP ALLOCATORS", explanation).with(Block::Table(table))
}

fn summed<'a>(all: impl Iterator<Item = &'a Allocations>) -> Allocations {
    all.fold(Allocations::default(), |mut sum, more| {
        sum.add(more);
        sum
    })
}
