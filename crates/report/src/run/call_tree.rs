//! Who calls whom, and how the members of an indexed family differ.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::document::{Block, Section, Table};
use super::estimates::{TimeEstimate, marks};
use super::profile::{SMALL, mean, remainder};
use profile::{CallTree, IndexSum, IndexedScope};
use super::view::View;
use crate::units::{bytes, count, plural, share, whole_percent};

/// Rows of the call tree, and of indices, for each row of a ranking.
const TREE_ROWS: usize = 4;
/// Steps that stand beside each other in the table by index.
const STEPS: usize = 7;
/// Characters that they have in a line of 120, beside name, calls, total, others and self.
const ROOM_FOR_STEPS: usize = 66;
/// Characters of a time: `~1.25 ms`, and with its error: `1.25 ms ±0.05`.
const WIDEST_TIME: usize = 8;
const WIDEST_ESTIMATE: usize = 13;
/// The place of the column with shares of limits.
const LIMIT: usize = 7;

pub(super) fn section(view: &View<'_>, tree: &CallTree<'_>) -> Section {
    let whole = view.on_cpu_ns();
    let shown = shown_paths(tree, whole, view.top.saturating_mul(TREE_ROWS));
    let headings = ["scope", "total", "total %", "% parent", "self", "calls", "mean", "limit", "allocs", "bytes"];
    let mut table = Table::new(&headings).least_important(&["allocs", "bytes", "mean"]);
    let roots: Vec<usize> = (0..tree.paths.len()).filter(|place| tree.paths[*place].parent.is_none()).collect();
    let mut pending: Vec<(usize, Row)> = entries(tree, &roots, &shown).into_iter().rev().map(|row| (0, row)).collect();
    while let Some((depth, row)) = pending.pop() {
        table.row_at(depth, cells(view, tree, &row));
        if let Row::Path(place) = row {
            let below = entries(tree, &tree.paths[place].children, &shown).into_iter().rev();
            pending.extend(below.map(|row| (depth + 1, row)));
        }
    }
    remainder(&mut table, tree, whole);
    let limit = match table.used_columns().contains(&LIMIT) {
        true => {
            "; limit: the share of what the machine can do, by the work that is declared, as RATES has it for all callers together"
        }
        false => "",
    };
    let explanation = format!(
        "who calls whom; total = self + the rows one step to the right; scopes that differ only by index are one row; total %: of \
         {}{}{limit}",
        view.whole(),
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

fn cells(view: &View<'_>, tree: &CallTree<'_>, row: &Row) -> Vec<String> {
    let whole = view.on_cpu_ns();
    let of_parent = |ns: u64, parent: Option<usize>| {
        parent.map_or_else(String::new, |parent| super::profile::part(ns, tree.paths[parent].sum.total_ns))
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
            let allocs =
                |cell: fn(&record::Allocations) -> String| sum.allocs_total.as_ref().map_or_else(String::new, cell);
            vec![
                name_beside(tree, *place).to_owned(),
                sum.total().text(),
                sum.total().percent_of(whole),
                of_parent(sum.total_ns, path.parent),
                sum.own().text(),
                count(sum.calls),
                mean(sum),
                view.scope_share(sum).map_or_else(String::new, |(share, _)| whole_percent(share)),
                allocs(|total| count(total.allocs)),
                allocs(|total| bytes(total.alloc_bytes)),
            ]
        }
    }
}

/// A name without modules, where that is clear from its place: elsewhere another scope may have the same.
fn name_beside<'a>(tree: &CallTree<'a>, place: usize) -> &'a str {
    let path = &tree.paths[place];
    let own = last(path.sum.name);
    let is_same = |other: &usize| *other != place && last(tree.paths[*other].sum.name) == own;
    let taken = match path.parent {
        Some(parent) => tree.paths[parent].children.iter().any(is_same),
        None => (0..tree.paths.len()).filter(|other| tree.paths[*other].parent.is_none()).any(|other| is_same(&other)),
    };
    if taken { path.sum.name } else { own }
}

/// What is behind the modules.
fn last(name: &str) -> &str {
    name.rsplit("::").next().unwrap_or(name)
}

/// Columns of the table by index: which steps have one.
struct Steps {
    shown: Vec<usize>,
    has_others: bool,
}

impl Steps {
    /// The longest, as many as fit in a line.
    fn of(tree: &CallTree<'_>, family: &IndexedScope<'_>) -> Self {
        let mut sums: HashMap<usize, TimeEstimate> = HashMap::new();
        for (name, time) in family.indices.values().flat_map(|member| &member.steps) {
            let sum = sums.entry(*name).or_default();
            *sum = sum.plus(*time);
        }
        let mut steps: Vec<(usize, TimeEstimate)> = sums.into_iter().collect();
        steps.sort_by(|a, b| b.1.ns.cmp(&a.1.ns).then_with(|| tree.name(a.0).cmp(tree.name(b.0))));
        // The total, the rest and the own time beside them are wider by as much.
        let wider = WIDEST_ESTIMATE - WIDEST_TIME;
        let has_errors = family.indices.values().any(|member| member.own.se.is_some());
        let mut room = if has_errors { ROOM_FOR_STEPS - 3 * wider } else { ROOM_FOR_STEPS };
        let fits = |(name, time): &&(usize, TimeEstimate)| {
            let widest = if time.se.is_some() { WIDEST_ESTIMATE } else { WIDEST_TIME };
            let width = last(tree.name(*name)).chars().count().max(widest) + 2;
            let fits = width <= room;
            room = room.saturating_sub(width);
            fits
        };
        let shown: Vec<usize> = steps.iter().take(STEPS).take_while(fits).map(|(name, _)| *name).collect();
        Steps { has_others: shown.len() < steps.len(), shown }
    }

    fn headings<'a>(&self, tree: &CallTree<'a>, family: &IndexedScope<'a>) -> Vec<&'a str> {
        let mut headings = vec![family.name, "calls", "total"];
        let is_alone = |name: &usize| {
            self.shown.iter().all(|other| other == name || last(tree.name(*other)) != last(tree.name(*name)))
        };
        headings.extend(self.shown.iter().map(|name| match is_alone(name) {
            true => last(tree.name(*name)),
            false => tree.name(*name),
        }));
        headings.extend(self.has_others.then_some("others"));
        headings.extend((!self.shown.is_empty()).then_some("self"));
        headings
    }

    fn cells(&self, name: String, member: &IndexSum) -> Vec<String> {
        let time = |name: &usize| member.steps.get(name).copied().unwrap_or_default();
        let mut cells = vec![name, count(member.calls), member.total.text()];
        cells.extend(self.shown.iter().map(|name| time(name).text()));
        if self.has_others {
            let others = member.steps.keys().filter(|name| !self.shown.contains(name));
            cells.push(others.fold(TimeEstimate::default(), |sum, name| sum.plus(time(name))).text());
        }
        if !self.shown.is_empty() {
            cells.push(member.own.text());
        }
        cells
    }
}

/// Index by step, such as the layers of a model by the steps of each.
pub(super) fn by_index(view: &View<'_>, tree: &CallTree<'_>, family: &IndexedScope<'_>) -> Section {
    let steps = Steps::of(tree, family);
    let mut table = Table::new(&steps.headings(tree, family));
    let most = view.top.saturating_mul(TREE_ROWS);
    for (index, member) in family.indices.iter().take(most) {
        let name = index.map_or_else(|| "(others)".to_owned(), |index| format!("[{index}]"));
        table.row(steps.cells(name, member));
    }
    if family.indices.len() > most {
        let rest = family.indices.values().skip(most).fold(IndexSum::default(), IndexSum::plus);
        table.row(steps.cells(format!("({} more)", count((family.indices.len() - most) as u64)), &rest));
    }
    let all = family.indices.values().fold(IndexSum::default(), IndexSum::plus);
    table.row(steps.cells("= all".to_owned(), &all));
    let explanation =
        format!("scopes that carry an index, and the scopes below them; total = the steps + self{}", marks(&table));
    Section::new("BY INDEX", &explanation).with(Block::Table(table))
}
