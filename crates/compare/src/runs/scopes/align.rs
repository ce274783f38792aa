//! Which scope is which: by the path, and what is left over by its structure.

use std::collections::{HashMap, VecDeque};

use record::{Presence, Scope, ScopeChange, ScopeFigures};

use super::{Repeats, renamed};

/// A tree with the children of every scope.
pub(super) struct Tree<'a> {
    pub(super) scopes: &'a [Scope],
    pub(super) below: Vec<Vec<usize>>,
    roots: Vec<usize>,
}

impl<'a> Tree<'a> {
    fn new(scopes: &'a [Scope]) -> Self {
        let mut below: Vec<Vec<usize>> = vec![Vec::new(); scopes.len()];
        let mut roots = Vec::new();
        for (at, scope) in scopes.iter().enumerate() {
            scope.parent.filter(|parent| *parent < at).map_or(&mut roots, |parent| &mut below[parent]).push(at);
        }
        Tree { scopes, below, roots }
    }

    fn children(&self, of: Option<usize>) -> &[usize] {
        of.map_or(&[], |place| &self.below[place])
    }
}

/// A scope before and after.
pub(super) struct Pair {
    pub(super) base: Option<usize>,
    pub(super) candidate: Option<usize>,
    /// By what a scope was known again that has another name.
    pub(super) evidence: Option<&'static str>,
}

/// A pair, and where it stands.
struct Placed {
    pair: Pair,
    parent: Option<usize>,
    /// What the candidate's figures are multiplied by.
    scale: f64,
}

/// Both trees in one list, and what has to be said about it.
pub(super) fn align(sides: [&[Scope]; 2], repeats: &Repeats) -> (Vec<ScopeChange>, Vec<String>) {
    let trees = sides.map(Tree::new);
    let mut placed: Vec<Placed> = Vec::new();
    let mut notes: Vec<String> = Vec::new();
    let pending = |pairs: Vec<Pair>, parent: Option<usize>, scale: f64| {
        // The last is taken first.
        pairs.into_iter().rev().map(move |pair| Placed { pair, parent, scale })
    };
    let roots = matched(&trees, [&trees[0].roots, &trees[1].roots], repeats);
    let mut open: Vec<Placed> = pending(roots, None, 1.0).collect();
    while let Some(mut next) = open.pop() {
        if let (Some(old), Some(new), true) = (next.pair.base, next.pair.candidate, next.scale == 1.0) {
            let (old, new) = (&sides[0][old], &sides[1][new]);
            if repeats.explain(old.calls, new.calls) {
                next.scale = old.calls as f64 / new.calls as f64;
                notes.push(repeated(old, new));
            }
        }
        let children = [trees[0].children(next.pair.base), trees[1].children(next.pair.candidate)];
        let (pairs, place, scale) = (matched(&trees, children, repeats), placed.len(), next.scale);
        placed.push(next);
        open.extend(pending(pairs, Some(place), scale));
    }
    notes.dedup();
    (written(&trees, &placed), notes)
}

fn repeated(old: &Scope, new: &Scope) -> String {
    let (name, before, after) = (&new.name, old.calls, new.calls);
    format!(
        "`{name}` was repeated {before} times before and {after} times after; figures after are scaled to \
         {before} repeats"
    )
}

/// Siblings of both sides by name, then what is left by structure; the longest first.
fn matched(trees: &[Tree<'_>; 2], [old, new]: [&[usize]; 2], repeats: &Repeats) -> Vec<Pair> {
    let key = |side: usize, place: usize| {
        let scope = &trees[side].scopes[place];
        (scope.name.as_str(), scope.index, scope.is_other_index)
    };
    let mut known: HashMap<_, VecDeque<usize>> = HashMap::with_capacity(old.len());
    for place in old {
        known.entry(key(0, *place)).or_default().push_back(*place);
    }
    let mut pairs: Vec<Pair> = Vec::with_capacity(old.len().max(new.len()));
    let mut added: Vec<usize> = Vec::new();
    for place in new {
        match known.get_mut(&key(1, *place)).and_then(VecDeque::pop_front) {
            Some(base) => pairs.push(Pair { base: Some(base), candidate: Some(*place), evidence: None }),
            None => added.push(*place),
        }
    }
    let mut removed: Vec<usize> = known.into_values().flatten().collect();
    removed.sort_unstable();
    pairs.extend(renamed::renamed(trees, &mut removed, &mut added, repeats));
    pairs.extend(removed.into_iter().map(|place| Pair { base: Some(place), candidate: None, evidence: None }));
    pairs.extend(added.into_iter().map(|place| Pair { base: None, candidate: Some(place), evidence: None }));
    let time = |side: usize, place: Option<usize>| place.map_or(0, |place| trees[side].scopes[place].total_ns);
    pairs.sort_by_key(|pair| {
        let most = time(0, pair.base).max(time(1, pair.candidate));
        (std::cmp::Reverse(most), pair.base, pair.candidate)
    });
    pairs
}

fn written(trees: &[Tree<'_>; 2], placed: &[Placed]) -> Vec<ScopeChange> {
    let parents: Vec<Option<usize>> = placed.iter().map(|next| next.parent).collect();
    let base = figures(&trees[0], &parents, placed.iter().map(|next| (next.pair.base, 1.0)));
    let candidate = figures(&trees[1], &parents, placed.iter().map(|next| (next.pair.candidate, next.scale)));
    let sides = base.into_iter().zip(candidate);
    let change = |(next, (base, candidate)): (&Placed, (Option<ScopeFigures>, Option<ScopeFigures>))| {
        let old = next.pair.base.map(|place| &trees[0].scopes[place]);
        let new = next.pair.candidate.map(|place| &trees[1].scopes[place]);
        let shown = new.or(old).expect("a pair has one side at least");
        let presence = match (old, new) {
            (None, _) => Presence::Added,
            (_, None) => Presence::Removed,
            _ if next.pair.evidence.is_some() => Presence::Renamed,
            _ => Presence::Kept,
        };
        ScopeChange {
            name: shown.name.clone(),
            was: old.filter(|_| presence == Presence::Renamed).map(|old| old.name.clone()),
            evidence: next.pair.evidence.map(str::to_owned),
            index: shown.index,
            parent: next.parent,
            presence,
            base,
            candidate,
        }
    };
    placed.iter().zip(sides).map(change).collect()
}

/// The figures of one side. Totals are made again from what they consist of, because parts of them may be scaled; in whole
/// nanoseconds, so that what is not scaled comes out as it was.
fn figures(
    tree: &Tree<'_>,
    parents: &[Option<usize>],
    places: impl Iterator<Item = (Option<usize>, f64)>,
) -> Vec<Option<ScopeFigures>> {
    let own = |(place, scale): (Option<usize>, f64)| place.map(|place| own(tree, place, scale));
    let mut all: Vec<Option<ScopeFigures>> = places.map(own).collect();
    for at in (0..all.len()).rev() {
        let (Some(below), Some(parent)) = (all[at], parents[at]) else { continue };
        let Some(above) = &mut all[parent] else { continue };
        above.total_s += below.total_s;
        above.allocs = above.allocs.map(|allocs| allocs + below.allocs.unwrap_or(0.0));
        above.alloc_bytes = above.alloc_bytes.map(|bytes| bytes + below.alloc_bytes.unwrap_or(0.0));
    }
    for figures in all.iter_mut().flatten() {
        figures.total_s *= 1e-9;
        figures.self_s *= 1e-9;
        figures.total_se_s = figures.total_se_s.map(|se| se * 1e-9);
        figures.self_se_s = figures.self_se_s.map(|se| se * 1e-9);
    }
    all
}

/// What a scope has apart from the scopes below it, times in nanoseconds.
fn own(tree: &Tree<'_>, place: usize, scale: f64) -> ScopeFigures {
    let scope = &tree.scopes[place];
    let below = || tree.below[place].iter().map(|child| &tree.scopes[*child]);
    let without = |all: u64, below: f64| (all as f64 - below) * scale;
    let allocated = |of: fn(&record::Allocations) -> u64| {
        let inside = below().filter_map(|child| child.allocs_total.as_ref()).map(|all| of(all) as f64).sum();
        scope.allocs_total.as_ref().map(|all| without(of(all), inside))
    };
    ScopeFigures {
        calls: scope.calls as f64 * scale,
        total_s: without(scope.total_ns, below().map(|child| child.total_ns as f64).sum()),
        // Not made again from its parts: their errors are not independent of it.
        total_se_s: scope.total_se_ns.map(|se| se as f64 * scale),
        self_s: scope.self_ns as f64 * scale,
        self_se_s: scope.self_se_ns.map(|se| se as f64 * scale),
        allocs: allocated(|all| all.allocs),
        alloc_bytes: allocated(|all| all.alloc_bytes),
        flops: scope.flops as f64 * scale,
        bytes: scope.bytes as f64 * scale,
        tokens: scope.tokens as f64 * scale,
        is_estimate: scope.is_sampled,
    }
}
