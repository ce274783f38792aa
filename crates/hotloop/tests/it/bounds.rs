//! Nothing grows without bound, and what does not fit is counted.

use hotloop::{Config, Snapshot, scope as open};

use crate::{check_sums, exact, record, scope, take_turns};

/// The memory this process has, in bytes; `None` where the system does not say.
fn resident_bytes() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    Some(statm.split_whitespace().nth(1)?.parse::<u64>().ok()? * 4096)
}

/// How much it has more than before; nothing where the system does not say.
fn grown_since(before: Option<u64>) -> u64 {
    let Some((before, after)) = before.zip(resident_bytes()) else {
        eprintln!("skipped: this system does not tell how much memory a process has");
        return 0;
    };
    after.saturating_sub(before)
}

fn many(scopes: u64) {
    for _ in 0..scopes / 4 {
        open!("a");
        open!("b");
        {
            open!("c");
        }
        open!("d");
    }
}

/// What was recorded while `work` took no more than 256 KiB. Other tests of this process may take memory meanwhile, so it is tried three
/// times: what is ours grows every time.
#[track_caller]
fn bounded(config: Config, before: impl Fn(), work: impl Fn()) -> Snapshot {
    let mut grown = 0;
    for _ in 0..3 {
        let snapshot;
        (snapshot, grown) = record(config, || {
            before();
            let before = resident_bytes();
            work();
            grown_since(before)
        });
        if grown <= 256 << 10 {
            return snapshot;
        }
    }
    panic!("grew by {grown} bytes");
}

#[test]
fn a_billion_scopes_do_not_grow_memory() {
    let _turn = take_turns();
    // Timed one by one a billion would take half a minute, so most are sampled; the tree does not know the difference.
    for (config, scopes) in [(Config::new(), 1_000_000_000), (exact().timeline(Some(4096)), 20_000_000)] {
        let snapshot = bounded(config, || many(100_000), || many(scopes - 100_000));
        check_sums(&snapshot);
        assert_eq!(snapshot.scopes.iter().map(|scope| scope.calls).sum::<u64>(), scopes);
    }
}

#[test]
fn a_million_indices_are_bounded_and_counted() {
    let _turn = take_turns();
    let run = |indices| {
        for index in 0..indices {
            open!("indexed", index = index);
        }
    };
    let snapshot = bounded(exact(), || run(2_000), || run(1_000_000));
    check_sums(&snapshot);
    assert_eq!(scope(&snapshot, "indexed").calls, 1_002_000);
    assert_eq!(snapshot.scopes.len(), 1025);
    let others = snapshot.scopes.iter().find(|scope| scope.is_other_index).unwrap();
    assert_eq!(others.calls, 1_002_000 - 2 * 1024);
    assert_eq!(snapshot.lost.calls_with_other_index, 1_002_000 - 2 * 1024);
}

#[test]
fn negative_indices_share_a_row_and_are_counted() {
    let _turn = take_turns();
    let (snapshot, ()) = record(exact(), || {
        for index in -3..3 {
            open!("signed", index = index);
        }
        for index in [i64::MIN, -1, i64::MAX] {
            open!("wide", index = index);
        }
        for index in [u64::MAX, u64::MAX - 1, i64::MAX.cast_unsigned() + 1] {
            open!("unsigned", index = index);
        }
        open!("narrow", index = -1_i8, flops = 5);
    });
    check_sums(&snapshot);
    let rows = |name: &str| {
        let rows = snapshot.scopes.iter().filter(|scope| scope.name.ends_with(name));
        let mut rows: Vec<_> = rows.map(|scope| (scope.index, scope.is_other_index, scope.calls)).collect();
        rows.sort_unstable();
        rows
    };
    let other = |calls| (None, true, calls);
    assert_eq!(rows("::signed"), [other(3), (Some(0), false, 1), (Some(1), false, 1), (Some(2), false, 1)]);
    assert_eq!(rows("::wide"), [other(2), (Some(i64::MAX.cast_unsigned()), false, 1)]);
    assert_eq!(rows("::unsigned"), [other(3)]);
    assert_eq!(rows("::narrow"), [other(1)]);
    assert_eq!(scope(&snapshot, "narrow").flops, 5);
    assert_eq!(snapshot.lost.calls_with_other_index, 3 + 2 + 3 + 1);
}

fn dive(depth: u32) {
    open!("dive");
    if depth > 0 {
        dive(depth - 1);
    }
}

#[test]
fn deep_recursion_is_folded_and_counted() {
    let _turn = take_turns();
    let work = || {
        let deep = std::thread::Builder::new().stack_size(256 << 20).spawn(|| dive(99_999)).unwrap();
        deep.join().unwrap();
    };
    let (snapshot, ()) = record(exact(), work);
    check_sums(&snapshot);
    let dive = scope(&snapshot, "dive");
    assert_eq!(dive.calls, 100_000, "every call is counted");
    assert!(snapshot.scopes.len() <= 256);
    assert!(dive.total_ns <= snapshot.wall_ns);
}

fn indexed_dive(depth: u32) {
    open!("indexed", index = depth);
    if depth < 9_999 {
        indexed_dive(depth + 1);
    }
}

#[test]
fn indices_too_deep_for_a_row_are_counted_as_lost() {
    let _turn = take_turns();
    let work = || std::thread::Builder::new().stack_size(64 << 20).spawn(|| indexed_dive(0)).unwrap().join().unwrap();
    let (snapshot, ()) = record(exact(), work);
    assert!(snapshot.scopes.iter().all(|scope| scope.calls == 1), "no row has the calls of others");
    let rows = snapshot.scopes.len() as u64;
    assert_eq!(rows + snapshot.lost.calls_with_folded_index, 10_000);
}

#[test]
fn a_hundred_thousand_paths_are_read_and_reported_in_time() {
    let _turn = take_turns();
    let (snapshot, ()) = record(exact().percentiles(false), || {
        for outer in 0..320_u32 {
            open!("outer", index = outer);
            for inner in 0..312_u32 {
                open!("inner", index = inner);
            }
        }
        let start = std::time::Instant::now();
        let report = hotloop::snapshot().report(20);
        eprintln!("100,000 paths: snapshot and report in {:?}", start.elapsed());
        assert!(report.contains("inner"));
    });
    assert_eq!(scope(&snapshot, "inner").calls, 320 * 312);
    assert_eq!(snapshot.scopes.len(), 320 * 313);
}
