//! Who calls whom.

use std::cmp::Reverse;

use super::cells::{mean, part, remainder};
use super::{SMALL, TREE_ROWS, marks};
use crate::document::{Block, Section, Table};
use crate::units::{bytes, count, plural, share, whole_percent};
use crate::view::ProfileView;
use crate::{Allocations, CallTree, TimeEstimate};

/// The place of the column with shares of limits.
const LIMIT: usize = 7;

pub(super) fn section(view: &ProfileView<'_>) -> Section {
    let tree = view.tree;
    let whole = tree.on_cpu_ns();
    let shown = shown_paths(tree, whole, view.top.saturating_mul(TREE_ROWS));
    let headings = ["scope", "total", "total %", "% parent", "self", "calls", "mean", "limit", "allocs", "bytes"];
    let mut table = Table::new(&headings).least_important(&["allocs", "bytes", "mean"]);
    let roots: Vec<usize> = (0..tree.paths.len()).filter(|place| tree.paths[*place].parent.is_none()).collect();
    let mut pending: Vec<(usize, Row)> = entries(tree, &roots, &shown).into_iter().rev().map(|row| (0, row)).collect();
    while let Some((depth, row)) = pending.pop() {
        table.row_at(depth, cells(view, &row));
        if let Row::Path(place) = row {
            let below = entries(tree, &tree.paths[place].children, &shown).into_iter().rev();
            pending.extend(below.map(|row| (depth + 1, row)));
        }
    }
    remainder(&mut table, tree);
    let limit = match table.used_columns().contains(&LIMIT) {
        true => {
            "; limit: the share of what the machine can do, by the declared work; RATES has it for all callers together"
        }
        false => "",
    };
    let explanation = format!(
        "who calls whom; total = self + the rows one step to the right; scopes that differ only by index are one row; total %: of \
         {}{}{limit}",
        tree.whole(),
        marks(&table)
    );
    Section::new("CALL TREE", &explanation).with(Block::Table(table))
}

/// A row of the call tree.
enum Row {
    Path(usize),
    /// Siblings that have no row of their own.
    Rest {
        parent: Option<usize>,
        count: u64,
        total: TimeEstimate,
        calls: u64,
    },
}

/// The longest paths, as many as have room; none without the one above it.
fn shown_paths(tree: &CallTree<'_>, whole: u64, most: usize) -> Vec<bool> {
    let mut longest: Vec<usize> = (0..tree.paths.len()).collect();
    longest.sort_by_key(|place| Reverse(tree.paths[*place].sum.total_ns));
    let mut shown = vec![false; tree.paths.len()];
    for place in longest.into_iter().take(most) {
        let path = &tree.paths[place];
        let is_small = share(path.sum.total_ns, whole).is_some_and(|part| part < SMALL);
        shown[place] = path.parent.is_none_or(|parent| shown[parent] && !is_small);
    }
    shown
}

fn entries(tree: &CallTree<'_>, places: &[usize], shown: &[bool]) -> Vec<Row> {
    let mut rows: Vec<Row> = places.iter().filter(|place| shown[**place]).map(|place| Row::Path(*place)).collect();
    let hidden = || places.iter().filter(|place| !shown[**place]).map(|place| &tree.paths[*place]);
    if let Some(first) = hidden().next() {
        let (total, calls) = hidden().fold((TimeEstimate::default(), 0_u64), |(total, calls), path| {
            (total.plus(path.sum.total()), path.sum.calls.saturating_add(calls))
        });
        rows.push(Row::Rest { parent: first.parent, count: hidden().count() as u64, total, calls });
    }
    rows
}

fn cells(view: &ProfileView<'_>, row: &Row) -> Vec<String> {
    let tree = view.tree;
    let whole = tree.on_cpu_ns();
    let of_parent = |ns: u64, parent: Option<usize>| {
        parent.map_or_else(String::new, |parent| part(ns, tree.paths[parent].sum.total_ns))
    };
    match row {
        Row::Rest { parent, count: number, total, calls } => vec![
            format!("({})", plural(*number, "more scope")),
            total.text(),
            total.percent_of(whole),
            of_parent(total.ns, *parent),
            String::new(),
            count(*calls),
        ],
        Row::Path(place) => {
            let path = &tree.paths[*place];
            let sum = &path.sum;
            let allocs = |cell: fn(&Allocations) -> String| sum.allocs_total.as_ref().map_or_else(String::new, cell);
            vec![
                name_beside(tree, *place).to_owned(),
                sum.total().text(),
                sum.total().percent_of(whole),
                of_parent(sum.total_ns, path.parent),
                sum.own().text(),
                count(sum.calls),
                mean(sum),
                view.context.limit(sum).map_or_else(String::new, |limit| whole_percent(limit.share)),
                allocs(|total| count(total.allocs)),
                allocs(|total| bytes(total.alloc_bytes)),
            ]
        }
    }
}

/// A name without modules, where that is clear from its place: elsewhere another scope may have the same.
fn name_beside<'a>(tree: &CallTree<'a>, place: usize) -> &'a str {
    let path = &tree.paths[place];
    let own = path.sum.last_name();
    let is_same = |other: &usize| *other != place && tree.paths[*other].sum.last_name() == own;
    let taken = match path.parent {
        Some(parent) => tree.paths[parent].children.iter().any(is_same),
        None => (0..tree.paths.len()).filter(|other| tree.paths[*other].parent.is_none()).any(|other| is_same(&other)),
    };
    if taken || path.sum.full_name.is_empty() { path.sum.name } else { own }
}
