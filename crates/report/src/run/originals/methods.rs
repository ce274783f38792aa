//! What both layouts list: methods, with their calls and times.

use std::collections::{BTreeMap, HashMap, HashSet};

use record::{Profile, Run};

use super::super::lab_scopes::LabScope as _;
use super::super::rows::in_order;
use super::super::view::View;
use crate::units::raise;
use profile::CallTree;

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
    /// The time in all of them, each moment once; of several threads the sum.
    pub(super) profiled_ms: f64,
    /// Bytes allocated in all of them, each once.
    pub(super) bytes: Option<u64>,
}

impl Methods {
    /// The scopes of the profile, or the rows where there is none.
    pub(super) fn of(run: &Run) -> Self {
        let scopes = run.profile.as_ref().map(of_scopes).filter(|methods| !methods.all.is_empty());
        scopes.unwrap_or_else(|| of_rows(run))
    }

    /// The rows: as the one pass with scopes has them, where there is one, because readers of this layout count on the
    /// calls of one pass; else as they were repeated.
    pub(super) fn of_named_rows(run: &Run) -> Self {
        let names: HashSet<String> = run.rows.iter().map(|row| cell_name(&row.name)).collect();
        let mut methods = run.profile.as_ref().map(of_scopes).unwrap_or_default();
        methods.all.retain(|method| names.contains(&method.name));
        if methods.all.is_empty() {
            Some(of_rows(run)).filter(|rows| !rows.all.is_empty()).unwrap_or_else(|| Self::of(run))
        } else {
            methods
        }
    }
}

/// A name in one cell, without what ends one.
fn cell_name(name: &str) -> String {
    crate::document::printable(name).replace('|', "/").replace('`', "'")
}

fn of_scopes(profile: &Profile) -> Methods {
    let tree = CallTree::new(profile);
    let of_lab: HashSet<&str> = tree.names.iter().filter(|sum| sum.is_of_lab()).map(|sum| sum.name).collect();
    let mut called_by: HashMap<&str, BTreeMap<usize, u64>> = HashMap::new();
    for (at, scope) in profile.scopes.iter().enumerate() {
        let Some(parent) = scope.parent.filter(|parent| *parent < at) else { continue };
        if of_lab.contains(tree.name(tree.name_of(parent))) {
            continue;
        }
        let callers = called_by.entry(tree.name(tree.name_of(at))).or_default();
        raise(callers.entry(tree.name_of(parent)).or_default(), scope.calls);
    }
    let named = |(number, calls): (usize, u64)| (cell_name(tree.name(number)), calls);
    let ms = |ns: u64| ns as f64 / 1e6;
    let methods = tree.names.iter().filter(|sum| !sum.is_of_lab()).map(|sum| Method {
        name: cell_name(sum.name),
        calls: sum.calls,
        total_ms: ms(sum.total_ns),
        min_ms: ms(sum.min_ns().unwrap_or(0)),
        max_ms: ms(sum.max_ns().unwrap_or(0)),
        bytes: sum.allocs_total.map(|total| total.alloc_bytes),
        called_by: called_by.remove(sum.name).unwrap_or_default().into_iter().map(named).collect(),
    });
    let own: Option<u64> =
        tree.names.iter().filter_map(|sum| sum.allocs).map(|own| own.alloc_bytes).reduce(u64::saturating_add);
    Methods { all: methods.collect(), wall_ms: ms(profile.wall_ns), profiled_ms: ms(tree.in_scopes_ns()), bytes: own }
}

fn of_rows(run: &Run) -> Methods {
    let view = View::new(run, 1);
    let mut methods = Methods::default();
    for (depth, row) in in_order(&run.rows) {
        let times = view.per_call(row, "wall_s");
        let (Some(least), Some(most)) = (times.first(), times.last()) else { continue };
        let calls = row.calls.max(1).saturating_mul(times.len() as u64);
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
            methods.profiled_ms += method.total_ms;
            methods.bytes =
                method.bytes.map(|bytes| methods.bytes.unwrap_or(0).saturating_add(bytes)).or(methods.bytes);
        }
        methods.all.push(method);
    }
    methods.all.sort_by(|a, b| b.total_ms.total_cmp(&a.total_ms));
    methods
}
