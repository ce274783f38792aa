//! From a flat list of totals to a call tree with self times.
//!
//! A profiler that lists methods by their total time counts what is nested twice and more. Where it is known which method calls
//! which, the list is a tree again: each method stands below its caller, and its time is taken out of that one's own. A method
//! with several callers stands below each of them; how its time divides between them is not told, so it is divided in proportion
//! to theirs, and marked as an estimate. What cannot be placed is a root, and a note says so.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use record::{Allocations, Profile, ProfileClock, Scope};

/// A method, as a flat report lists it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Method {
    pub(crate) name: String,
    pub(crate) calls: u64,
    pub(crate) total_ns: u64,
    /// The shortest and the longest call, where they are told.
    pub(crate) extremes_ns: Option<(u64, u64)>,
    pub(crate) alloc_bytes: Option<u64>,
    pub(crate) flops: u64,
    pub(crate) tokens: u64,
}

/// Who calls a method: names, and how often each did where that is told.
pub(crate) type Callers = BTreeMap<String, Vec<(String, Option<u64>)>>;

/// A tree, and what has to be said about it.
pub(crate) struct Tree {
    pub(crate) profile: Profile,
    /// The time of all roots.
    pub(crate) roots_ns: u64,
    pub(crate) notes: Vec<String>,
}

/// Methods that a flat report may list: the originals print 30 at most, and who calls whom is looked for among all pairs.
pub(crate) const MOST_METHODS: usize = 2_000;
/// Why a row beyond them is not read.
pub(crate) const TOO_MANY: &str = "it lists too many methods";
/// Copies of one method in the tree, one below each caller. More than a report of the originals can have.
const MOST_COPIES: usize = 64;
/// A callee may come out longer than its caller by what rounding and reading the clock twice explain.
const SLACK: f64 = 0.01;
const SLACK_NS: u64 = 20_000;

/// A method at one place of the tree.
struct Node {
    method: usize,
    parent: Option<usize>,
    calls: u64,
    total_ns: u64,
    alloc_bytes: Option<u64>,
    is_estimate: bool,
    /// What its children took of it already.
    inside_ns: u64,
    inside_bytes: u64,
}

struct Builder<'a> {
    methods: &'a [Method],
    nodes: Vec<Node>,
    /// Of each method its places.
    places: Vec<Vec<usize>>,
    notes: Vec<String>,
}

/// Makes the tree. Callers that are not in the list are left out of account.
pub(crate) fn build(methods: &[Method], callers: &Callers) -> Tree {
    let numbers: HashMap<&str, usize> = methods.iter().enumerate().map(|(at, method)| (&*method.name, at)).collect();
    let callers: Vec<Vec<(usize, Option<u64>)>> = methods
        .iter()
        .enumerate()
        .map(|(at, method)| {
            let listed = callers.get(&method.name).into_iter().flatten();
            listed.filter_map(|(name, calls)| Some((*numbers.get(&**name)?, *calls))).filter(|it| it.0 != at).collect()
        })
        .collect();
    let mut builder =
        Builder { methods, nodes: Vec::new(), places: vec![Vec::new(); methods.len()], notes: Vec::new() };
    let mut waiting: Vec<usize> = (0..methods.len()).collect();
    while !waiting.is_empty() {
        let before = waiting.len();
        waiting.retain(|method| {
            let is_ready = callers[*method].iter().all(|(caller, _)| !builder.places[*caller].is_empty());
            if is_ready {
                builder.place(*method, &callers[*method]);
            }
            !is_ready
        });
        if waiting.len() == before {
            // They call each other in a circle; the first of them becomes a root, and the others may find their places then.
            let method = waiting.remove(0);
            builder.root_noted(method, "its callers form a cycle");
        }
    }
    builder.finish()
}

impl Builder<'_> {
    fn root(&mut self, method: usize) {
        let Method { calls, total_ns, alloc_bytes, .. } = self.methods[method];
        self.add(Node {
            method,
            parent: None,
            calls,
            total_ns,
            alloc_bytes,
            is_estimate: false,
            inside_ns: 0,
            inside_bytes: 0,
        });
    }

    fn root_noted(&mut self, method: usize, why: &str) {
        self.notes.push(format!("`{}` is a root of the tree: {why}.", self.methods[method].name));
        self.root(method);
    }

    fn add(&mut self, node: Node) {
        if let Some(parent) = node.parent {
            let parent = &mut self.nodes[parent];
            parent.inside_ns = parent.inside_ns.saturating_add(node.total_ns);
            parent.inside_bytes = parent.inside_bytes.saturating_add(node.alloc_bytes.unwrap_or(0));
        }
        self.places[node.method].push(self.nodes.len());
        self.nodes.push(node);
    }

    /// Below all places of its callers.
    fn place(&mut self, method: usize, callers: &[(usize, Option<u64>)]) {
        let mut parents: Vec<(usize, Option<u64>)> = Vec::new();
        for (caller, calls) in callers {
            let places = &self.places[*caller];
            // How calls divide between copies of a caller is not told.
            let calls = calls.filter(|_| places.len() == 1);
            parents.extend(places.iter().map(|place| (*place, calls)));
        }
        parents.sort_unstable();
        parents.dedup_by_key(|parent| parent.0);
        if parents.is_empty() {
            return self.root(method);
        }
        if parents.len() > MOST_COPIES {
            return self.root_noted(method, "it is called in too many places");
        }
        let left =
            |builder: &Self, place: usize| builder.nodes[place].total_ns.saturating_sub(builder.nodes[place].inside_ns);
        let room: Vec<u64> = parents.iter().map(|(place, _)| left(self, *place)).collect();
        let all_room = room.iter().fold(0_u64, |sum, room| sum.saturating_add(*room));
        let total = self.methods[method].total_ns;
        let slack = (all_room as f64 * SLACK) as u64 + SLACK_NS;
        if total > all_room.saturating_add(slack) {
            return self.root_noted(method, "it took longer than the time its callers have left");
        }
        self.divide(method, &parents, &room, total.min(all_room));
    }

    fn divide(&mut self, method: usize, parents: &[(usize, Option<u64>)], room: &[u64], total_ns: u64) {
        let of = &self.methods[method];
        let is_estimate = parents.len() > 1;
        let own: Vec<u64> = parents.iter().map(|(place, _)| self.nodes[*place].total_ns).collect();
        let times = apportion(total_ns, &own, room);
        let told: Option<Vec<u64>> = parents.iter().map(|(_, calls)| *calls).collect();
        let told = told.filter(|told| told.iter().fold(0_u64, |sum, part| sum.saturating_add(*part)) == of.calls);
        let even = vec![1; parents.len()];
        let calls = told.unwrap_or_else(|| apportion(of.calls, &even, &vec![u64::MAX; parents.len()]));
        let bytes = of.alloc_bytes.map(|bytes| {
            let node = |place: usize| &self.nodes[place];
            let room: Vec<u64> = parents
                .iter()
                .map(|(place, _)| {
                    node(*place).alloc_bytes.unwrap_or(u64::MAX).saturating_sub(node(*place).inside_bytes)
                })
                .collect();
            apportion(bytes, &room, &room)
        });
        for (at, (place, _)) in parents.iter().enumerate() {
            self.add(Node {
                method,
                parent: Some(*place),
                calls: calls[at],
                total_ns: times[at],
                alloc_bytes: bytes.as_ref().map(|bytes| bytes[at]),
                is_estimate: is_estimate || self.nodes[*place].is_estimate,
                inside_ns: 0,
                inside_bytes: 0,
            });
        }
    }

    /// Parents before children, siblings by total time.
    fn finish(self) -> Tree {
        let Builder { methods, nodes, notes, .. } = self;
        let mut below: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
        let mut roots: Vec<usize> = Vec::new();
        for (at, node) in nodes.iter().enumerate() {
            node.parent.map_or(&mut roots, |parent| &mut below[parent]).push(at);
        }
        let by_time = |list: &mut Vec<usize>| list.sort_by_key(|at| Reverse(nodes[*at].total_ns));
        by_time(&mut roots);
        below.iter_mut().for_each(by_time);
        let mut scopes: Vec<Scope> = Vec::with_capacity(nodes.len());
        let mut pending: Vec<(usize, Option<usize>)> = roots.iter().rev().map(|root| (*root, None)).collect();
        while let Some((at, parent)) = pending.pop() {
            let place = scopes.len();
            scopes.push(scope(&nodes[at], &methods[nodes[at].method], parent));
            pending.extend(below[at].iter().rev().map(|child| (*child, Some(place))));
        }
        let roots_ns = roots.iter().fold(0_u64, |sum, at| sum.saturating_add(nodes[*at].total_ns));
        let profile = Profile { wall_ns: roots_ns, clock: unknown_clock(), scopes, ..Profile::default() };
        Tree { profile, roots_ns, notes }
    }
}

/// A clock that nobody told about.
pub(crate) fn unknown_clock() -> ProfileClock {
    ProfileClock { source: "unknown".to_owned(), ..ProfileClock::default() }
}

fn scope(node: &Node, method: &Method, parent: Option<usize>) -> Scope {
    let alone = (node.calls == 1 && !node.is_estimate).then_some((node.total_ns, node.total_ns));
    let extremes = method.extremes_ns.filter(|_| !node.is_estimate).or(alone);
    // Such reports tell bytes, not how many allocations they were. The bytes of a whole call stand with its row; a total here
    // would show a count of 0 beside them.
    let bytes = |bytes: u64| Allocations { alloc_bytes: bytes, ..Allocations::default() };
    Scope {
        name: method.name.clone(),
        parent,
        calls: node.calls,
        // Where the report does not tell of single calls, none counts as timed: shortest and longest are not known then.
        timed_calls: if extremes.is_some() { node.calls } else { 0 },
        is_sampled: node.is_estimate,
        total_ns: node.total_ns,
        self_ns: node.total_ns.saturating_sub(node.inside_ns),
        min_ns: extremes.map_or(0, |extremes| extremes.0),
        max_ns: extremes.map_or(0, |extremes| extremes.1),
        allocs: node.alloc_bytes.map(|all| bytes(all.saturating_sub(node.inside_bytes))),
        flops: method.flops,
        tokens: method.tokens,
        threads: 1,
        ..Scope::default()
    }
}

/// Divides a whole number in proportion to weights, none beyond its room; the parts sum to it where there is room for all.
fn apportion(whole: u64, weights: &[u64], room: &[u64]) -> Vec<u64> {
    let sum: f64 = weights.iter().map(|weight| *weight as f64).sum();
    let share = |weight: u64| if sum > 0.0 { weight as f64 / sum } else { 1.0 / weights.len().max(1) as f64 };
    let mut parts: Vec<u64> = weights
        .iter()
        .zip(room)
        .map(|(weight, room)| ((whole as f64 * share(*weight)).floor() as u64).min(*room))
        .collect();
    let given: u128 = parts.iter().map(|part| u128::from(*part)).sum();
    // What rounding left over, or lacks.
    let mut more = u128::from(whole).saturating_sub(given);
    let mut less = given.saturating_sub(u128::from(whole));
    for (part, room) in parts.iter_mut().zip(room) {
        let added = more.min(u128::from(*room - *part));
        let taken = less.min(u128::from(*part));
        // Both are less than a part.
        *part = *part + added as u64 - taken as u64;
        (more, less) = (more - added, less - taken);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn method(name: &str, calls: u64, total_ns: u64) -> Method {
        Method { name: name.to_owned(), calls, total_ns, ..Method::default() }
    }

    fn calls(pairs: &[(&str, &[&str])]) -> Callers {
        let listed = |callers: &[&str]| callers.iter().map(|caller| ((*caller).to_owned(), None)).collect();
        pairs.iter().map(|(name, callers)| ((*name).to_owned(), listed(callers))).collect()
    }

    /// Name, parent, calls, total and self of every scope.
    fn shown(tree: &Tree) -> Vec<(&str, Option<usize>, u64, u64, u64)> {
        let scopes = tree.profile.scopes.iter();
        scopes.map(|scope| (&*scope.name, scope.parent, scope.calls, scope.total_ns, scope.self_ns)).collect()
    }

    #[test]
    fn totals_become_self_times() {
        let methods = [method("b", 25, 90), method("a", 1, 100), method("c", 25, 80), method("d", 1, 7)];
        let tree = build(&methods, &calls(&[("b", &["a"]), ("c", &["b"])]));
        assert_eq!(
            shown(&tree),
            [("a", None, 1, 100, 10), ("b", Some(0), 25, 90, 10), ("c", Some(1), 25, 80, 80), ("d", None, 1, 7, 7)]
        );
        assert_eq!(tree.roots_ns, 107);
        assert!(tree.notes.is_empty());
    }

    #[test]
    fn what_several_call_is_divided_between_them() {
        let methods = [method("x", 1, 900), method("y", 1, 100), method("each", 7, 501)];
        let tree = build(&methods, &calls(&[("each", &["x", "y"])]));
        let found = shown(&tree);
        assert_eq!(found[1], ("each", Some(0), 4, 451, 451));
        assert_eq!(found[3], ("each", Some(2), 3, 50, 50));
        assert!(tree.profile.scopes[1].is_sampled && !tree.profile.scopes[0].is_sampled);
        assert_eq!(tree.roots_ns, 1_000);
        assert_eq!(tree.profile.scopes.iter().map(|scope| scope.self_ns).sum::<u64>(), 1_000);
    }

    #[test]
    fn what_cannot_be_is_a_root_and_said() {
        let long = [method("a", 1, 1_000_000), method("b", 1, 2_000_000)];
        let tree = build(&long, &calls(&[("b", &["a"])]));
        assert_eq!((tree.roots_ns, tree.notes.len()), (3_000_000, 1));
        let circle = [method("a", 1, 10), method("b", 1, 10)];
        let tree = build(&circle, &calls(&[("a", &["b"]), ("b", &["a"])]));
        assert_eq!((shown(&tree)[1].1, tree.notes.len()), (Some(0), 1));
        let itself = build(&circle, &calls(&[("a", &["a", "nobody"])]));
        assert_eq!(itself.roots_ns, 20);
    }

    #[test]
    fn rounding_makes_no_negative_time() {
        let methods = [method("a", 1, 1_000_000), method("b", 1, 1_005_000)];
        let tree = build(&methods, &calls(&[("b", &["a"])]));
        assert_eq!(shown(&tree)[1], ("b", Some(0), 1, 1_000_000, 1_000_000));
        assert_eq!(shown(&tree)[0].4, 0);
    }

    #[test]
    fn copies_do_not_multiply_for_ever() {
        let methods: Vec<Method> = (0..60).map(|at| method(&format!("m{at}"), 1, 1 << 40)).collect();
        let mut callers = Callers::new();
        for at in 2..60 {
            let two = [at - 1, at - 2].map(|caller| (format!("m{caller}"), None));
            callers.insert(format!("m{at}"), two.to_vec());
        }
        let tree = build(&methods, &callers);
        assert!(tree.profile.scopes.len() < 60 * MOST_COPIES);
    }

    #[test]
    fn parts_sum_to_the_whole() {
        assert_eq!(apportion(10, &[1, 1, 1], &[10, 10, 10]), [4, 3, 3]);
        assert_eq!(apportion(10, &[0, 0], &[3, 10]), [3, 7]);
        assert_eq!(
            apportion(u64::MAX, &[1, 1], &[u64::MAX; 2]).iter().map(|part| u128::from(*part)).sum::<u128>(),
            u64::MAX.into()
        );
        assert_eq!(apportion(5, &[], &[]), [0; 0]);
    }
}
