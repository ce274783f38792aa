//! Scopes that carry an index, such as the layers of a model: what each index took, and the scopes directly below it.

use std::collections::BTreeMap;

use super::names::Names;
use super::{Surroundings, parent_of};
use crate::units::raise;
use crate::{Scope, TimeEstimate};

/// A scope that carries an index.
#[derive(Debug)]
pub struct IndexedScope<'a> {
    /// Its name.
    pub name: &'a str,
    /// The total of all indices.
    pub total_ns: u64,
    /// By index; `None` for those beyond what was kept apart.
    pub indices: BTreeMap<Option<u64>, IndexSum>,
}

/// One index of a scope.
#[derive(Debug, Default)]
pub struct IndexSum {
    /// Time in it and all below it.
    pub total: TimeEstimate,
    /// Time in it and in no scope below it.
    pub own: TimeEstimate,
    /// Calls begun.
    pub calls: u64,
    /// The time of the scopes directly below it, by the number of the name.
    pub steps: BTreeMap<usize, TimeEstimate>,
}

impl IndexSum {
    /// The sum of two.
    #[must_use]
    pub fn plus(mut self, other: &IndexSum) -> Self {
        self.total = self.total.plus(other.total);
        self.own = self.own.plus(other.own);
        raise(&mut self.calls, other.calls);
        for (name, time) in &other.steps {
            let sum = self.steps.entry(*name).or_default();
            *sum = sum.plus(*time);
        }
        self
    }
}

pub(super) fn sums<'a>(scopes: &'a [Scope], names: &Names<'a>, around: &Surroundings) -> Vec<IndexedScope<'a>> {
    let new = |name: &&'a str| IndexedScope { name, total_ns: 0, indices: BTreeMap::new() };
    let mut indexed: Vec<IndexedScope<'a>> = names.short.iter().map(new).collect();
    let mut counts = vec![false; scopes.len()];
    for (place, scope) in scopes.iter().enumerate() {
        let number = names.of_scope[place];
        let (total, se) = (scope.total_ns, scope.total_se_ns);
        if let Some(parent) = parent_of(scopes, place).filter(|parent| counts[*parent]) {
            let indices = &mut indexed[names.of_scope[parent]].indices;
            let above = indices.entry(scopes[parent].index).or_default();
            above.steps.entry(number).or_default().add(total, se, scope.is_sampled);
        }
        counts[place] = (scope.index.is_some() || scope.is_other_index) && !around.nested[place];
        if counts[place] {
            let of_name = &mut indexed[number];
            raise(&mut of_name.total_ns, total);
            let sum = of_name.indices.entry(scope.index).or_default();
            sum.total.add(total, se, scope.is_sampled);
            sum.own.add(scope.self_ns, scope.self_se_ns, around.self_estimated[place]);
            raise(&mut sum.calls, scope.calls);
        }
    }
    indexed.retain(|of_name| !of_name.indices.is_empty());
    indexed.sort_by(|a, b| b.total_ns.cmp(&a.total_ns).then_with(|| a.name.cmp(b.name)));
    indexed
}
