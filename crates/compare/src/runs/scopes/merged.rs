//! Scopes that differ in their index alone, taken together: all layers as one.

use std::collections::HashMap;

use record::{Presence, ScopeChange, ScopeFigures};

use crate::error_of_sum;

/// The same list with indices taken together; parents before children.
#[must_use]
pub fn without_indices(scopes: &[ScopeChange]) -> Vec<ScopeChange> {
    let mut places: HashMap<(Option<usize>, &str, Option<&str>), usize> = HashMap::new();
    let mut place_of: Vec<usize> = Vec::with_capacity(scopes.len());
    let mut merged: Vec<ScopeChange> = Vec::new();
    for (at, scope) in scopes.iter().enumerate() {
        let parent = scope.parent.filter(|parent| *parent < at).map(|parent| place_of[parent]);
        let key = (parent, scope.name.as_str(), scope.was.as_deref());
        let place = *places.entry(key).or_insert(merged.len());
        if place == merged.len() {
            merged.push(ScopeChange { parent, index: None, ..scope.clone() });
        } else {
            add(&mut merged[place], scope);
        }
        place_of.push(place);
    }
    merged
}

fn add(sum: &mut ScopeChange, scope: &ScopeChange) {
    sum.base = both(sum.base, scope.base);
    sum.candidate = both(sum.candidate, scope.candidate);
    sum.presence = match (&sum.base, &sum.candidate) {
        (None, _) => Presence::Added,
        (_, None) => Presence::Removed,
        _ if sum.was.is_some() => Presence::Renamed,
        _ => Presence::Kept,
    };
}

fn both(a: Option<ScopeFigures>, b: Option<ScopeFigures>) -> Option<ScopeFigures> {
    let (Some(a), Some(b)) = (a, b) else { return a.or(b) };
    let known = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a + b);
    Some(ScopeFigures {
        calls: a.calls + b.calls,
        total_s: a.total_s + b.total_s,
        total_se_s: error_of_sum(a.total_se_s, b.total_se_s),
        self_s: a.self_s + b.self_s,
        self_se_s: error_of_sum(a.self_se_s, b.self_se_s),
        allocs: known(a.allocs, b.allocs),
        alloc_bytes: known(a.alloc_bytes, b.alloc_bytes),
        flops: a.flops + b.flops,
        bytes: a.bytes + b.bytes,
        tokens: a.tokens + b.tokens,
        is_estimate: a.is_estimate || b.is_estimate,
    })
}
