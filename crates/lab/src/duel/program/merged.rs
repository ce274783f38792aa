//! Profiles of several processes as one: a round may have many calls.

use std::collections::HashMap;

use record::{Profile, Scope};

/// What tells a scope from its siblings.
type Key = (Option<usize>, String, Option<u64>, bool);

/// Adds a profile to another: times and calls of the same path are summed. What is the most or the least of one process, and timelines,
/// stay those of the first.
pub(super) fn merge(first: Option<Profile>, other: Profile) -> Profile {
    let Some(mut all) = first else { return other };
    let key = |scope: &Scope, parent| -> Key { (parent, scope.name.clone(), scope.index, scope.is_other_index) };
    let mut places: HashMap<Key, usize> =
        all.scopes.iter().enumerate().map(|(place, scope)| (key(scope, scope.parent), place)).collect();
    let mut moved = Vec::with_capacity(other.scopes.len());
    for scope in other.scopes {
        let parent = scope.parent.map(|parent| moved[parent]);
        let place = *places.entry(key(&scope, parent)).or_insert(all.scopes.len());
        moved.push(place);
        match all.scopes.get_mut(place) {
            Some(known) => {
                known.calls = known.calls.saturating_add(scope.calls);
                known.timed_calls = known.timed_calls.saturating_add(scope.timed_calls);
                known.total_ns = known.total_ns.saturating_add(scope.total_ns);
                known.self_ns = known.self_ns.saturating_add(scope.self_ns);
            }
            None => all.scopes.push(Scope { parent, ..scope }),
        }
    }
    all.wall_ns = all.wall_ns.saturating_add(other.wall_ns);
    all.outside_ns = all.outside_ns.saturating_add(other.outside_ns);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(name: &str, parent: Option<usize>, self_ns: u64) -> Scope {
        Scope { name: name.to_owned(), parent, calls: 1, self_ns, ..Scope::default() }
    }

    #[test]
    fn paths_are_summed_wherever_they_stand() {
        let first =
            Profile { scopes: vec![scope("a", None, 1), scope("b", Some(0), 2)], wall_ns: 5, ..Profile::default() };
        let other = Profile {
            scopes: vec![scope("c", None, 10), scope("a", None, 20), scope("b", Some(0), 40), scope("b", Some(1), 80)],
            wall_ns: 7,
            ..Profile::default()
        };
        let all = merge(Some(merge(None, first)), other);
        let found: Vec<_> =
            all.scopes.iter().map(|scope| (scope.name.as_str(), scope.parent, scope.calls, scope.self_ns)).collect();
        let expected = [("a", None, 2, 21), ("b", Some(0), 2, 82), ("c", None, 1, 10), ("b", Some(2), 1, 40)];
        assert_eq!(found, expected);
        assert_eq!(all.wall_ns, 12);
    }
}
