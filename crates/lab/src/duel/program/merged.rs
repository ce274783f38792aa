//! Profiles of several processes as one: a round may have many calls.

use std::collections::HashMap;

use compare::{duration_quantile, error_of_sum_ns, merged_durations};
use record::{Profile, Scope};

/// What tells a scope from its siblings.
type Key = (Option<usize>, String, Option<u64>, bool);

/// Adds a profile to another: times and calls of the same path are summed, percentiles are those of all calls where both know them by
/// duration. What is the most or the least of one process, and timelines, stay those of the first.
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
            Some(known) => add(known, &scope),
            None => all.scopes.push(Scope { parent, ..scope }),
        }
    }
    all.wall_ns = all.wall_ns.saturating_add(other.wall_ns);
    all.outside_ns = all.outside_ns.saturating_add(other.outside_ns);
    // Waiting that only one of them measured would be too little for both.
    all.waiting_ns = all.waiting_ns.zip(other.waiting_ns).map(|(one, other)| one.saturating_add(other));
    all
}

fn add(known: &mut Scope, scope: &Scope) {
    known.calls = known.calls.saturating_add(scope.calls);
    known.timed_calls = known.timed_calls.saturating_add(scope.timed_calls);
    known.is_sampled |= scope.is_sampled;
    known.total_ns = known.total_ns.saturating_add(scope.total_ns);
    known.total_se_ns = error_of_sum_ns(known.total_se_ns, scope.total_se_ns);
    known.self_ns = known.self_ns.saturating_add(scope.self_ns);
    known.self_se_ns = error_of_sum_ns(known.self_se_ns, scope.self_se_ns);
    known.waiting_ns = known.waiting_ns.saturating_add(scope.waiting_ns);
    known.durations = match (&known.durations, &scope.durations) {
        (Some(one), Some(other)) => Some(merged_durations([one, other].into_iter())),
        _ => None,
    };
    if let Some(counts) = &known.durations {
        [known.p50_ns, known.p90_ns, known.p99_ns] = [0.5, 0.9, 0.99].map(|q| duration_quantile(counts, q));
    }
}

#[cfg(test)]
mod tests {
    use record::DurationCounts;

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

    #[test]
    fn errors_waiting_and_durations_are_those_of_all_processes() {
        let counts = |ns: u64, calls: u64| DurationCounts { ns: vec![ns], calls: vec![calls] };
        let sampled = |se: u64, ns: u64, calls: u64| Profile {
            scopes: vec![Scope {
                is_sampled: true,
                total_se_ns: Some(se),
                self_se_ns: Some(se),
                waiting_ns: 5,
                p50_ns: Some(ns),
                p99_ns: Some(ns),
                durations: Some(counts(ns, calls)),
                ..scope("a", None, 100)
            }],
            waiting_ns: Some(7),
            ..Profile::default()
        };
        let all = merge(Some(sampled(3, 10, 90)), sampled(4, 500, 10));
        let found = &all.scopes[0];
        assert_eq!((found.total_se_ns, found.self_se_ns, found.waiting_ns), (Some(5), Some(5), 10));
        assert_eq!((found.p50_ns, found.p90_ns, found.p99_ns), (Some(10), Some(10), Some(500)));
        assert_eq!(all.waiting_ns, Some(14));
        let mut old = sampled(3, 20, 1);
        (old.waiting_ns, old.scopes[0].durations) = (None, None);
        let mixed = merge(Some(all), old);
        assert_eq!((mixed.waiting_ns, &mixed.scopes[0].durations), (None, &None));
        assert_eq!(mixed.scopes[0].p99_ns, Some(500), "that of the first");
    }
}
