//! Scopes that carry an index: one row for each index, one column for each scope directly below.

use std::collections::HashMap;

use super::{TREE_ROWS, marks};
use crate::document::{Block, Section, Table};
use crate::units::count;
use crate::view::ProfileView;
use crate::{CallTree, IndexSum, IndexedScope, TimeEstimate};

/// The most steps beside each other.
const STEPS: usize = 7;
/// Characters that they have in a line of 120, beside name, calls, total, others and self.
const ROOM_FOR_STEPS: usize = 66;
/// Characters of a time: `~1.25 ms`, and with its error: `1.25 ms ±0.05`.
const WIDEST_TIME: usize = 8;
const WIDEST_ESTIMATE: usize = 13;

/// Columns of the table by index: which steps have one.
struct Steps {
    shown: Vec<usize>,
    has_others: bool,
}

impl Steps {
    /// The longest, as many as fit in a line.
    fn of(tree: &CallTree<'_>, scope: &IndexedScope<'_>) -> Self {
        let mut sums: HashMap<usize, TimeEstimate> = HashMap::new();
        for (name, time) in scope.indices.values().flat_map(|member| &member.steps) {
            let sum = sums.entry(*name).or_default();
            *sum = sum.plus(*time);
        }
        let mut steps: Vec<(usize, TimeEstimate)> = sums.into_iter().collect();
        steps.sort_by(|a, b| b.1.ns.cmp(&a.1.ns).then_with(|| tree.name(a.0).cmp(tree.name(b.0))));
        // The total, the rest and the own time beside them are wider by as much.
        let wider = WIDEST_ESTIMATE - WIDEST_TIME;
        let has_errors = scope.indices.values().any(|member| member.own.se.is_some());
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

    fn headings<'a>(&self, tree: &CallTree<'a>, scope: &IndexedScope<'a>) -> Vec<&'a str> {
        let mut headings = vec![scope.name, "calls", "total"];
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
pub(super) fn section(view: &ProfileView<'_>, scope: &IndexedScope<'_>) -> Section {
    let tree = view.tree;
    let steps = Steps::of(tree, scope);
    let mut table = Table::new(&steps.headings(tree, scope));
    let most = view.top.saturating_mul(TREE_ROWS);
    for (index, member) in scope.indices.iter().take(most) {
        let name = index.map_or_else(|| "(others)".to_owned(), |index| format!("[{index}]"));
        table.row(steps.cells(name, member));
    }
    if scope.indices.len() > most {
        let rest = scope.indices.values().skip(most).fold(IndexSum::default(), IndexSum::plus);
        table.row(steps.cells(format!("({} more)", count((scope.indices.len() - most) as u64)), &rest));
    }
    let all = scope.indices.values().fold(IndexSum::default(), IndexSum::plus);
    table.row(steps.cells("= all".to_owned(), &all));
    let explanation =
        format!("scopes that carry an index, and the scopes below them; total = the steps + self{}", marks(&table));
    Section::new("BY INDEX", &explanation).with(Block::Table(table))
}

/// A name without its modules.
fn last(name: &str) -> &str {
    name.rsplit("::").next().unwrap_or(name)
}
