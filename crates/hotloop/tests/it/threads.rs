//! Many threads, short-lived ones, and snapshots while they run.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;

use hotloop::{Config, scope as open};

use crate::{busy, check_sums, close, exact, ms, ns, record, scope, take_turns, undisturbed};

/// `threads` threads in the same scope, each with its own share of calls.
fn no_call_is_lost(threads: u64) {
    const CALLS: u64 = 50_000;
    let (snapshot, ()) = record(exact(), || {
        let start = Barrier::new(threads as usize);
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    start.wait();
                    for call in 0..CALLS {
                        open!("shared");
                        if call % 2 == 0 {
                            open!("every second");
                        }
                    }
                });
            }
        });
    });
    check_sums(&snapshot);
    let shared = scope(&snapshot, "shared");
    assert_eq!((shared.calls, shared.timed_calls, shared.threads), (threads * CALLS, threads * CALLS, threads));
    assert_eq!(scope(&snapshot, "every second").calls, threads * CALLS / 2);
    assert_eq!(snapshot.threads.iter().map(|thread| thread.calls).sum::<u64>(), threads * CALLS * 3 / 2);
}

#[test]
fn two_threads_in_one_scope() {
    let _turn = take_turns();
    no_call_is_lost(2);
}

#[test]
fn eight_threads_in_one_scope() {
    let _turn = take_turns();
    no_call_is_lost(8);
}

#[test]
fn two_threads_holding_one_scope_are_both_timed() {
    let _turn = take_turns();
    undisturbed(|| {
        let spent = AtomicU64::new(0);
        let (snapshot, ()) = record(exact(), || {
            thread::scope(|threads| {
                for _ in 0..2 {
                    threads.spawn(|| {
                        open!("held");
                        spent.fetch_add(ns(busy(ms(50))), Relaxed);
                    });
                }
            });
        });
        let held = scope(&snapshot, "held");
        assert_eq!(held.calls, 2);
        close("held by two", held.total_ns, spent.load(Relaxed), 1_000_000)
    });
}

#[test]
fn ten_thousand_short_lived_threads_lose_nothing() {
    let _turn = take_turns();
    let (snapshot, ()) = record(exact(), || {
        for _ in 0..625 {
            thread::scope(|threads| {
                for _ in 0..16 {
                    threads.spawn(|| {
                        open!("short-lived");
                        open!("inside");
                    });
                }
            });
        }
    });
    check_sums(&snapshot);
    assert_eq!(scope(&snapshot, "short-lived").calls, 10_000);
    assert_eq!(scope(&snapshot, "inside").calls, 10_000);
    assert_eq!(snapshot.threads.iter().map(|thread| thread.count).sum::<u64>(), 10_000);
    assert!(snapshot.threads.len() < 300, "ended threads are summed, not kept one by one for ever");
    assert_eq!(snapshot.lost.scopes_after_thread_end, 0);
}

#[test]
fn ended_threads_keep_their_names() {
    let _turn = take_turns();
    let (snapshot, ()) = record(exact(), || {
        let work = || {
            open!("named work");
        };
        thread::Builder::new().name("loader".into()).spawn(work).unwrap().join().unwrap();
        let renamed = || {
            hotloop::name_thread("renamed");
            open!("named work");
        };
        thread::spawn(renamed).join().unwrap();
    });
    let names: Vec<Option<&str>> = snapshot.threads.iter().map(|thread| thread.name.as_deref()).collect();
    assert_eq!(names, [Some("loader"), Some("renamed")]);
    assert!(snapshot.threads.iter().all(|thread| !thread.is_alive));
}

/// What a snapshot must never show, whatever the threads were doing when it was taken.
fn check_never_torn(snapshot: &hotloop::Snapshot, last_calls: &mut u64) {
    check_sums(snapshot);
    for scope in &snapshot.scopes {
        assert!(scope.timed_calls <= scope.calls, "{}: {} of {}", scope.name, scope.timed_calls, scope.calls);
        assert!(scope.min_ns <= scope.max_ns || scope.timed_calls == 0, "{}", scope.name);
        if let Some(parent) = scope.parent {
            assert!(scope.total_ns <= snapshot.scopes[parent].total_ns, "{}", scope.name);
        }
    }
    let top: u64 = snapshot.scopes.iter().filter(|scope| scope.parent.is_none()).map(|scope| scope.total_ns).sum();
    let walls: u64 = snapshot.threads.iter().map(|thread| thread.wall_ns).sum();
    assert!(top <= walls + 10, "{top} ns in scopes, {walls} ns of threads");
    let calls = snapshot.scopes.iter().map(|scope| scope.calls).sum();
    assert!(calls >= *last_calls, "calls went from {last_calls} to {calls}");
    *last_calls = calls;
}

#[test]
fn snapshots_under_load_are_never_torn() {
    let _turn = take_turns();
    for config in [exact(), Config::new(), exact().timeline(Some(4096))] {
        let running = AtomicBool::new(true);
        let (_, snapshots) = record(config, || {
            thread::scope(|threads| {
                for _ in 0..3 {
                    threads.spawn(|| {
                        open!("long");
                        while running.load(Relaxed) {
                            open!("a");
                            open!("b");
                            {
                                open!("c");
                            }
                            open!("d");
                        }
                    });
                }
                let (mut snapshots, mut last) = (0, 0);
                let until = std::time::Instant::now() + ms(400);
                while std::time::Instant::now() < until {
                    check_never_torn(&hotloop::snapshot(), &mut last);
                    snapshots += 1;
                }
                running.store(false, Relaxed);
                snapshots
            })
        });
        assert!(snapshots > 5, "only {snapshots} snapshots in 400 ms");
    }
}

#[test]
fn an_open_scope_shows_its_time_so_far() {
    let _turn = take_turns();
    undisturbed(|| {
        let (_, outcome) = record(exact(), || {
            open!("still open");
            let spent = busy(ms(20));
            let shown = scope(&hotloop::snapshot(), "still open");
            assert_eq!((shown.calls, shown.open_calls, shown.timed_calls), (1, 1, 0));
            close("open scope", shown.total_ns, ns(spent), 1_000_000)
        });
        outcome
    });
}
