//! Scopes that are gone, and scopes of the same parent that are new: which of them are the same by another name.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::Repeats;
use super::align::{Pair, Tree};

/// What is known again by its calls alone has to take about as long: no more than so many times the other.
const ALIKE: f64 = 2.0;

/// Takes those out of both lists that belong together. Whatever fits several is left where it is.
pub(super) fn renamed(
    trees: &[Tree<'_>; 2],
    removed: &mut Vec<usize>,
    added: &mut Vec<usize>,
    repeats: &Repeats,
) -> Vec<Pair> {
    let mut pairs = Vec::new();
    if removed.is_empty() || added.is_empty() {
        return pairs;
    }
    let at_same_site = unique(removed, added, |side, place| site(&trees[side], place));
    take(&mut pairs, removed, added, at_same_site, "the same place in the source");
    let of_same_shape: Vec<(usize, usize)> = unique(removed, added, |side, place| shape(&trees[side], place))
        .into_iter()
        .filter(|(old, new)| is_alike(trees, *old, *new, repeats))
        .collect();
    take(&mut pairs, removed, added, of_same_shape, "the same parent, calls, work and scopes below it");
    let as_often: Vec<(usize, usize)> = unique(removed, added, |side, place| calls(&trees[side], place))
        .into_iter()
        .filter(|(old, new)| takes_as_long(trees, *old, *new))
        .collect();
    take(&mut pairs, removed, added, as_often, "the same parent and calls, and about the same time");
    pairs
}

fn take(
    pairs: &mut Vec<Pair>,
    removed: &mut Vec<usize>,
    added: &mut Vec<usize>,
    found: Vec<(usize, usize)>,
    evidence: &'static str,
) {
    if found.is_empty() {
        return;
    }
    let [old, new]: [std::collections::HashSet<usize>; 2] =
        [found.iter().map(|pair| pair.0).collect(), found.iter().map(|pair| pair.1).collect()];
    removed.retain(|place| !old.contains(place));
    added.retain(|place| !new.contains(place));
    let pair = |(base, candidate)| Pair { base: Some(base), candidate: Some(candidate), evidence: Some(evidence) };
    pairs.extend(found.into_iter().map(pair));
}

/// Those that have the same key, where nobody else has it.
fn unique<K: Hash + Eq>(old: &[usize], new: &[usize], key: impl Fn(usize, usize) -> Option<K>) -> Vec<(usize, usize)> {
    let mut keys: HashMap<K, [Vec<usize>; 2]> = HashMap::new();
    for (side, places) in [old, new].into_iter().enumerate() {
        for place in places {
            if let Some(key) = key(side, *place) {
                keys.entry(key).or_default()[side].push(*place);
            }
        }
    }
    let only = |[old, new]: [Vec<usize>; 2]| match (old.as_slice(), new.as_slice()) {
        ([old], [new]) => Some((*old, *new)),
        _ => None,
    };
    let mut found: Vec<(usize, usize)> = keys.into_values().filter_map(only).collect();
    found.sort_unstable();
    found
}

fn site<'a>(tree: &Tree<'a>, place: usize) -> Option<(&'a str, u32, Option<u64>)> {
    let scope = &tree.scopes[place];
    (!scope.file.is_empty() && scope.line > 0).then_some((scope.file.as_str(), scope.line, scope.index))
}

/// Its work for each call and what is below it; nothing where it has neither.
fn shape(tree: &Tree<'_>, place: usize) -> Option<u64> {
    let scope = &tree.scopes[place];
    let work = [scope.flops, scope.bytes, scope.tokens];
    if work == [0; 3] && tree.below[place].is_empty() {
        return None;
    }
    let mut below: Vec<(&str, Option<u64>)> =
        tree.below[place].iter().map(|child| (tree.scopes[*child].name.as_str(), tree.scopes[*child].index)).collect();
    below.sort_unstable();
    let mut hasher = DefaultHasher::new();
    (scope.index, below, work.map(|amount| amount / scope.calls.max(1))).hash(&mut hasher);
    Some(hasher.finish())
}

/// Called as often, apart from how often something was repeated.
fn is_alike(trees: &[Tree<'_>; 2], old: usize, new: usize, repeats: &Repeats) -> bool {
    let (old, new) = (trees[0].scopes[old].calls, trees[1].scopes[new].calls);
    old == new || repeats.explain(old, new)
}

/// How often a scope with nothing below it is called, where that is more than once.
fn calls(tree: &Tree<'_>, place: usize) -> Option<(u64, Option<u64>)> {
    let scope = &tree.scopes[place];
    (scope.calls > 1 && tree.below[place].is_empty()).then_some((scope.calls, scope.index))
}

fn takes_as_long(trees: &[Tree<'_>; 2], old: usize, new: usize) -> bool {
    let (old, new) = (&trees[0].scopes[old], &trees[1].scopes[new]);
    let has_no_work = [old, new].iter().all(|scope| [scope.flops, scope.bytes, scope.tokens] == [0; 3]);
    let (old, new) = (old.total_ns as f64, new.total_ns as f64);
    has_no_work && old <= ALIKE * new && new <= ALIKE * old
}
