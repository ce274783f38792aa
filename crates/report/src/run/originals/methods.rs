//! What both layouts list: methods, with their calls and times.

use std::collections::{BTreeMap, HashMap};

use record::{Profile, Run};

use super::super::rows::in_order;
use super::super::tree::Tree;
use super::super::view::View;

/// One method.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Method {
    pub(super) name: String,
    pub(super) calls: u64,
    pub(super) total_ms: f64,
    pub(super) min_ms: f64,
    pub(super) max_ms: f64,
    /// Bytes allocated in it and below; absent where nothing counted them.
    pub(super) bytes: Option<u64>,
    /// Who called it how often.
    pub(super) called_by: BTreeMap<String, u64>,
}

impl Method {
    pub(super) fn mean_ms(&self) -> f64 {
        self.total_ms / self.calls.max(1) as f64
    }
}

/// All methods, and what they are parts of.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Methods {
    /// Longest first.
    pub(super) all: Vec<Method>,
    /// The time of the whole.
    pub(super) wall_ms: f64,
    /// Bytes allocated in all of them, each once.
    pub(super) bytes: Option<u64>,
}

impl Methods {
    /// From the scopes of the profile, or from the rows where there is none; the other way round where rows matter more.
    pub(super) fn of(run: &Run, rows_first: bool) -> Self {
        let scopes = || run.profile.as_ref().filter(|profile| !profile.scopes.is_empty()).map(of_scopes);
        let rows = || Some(of_rows(run)).filter(|methods| !methods.all.is_empty());
        let found = if rows_first { rows().or_else(scopes) } else { scopes().or_else(rows) };
        found.unwrap_or_default()
    }
}

/// A name in one cell, without what ends one.
fn cell_name(name: &str) -> String {
    super::super::document::printable(name).replace('|', "/").replace('`', "'")
}

fn of_scopes(profile: &Profile) -> Methods {
    let tree = Tree::new(profile);
    let mut called_by: HashMap<&str, BTreeMap<usize, u64>> = HashMap::new();
    for (at, scope) in profile.scopes.iter().enumerate() {
        let Some(parent) = scope.parent.filter(|parent| *parent < at) else { continue };
        let callers = called_by.entry(tree.name(tree.name_of(at))).or_default();
        *callers.entry(tree.name_of(parent)).or_default() += scope.calls;
    }
    let named = |(number, calls): (usize, u64)| (cell_name(tree.name(number)), calls);
    let ms = |ns: u64| ns as f64 / 1e6;
    let methods = tree.names.iter().map(|sum| Method {
        name: cell_name(sum.name),
        calls: sum.calls,
        total_ms: ms(sum.total_ns),
        min_ms: ms(sum.min_ns().unwrap_or(0)),
        max_ms: ms(sum.max_ns().unwrap_or(0)),
        bytes: sum.allocs_total.map(|total| total.alloc_bytes),
        called_by: called_by.remove(sum.name).unwrap_or_default().into_iter().map(named).collect(),
    });
    let own: Option<u64> =
        tree.names.iter().filter_map(|sum| sum.allocs).map(|own| own.alloc_bytes).reduce(|a, b| a + b);
    Methods { all: methods.collect(), wall_ms: ms(profile.wall_ns), bytes: own }
}

fn of_rows(run: &Run) -> Methods {
    let view = View::new(run, 1);
    let mut methods = Methods::default();
    for (depth, row) in in_order(&run.rows) {
        let times = view.per_call(row, "wall_s");
        let (Some(least), Some(most)) = (times.first(), times.last()) else { continue };
        let calls = row.calls.max(1) * times.len() as u64;
        let bytes = view.values(&row.name, "alloc_bytes");
        let method = Method {
            name: cell_name(&row.name),
            calls,
            total_ms: view.values(&row.name, "wall_s").iter().sum::<f64>() * 1e3,
            min_ms: least * 1e3,
            max_ms: most * 1e3,
            bytes: (!bytes.is_empty()).then(|| bytes.iter().sum::<f64>() as u64),
            called_by: row.part_of.iter().map(|whole| (cell_name(whole), calls)).collect(),
        };
        if depth == 0 {
            methods.wall_ms += method.total_ms;
            methods.bytes = method.bytes.map(|bytes| bytes + methods.bytes.unwrap_or(0)).or(methods.bytes);
        }
        methods.all.push(method);
    }
    methods.all.sort_by(|a, b| b.total_ms.total_cmp(&a.total_ms));
    methods
}
