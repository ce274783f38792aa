//! Who calls whom, and how the members of an indexed family differ.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::document::{Block, Section, Table};
use super::profile::{SMALL, estimate, mean, part, remainder};
use super::tree::{Family, Member, Tree};
use super::view::View;
use crate::units::{bytes, count, nanos, plural, share};

/// Rows of the call tree, and of indices, for each row of a ranking.
const TREE_ROWS: usize = 4;
/// Steps that stand beside each other in the table by index.
const STEPS: usize = 7;

pub(super) fn section(view: &View<'_>, tree: &Tree<'_>) -> Section {
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
                sum.name.to_owned(),
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
pub(super) fn by_index(view: &View<'_>, tree: &Tree<'_>, family: &Family<'_>) -> Section {
    let mut sums: HashMap<usize, u64> = HashMap::new();
    for (name, ns) in family.members.values().flat_map(|member| &member.steps) {
        *sums.entry(*name).or_default() += ns;
    }
    let mut steps: Vec<(usize, u64)> = sums.into_iter().collect();
    steps.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| tree.name(a.0).cmp(tree.name(b.0))));
    let hidden = steps.len().saturating_sub(STEPS);
    steps.truncate(STEPS);
    let mut headings = vec![family.name, "calls", "total"];
    headings.extend(steps.iter().map(|(name, _)| tree.name(*name)));
    headings.extend((hidden > 0).then_some("others"));
    headings.extend((!steps.is_empty()).then_some("self"));
    let mut table = Table::new(&headings);
    let line = |name: String, member: &Member| {
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
