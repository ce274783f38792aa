use super::*;

fn scope(name: &str, parent: Option<usize>, self_ns: u64, total_ns: u64) -> Scope {
    Scope { name: name.into(), parent, self_ns, total_ns, calls: 1, timed_calls: 1, threads: 1, ..Scope::default() }
}

fn profile(scopes: Vec<Scope>) -> Profile {
    Profile { scopes, ..Profile::default() }
}

#[test]
fn recursion_does_not_count_twice() {
    let profile = profile(vec![
        scope("f", None, 1, 10),
        scope("g", Some(0), 2, 9),
        scope("f", Some(1), 3, 7),
        scope("h", Some(2), 4, 4),
    ]);
    let tree = CallTree::new(&profile);
    let found: Vec<(&str, u64, u64)> = tree.names.iter().map(|sum| (sum.name, sum.total_ns, sum.self_ns)).collect();
    assert_eq!(found, [("f", 10, 4), ("g", 9, 2), ("h", 4, 4)]);
    assert_eq!(tree.names[0].mean_s(), Some(8.5e-9));
}

#[test]
fn means_and_rates_are_of_the_calling_thread() {
    let attached = Scope { attached_ns: 6, calls: 2, ..scope("f", None, 1, 10) };
    let profile = profile(vec![attached, scope("g", Some(0), 9, 9)]);
    let tree = CallTree::new(&profile);
    let sum = &tree.names[0];
    assert_eq!((sum.total_ns, sum.attached_ns), (10, 6));
    assert_eq!((sum.mean_s(), sum.work_s()), (Some(2e-9), Some(2e-9)), "4 ns of 2 calls");
}

#[test]
fn indices_are_one_path_and_summed_by_index() {
    let layer = |index: u64, total_ns: u64| Scope { index: Some(index), ..scope("layer", Some(0), 1, total_ns) };
    let scopes = vec![
        scope("pass", None, 2, 40),
        layer(0, 11),
        scope("qkv", Some(1), 10, 10),
        layer(1, 27),
        scope("qkv", Some(3), 26, 26),
    ];
    let profile = profile(scopes);
    let tree = CallTree::new(&profile);
    let paths: Vec<(&str, u64, u64)> =
        tree.paths.iter().map(|path| (path.sum.name, path.sum.total_ns, path.sum.self_ns)).collect();
    assert_eq!(paths, [("pass", 40, 2), ("layer", 38, 2), ("qkv", 36, 36)]);
    for path in &tree.paths {
        let below: u64 = path.children.iter().map(|child| tree.paths[*child].sum.total_ns).sum();
        assert_eq!(path.sum.self_ns + below, path.sum.total_ns);
    }
    let [layers] = &tree.indexed[..] else { panic!("one name has indices") };
    assert_eq!(
        (layers.total_ns, layers.indices.len(), layers.indices[&Some(1)].steps[&tree.name_of(2)].ns),
        (38, 2, 26)
    );
}

#[test]
fn beside_estimated_parts_the_rest_is_an_estimate() {
    let sampled = |name: &str, parent: usize| Scope { is_sampled: true, ..scope(name, Some(parent), 5, 5) };
    let layer = Scope { index: Some(0), ..scope("layer", Some(0), 2, 12) };
    let profile = profile(vec![scope("pass", None, 1, 13), layer, sampled("qkv", 1), scope("norm", Some(1), 5, 5)]);
    let tree = CallTree::new(&profile);
    let marks = |name: &str| {
        let sum = tree.names.iter().find(|sum| sum.name == name).expect("it is there");
        (sum.is_sampled, sum.is_self_estimated)
    };
    assert_eq!(
        ["pass", "layer", "qkv", "norm"].map(marks),
        [(false, false), (false, true), (true, true), (false, false)]
    );
    let member = &tree.indexed[0].indices[&Some(0)];
    let estimated: Vec<&usize> =
        member.steps.iter().filter(|(_, time)| time.is_estimate).map(|(name, _)| name).collect();
    assert!(!member.total.is_estimate && member.own.is_estimate && estimated == [&tree.name_of(2)]);
}

#[test]
fn names_are_as_short_as_they_may_be() {
    let names = ["a::b::c", "a::d::c", "a::e", "<A as B>::f", "x::g", "g", ""];
    let profile = profile(names.iter().map(|name| scope(name, None, 1, 1)).collect());
    let tree = CallTree::new(&profile);
    let short: Vec<&str> = (0..names.len()).map(|number| tree.name(number)).collect();
    assert_eq!(short, ["b::c", "d::c", "e", "<A as B>::f", "x::g", "g", "(no name)"]);
}

#[test]
fn percentiles_of_several_paths_lie_between_theirs() {
    let path = |calls: u64, ns: u64| Scope {
        timed_calls: calls,
        calls,
        min_ns: ns,
        max_ns: 2 * ns,
        p50_ns: Some(ns + ns / 10),
        p90_ns: Some(ns + ns / 5),
        p99_ns: Some(ns + ns / 2),
        ..scope("f", None, ns, ns)
    };
    let profile = profile(vec![path(900, 1_000), path(100, 100_000)]);
    let tree = CallTree::new(&profile);
    let (p50, is_exact) = tree.names[0].percentile(0.5).unwrap();
    assert!(!is_exact && (1_000..1_300).contains(&p50), "{p50}");
    let (p99, _) = tree.names[0].percentile(0.99).unwrap();
    assert!((110_000..=130_000).contains(&p99), "{p99}");
    let alone = self::profile(vec![path(10, 500)]);
    assert_eq!(CallTree::new(&alone).names[0].percentile(0.99), Some((750, true)));
}

#[test]
fn percentiles_of_several_paths_are_those_of_their_durations() {
    let path = |ns: u64, calls: u64| Scope {
        timed_calls: calls,
        calls,
        durations: Some(crate::DurationCounts { ns: vec![ns, 2 * ns], calls: vec![calls - 1, 1] }),
        ..scope("f", None, ns, ns)
    };
    let profile = profile(vec![path(1_000, 900), path(100_000, 100)]);
    let tree = CallTree::new(&profile);
    assert_eq!([0.5, 0.99].map(|q| tree.names[0].percentile(q)), [Some((1_000, true)), Some((100_000, true))]);
}

#[test]
fn errors_of_sums_and_time_on_a_cpu() {
    let sampled = |name: &str, parent, se: u64| Scope {
        is_sampled: true,
        total_se_ns: Some(se),
        self_se_ns: Some(se),
        ..scope(name, parent, 100, 100)
    };
    let layer = |index: u64| Scope { index: Some(index), self_se_ns: Some(4), ..scope("layer", Some(0), 10, 110) };
    let mut profile = profile(vec![
        scope("pass", None, 20, 240),
        layer(0),
        sampled("qkv", Some(1), 3),
        layer(1),
        sampled("qkv", Some(3), 4),
    ]);
    let thread = |wall_ns: u64, waiting_ns: u64, in_scopes_ns: u64| Thread {
        count: 1,
        wall_ns,
        in_scopes_ns,
        waiting_ns: Some(waiting_ns),
        cpu_ns: Some(wall_ns - waiting_ns),
        ..Thread::default()
    };
    // The second one only waits for work, and for a CPU now and then.
    (profile.wall_ns, profile.waiting_ns, profile.outside_ns) = (400, Some(150), 410);
    profile.threads = vec![thread(400, 100, 240), thread(400, 50, 0)];
    let tree = CallTree::new(&profile);
    let qkv = tree.names.iter().find(|sum| sum.name == "qkv").expect("it is there");
    assert_eq!((qkv.total().se, qkv.own().se), (Some(5.0), Some(5.0)));
    let member = &tree.indexed[0].indices[&Some(1)];
    assert_eq!((member.own.se, member.steps[&tree.name_of(2)].se), (Some(4.0), Some(4.0)));
    assert_eq!((tree.waiting_ns(), tree.on_cpu_ns(), tree.idle_ns(), tree.runnable_ns()), (Some(100), 300, 60, 400));
    assert_eq!((tree.accounted_ns(), tree.threads_wall_ns()), (400, 400), "scopes, idle, own cost and waiting");
}

#[test]
fn a_tree_may_be_as_deep_as_it_has_scopes() {
    let count = 50_000;
    let chain =
        |at: usize| scope(if at.is_multiple_of(2) { "f" } else { "g" }, at.checked_sub(1), 1, (count - at) as u64);
    let profile = profile((0..count).map(chain).collect());
    let tree = CallTree::new(&profile);
    assert_eq!((tree.names[0].total_ns, tree.in_scopes_ns()), (count as u64, count as u64));
}
