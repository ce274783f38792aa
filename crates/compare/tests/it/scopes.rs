//! Call trees laid over each other.

use compare::{NamedRun, RunsSettings, runs, without_indices};
use record::{Allocations, Comparison, Phase, Presence, Profile, Row, Run, Sample, Scope, ScopeChange};

use crate::comparable::told;

/// A scope: name, index, parent, own time, calls.
type Spec<'a> = (&'a str, Option<u64>, Option<usize>, u64, u64);

/// A tree from own times; totals follow.
fn tree(specs: &[Spec<'_>]) -> Vec<Scope> {
    let scope = |(name, index, parent, self_ns, calls): &Spec<'_>| Scope {
        name: (*name).to_owned(),
        index: *index,
        parent: *parent,
        self_ns: *self_ns,
        total_ns: *self_ns,
        calls: *calls,
        allocs_total: Some(Allocations { allocs: 1, alloc_bytes: 8, ..Allocations::default() }),
        ..Scope::default()
    };
    let mut scopes: Vec<Scope> = specs.iter().map(scope).collect();
    for at in (0..scopes.len()).rev() {
        if let Some(parent) = scopes[at].parent {
            let (total, allocs) = (scopes[at].total_ns, scopes[at].allocs_total.unwrap_or_default());
            scopes[parent].total_ns += total;
            let above = scopes[parent].allocs_total.get_or_insert_default();
            above.allocs += allocs.allocs;
            above.alloc_bytes += allocs.alloc_bytes;
        }
    }
    scopes
}

fn profiled(scopes: Vec<Scope>) -> Run {
    let mut run = told();
    run.profile = Some(Profile { scopes, ..Profile::default() });
    run
}

fn compared(base: &Run, candidate: &Run) -> Comparison {
    let stored = |run| NamedRun { run, name: "", id: None };
    runs(stored(base), stored(candidate), &RunsSettings::default())
}

fn of_trees(base: &[Spec<'_>], candidate: &[Spec<'_>]) -> Comparison {
    compared(&profiled(tree(base)), &profiled(tree(candidate)))
}

/// The names from the root on.
fn path(scopes: &[ScopeChange], at: usize) -> String {
    let mut names: Vec<&str> = std::iter::successors(Some(at), |place| scopes[*place].parent)
        .map(|place| scopes[place].name.as_str())
        .collect();
    names.reverse();
    names.join("/")
}

fn there(found: &Comparison) -> Vec<(String, Presence)> {
    (0..found.scopes.len()).map(|at| (path(&found.scopes, at), found.scopes[at].presence)).collect()
}

/// The parts of the change sum to it, and it is that of the roots.
#[track_caller]
fn check_sums(found: &Comparison) {
    let why = found.why.as_ref().expect("there are trees");
    let sum: f64 = why.parts.iter().map(|part| part.change.estimate).sum();
    let totals = found.totals.as_ref().expect("there are trees");
    let seconds = |total: &Option<record::Total>| total.map_or(0.0, |total| total.seconds);
    let scale = why.base_s.max(why.candidate_s).max(1e-9);
    assert!((sum - why.total.estimate).abs() < 1e-8 * scale, "{sum} is not {}", why.total.estimate);
    assert!((why.candidate_s - why.base_s - why.total.estimate).abs() < 1e-9 * scale);
    assert!((seconds(&totals.base) - why.base_s).abs() < 1e-9 * scale);
    assert!((seconds(&totals.candidate) - why.candidate_s).abs() < 1e-9 * scale);
}

#[test]
fn scopes_are_kept_added_and_removed_by_their_path() {
    let found = of_trees(
        &[("run", None, None, 10, 1), ("old", None, Some(0), 70, 1), ("step", None, Some(0), 20, 5)],
        &[
            ("run", None, None, 10, 1),
            ("step", None, Some(0), 50, 5),
            ("new", None, Some(0), 7, 3),
            ("step", None, Some(2), 1, 3),
        ],
    );
    let expected = [
        ("run", Presence::Kept),
        ("run/old", Presence::Removed),
        ("run/step", Presence::Kept),
        ("run/new", Presence::Added),
        ("run/new/step", Presence::Added),
    ];
    assert_eq!(there(&found), expected.map(|(path, presence)| (path.to_owned(), presence)));
    let why = found.why.as_ref().expect("there are trees");
    let parts: Vec<(String, i64)> =
        why.parts.iter().map(|part| (part.path.join("/"), (part.change.estimate * 1e9).round() as i64)).collect();
    let expected = [("run/old", -70), ("run/step", 30), ("run/new", 7), ("run/new/step", 1)];
    assert_eq!(parts, expected.map(|(path, change)| (path.to_owned(), change)));
    check_sums(&found);
}

#[test]
fn other_names_are_seen_by_work_children_calls_or_place() {
    let mut base = tree(&[
        ("run", None, None, 10, 1),
        ("matmul", None, Some(0), 50, 8),
        ("layer", Some(0), Some(0), 5, 4),
        ("attend", None, Some(2), 30, 4),
        ("layer", Some(1), Some(0), 5, 4),
        ("attend", None, Some(4), 30, 4),
        ("norm", None, Some(0), 20, 7),
        ("load", None, Some(0), 9, 1),
        ("here", None, Some(0), 9, 1),
    ]);
    let mut candidate = tree(&[
        ("run", None, None, 10, 1),
        ("gemm", None, Some(0), 90, 8),
        ("block", Some(0), Some(0), 5, 4),
        ("attend", None, Some(2), 30, 4),
        ("block", Some(1), Some(0), 5, 4),
        ("attend", None, Some(4), 30, 4),
        ("rms", None, Some(0), 25, 7),
        ("save", None, Some(0), 9, 1),
        ("there", None, Some(0), 900, 2),
    ]);
    (base[1].flops, candidate[1].flops) = (8_000, 8_000);
    for (scopes, at) in [(&mut base, 8), (&mut candidate, 8)] {
        (scopes[at].file, scopes[at].line) = ("src/lib.rs".to_owned(), 12);
    }
    let found = compared(&profiled(base), &profiled(candidate));
    let mut renamed: Vec<(&str, &str)> =
        found.scopes.iter().filter_map(|scope| Some((scope.was.as_deref()?, scope.name.as_str()))).collect();
    renamed.sort_unstable();
    assert_eq!(
        renamed,
        [("here", "there"), ("layer", "block"), ("layer", "block"), ("matmul", "gemm"), ("norm", "rms")]
    );
    // What is below a scope with another name is known again by its path.
    assert!(found.scopes.iter().filter(|scope| scope.name == "attend").all(|scope| scope.presence == Presence::Kept));
    // One call each is no likeness.
    let presence = |name: &str| found.scopes.iter().find(|scope| scope.name == name).map(|scope| scope.presence);
    assert_eq!((presence("load"), presence("save")), (Some(Presence::Removed), Some(Presence::Added)));
    check_sums(&found);
}

#[test]
fn what_fits_several_is_not_renamed() {
    let found = of_trees(
        &[("run", None, None, 1, 1), ("a", None, Some(0), 50, 8), ("b", None, Some(0), 50, 8)],
        &[("run", None, None, 1, 1), ("c", None, Some(0), 50, 8)],
    );
    assert!(found.scopes.iter().all(|scope| scope.presence != Presence::Renamed));
}

#[test]
fn indices_are_taken_together() {
    let layers = |times: [u64; 2]| {
        tree(&[
            ("run", None, None, 1, 1),
            ("layer", Some(0), Some(0), times[0], 1),
            ("layer", Some(1), Some(0), times[1], 1),
        ])
    };
    let found = compared(&profiled(layers([10, 20])), &profiled(layers([10, 50])));
    let second = found.scopes.iter().find(|scope| scope.index == Some(1)).expect("indices are apart");
    assert_eq!(second.candidate.map(|figures| (figures.total_s * 1e9).round()), Some(50.0));
    let merged = without_indices(&found.scopes);
    assert_eq!(merged.len(), 2);
    assert_eq!(merged[1].candidate.map(|figures| ((figures.total_s * 1e9).round(), figures.calls)), Some((60.0, 2.0)));
    let why = found.why.expect("there are trees");
    assert_eq!((why.parts.len(), why.parts[0].path.join("/").as_str()), (1, "run/layer"));
}

#[test]
fn more_repeats_are_not_more_time() {
    let repeated = |times: u64, each: u64| {
        let mut run = profiled(tree(&[
            ("run", None, None, 10, 1),
            ("inference", None, Some(0), times * 5, times),
            ("token", None, Some(1), times * each, times * 25),
            ("creation", None, Some(0), 1000, 1),
        ]));
        run.rows.push(Row { name: "inference".to_owned(), calls: 1, ..Row::default() });
        let sample = Sample { row: "inference".to_owned(), phase: Phase::Timed, ..Sample::default() };
        run.samples = vec![sample; times as usize];
        run
    };
    let found = compared(&repeated(4, 100), &repeated(10, 110));
    let why = found.why.as_ref().expect("there are trees");
    let parts: Vec<(&str, f64)> = why
        .parts
        .iter()
        .map(|part| (part.path.last().expect("it has a name").as_str(), (part.change.estimate * 1e9).round()))
        .collect();
    assert_eq!(parts, [("token", 40.0)]);
    assert!(found.notes.iter().any(|note| note.contains("`inference` was repeated 4 times before and 10 times after")));
    check_sums(&found);
    // Calls that no repeats explain are a change.
    let mut base = repeated(4, 100);
    base.samples.clear();
    let found = compared(&base, &repeated(10, 100));
    assert!(found.why.as_ref().expect("there are trees").total.estimate > 5e-7);
}

/// Numbers that are the same every time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

/// A tree of some scopes, none of whose figures fit together.
fn wild(chance: &mut Chance) -> Vec<Scope> {
    let count = chance.below(40);
    (0..count)
        .map(|at| Scope {
            name: format!("s{}", chance.below(6)),
            index: (chance.below(3) == 0).then(|| chance.below(4)),
            parent: (at > 0 && chance.below(5) > 0).then(|| chance.below(at) as usize),
            calls: chance.below(4),
            total_ns: chance.below(1_000_000),
            self_ns: chance.below(1_000_000),
            flops: chance.below(3) * 100,
            file: "src/lib.rs".to_owned(),
            line: chance.below(9) as u32,
            allocs_total: (chance.below(2) == 0).then(Allocations::default),
            ..Scope::default()
        })
        .collect()
}

#[test]
fn parts_sum_to_the_whole_in_any_tree() {
    let mut chance = Chance(7);
    for _ in 0..2_000 {
        let (base, candidate) = (wild(&mut chance), wild(&mut chance));
        let counts = [base.len(), candidate.len()];
        let found = compared(&profiled(base), &profiled(candidate));
        let on = |side: fn(&ScopeChange) -> bool| found.scopes.iter().filter(|scope| side(scope)).count();
        assert_eq!([on(|scope| scope.base.is_some()), on(|scope| scope.candidate.is_some())], counts, "none is lost");
        assert!(found.scopes.iter().enumerate().all(|(at, scope)| scope.parent.is_none_or(|parent| parent < at)));
        if counts != [0, 0] {
            check_sums(&found);
        }
    }
}

#[test]
fn deep_trees_are_walked() {
    let chain: Vec<Spec<'_>> = (0..30_000).map(|at: usize| ("down", None, at.checked_sub(1), 3, 1)).collect();
    let mut other = chain.clone();
    other.iter_mut().for_each(|scope| scope.3 = 4);
    let found = of_trees(&chain, &other);
    check_sums(&found);
    assert!(found.why.expect("there is one").parts.len() < 30_000, "the paths of all would take too much memory");
}
