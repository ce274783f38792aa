//! What programs do that they should not, or seldom: nothing may crash, hang or count wrongly for it.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use hotloop::{Config, Link, Scope, guard, scope as open};

use crate::{busy, check_sums, close, exact, ms, ns, record, scope, take_turns, undisturbed};

/// A link to a path as deep as this, left by a thread that has ended.
fn deep_link(depth: u32) -> Link {
    fn nest(depth: u32) -> Link {
        open!("nest", index = depth);
        if depth == 0 { hotloop::current() } else { nest(depth - 1) }
    }
    thread::spawn(move || nest(depth)).join().unwrap()
}

#[test]
fn two_threads_may_start_at_once() {
    let _turn = take_turns();
    record(exact(), || {
        thread::scope(|threads| {
            for k in 0..2 {
                threads.spawn(move || {
                    for i in 0..60 {
                        let events = if (i + k) % 2 == 0 { 1024 } else { 8192 };
                        Config::new().timeline(Some(events)).start();
                        open!("between");
                    }
                });
            }
        });
        let cost = hotloop::snapshot().own_cost;
        assert!(cost.per_scope_ns > cost.inside_scope_ns && cost.inside_scope_ns > 1.0, "{cost:?}");
    });
}

#[test]
fn attachments_undone_out_of_order_around_a_reset() {
    let _turn = take_turns();
    let (snapshot, ()) = record(exact(), || {
        let (first, second) = (deep_link(40).attach(), deep_link(20).attach());
        drop(first);
        hotloop::reset();
        {
            open!("after reset");
        }
        drop(second);
        open!("later");
        let _link = hotloop::current();
        check_sums(&hotloop::snapshot());
        thread::spawn(|| check_sums(&hotloop::snapshot())).join().unwrap();
    });
    check_sums(&snapshot);
    assert_eq!(scope(&snapshot, "after reset").calls, 1);
    assert_eq!(scope(&snapshot, "later").calls, 1);
}

#[test]
fn a_scope_attached_to_where_it_stands_is_timed_twice_and_counted_once_each() {
    let _turn = take_turns();
    undisturbed(|| {
        // What a thread does that waits for a pool and helps it meanwhile.
        fn half(link: Option<Link>) {
            open!("half");
            spend(ms(10));
            if let Some(link) = link {
                let _attached = link.attach();
                half(None);
            }
        }
        SPENT.store(0, Relaxed);
        let (snapshot, ()) = record(exact(), || {
            open!("forward");
            half(Some(hotloop::current()));
        });
        check_sums(&snapshot);
        let half = scope(&snapshot, "half");
        assert_eq!((half.calls, half.timed_calls), (2, 2));
        close("shorter half", half.min_ns, 10_000_000, 1_000_000)?;
        close("both halves", half.total_ns, SPENT.load(Relaxed), 1_000_000)
    });
}

#[test]
fn attached_time_is_taken_from_the_scope_that_was_left() {
    let _turn = take_turns();
    undisturbed(|| {
        SPENT.store(0, Relaxed);
        let (snapshot, own) = record(exact(), || {
            let link = {
                open!("request");
                hotloop::current()
            };
            let worker = thread::spawn(move || {
                open!("worker loop");
                let own = busy(ms(5));
                for _ in 0..3 {
                    let _attached = link.attach();
                    open!("job");
                    spend(ms(10));
                }
                own
            });
            worker.join().unwrap()
        });
        check_sums(&snapshot);
        let jobs = SPENT.load(Relaxed);
        close("jobs", scope(&snapshot, "job").total_ns, jobs, 1_000_000)?;
        close("request", scope(&snapshot, "request").total_ns, jobs, 1_000_000)?;
        close("attached to it", scope(&snapshot, "request").attached_ns, jobs, 1_000_000)?;
        close("loop without the jobs", scope(&snapshot, "worker loop").total_ns, ns(own), 1_000_000)
    });
}

#[test]
fn nested_attachments_count_each_time_once() {
    let _turn = take_turns();
    undisturbed(|| {
        let (snapshot, spent) = record(exact(), || {
            let link = |name: &str| {
                open!("parent");
                if name == "q" {
                    open!("q");
                    hotloop::current()
                } else {
                    open!("r");
                    hotloop::current()
                }
            };
            let (q, r) = (link("q"), link("r"));
            let _outer = q.attach();
            let before = busy(ms(10));
            let inner = {
                let _inner = r.attach();
                busy(ms(20))
            };
            (before + busy(ms(10)), inner)
        });
        check_sums(&snapshot);
        close("q", scope(&snapshot, "q").total_ns, ns(spent.0), 1_000_000)?;
        close("r", scope(&snapshot, "r").total_ns, ns(spent.1), 1_000_000)?;
        close("parent", scope(&snapshot, "parent").total_ns, ns(spent.0 + spent.1), 2_000_000)
    });
}

#[test]
fn a_scope_left_open_in_an_attachment_ends_with_it() {
    let _turn = take_turns();
    undisturbed(|| {
        let (snapshot, spent) = record(exact(), || {
            let attached = deep_link(3).attach();
            let left = guard!("left open");
            let spent = busy(ms(10));
            drop(attached);
            drop(left);
            busy(ms(20));
            spent
        });
        let left = scope(&snapshot, "left open");
        assert_eq!((left.calls, left.open_calls), (1, 0));
        close("left open", left.total_ns, ns(spent), 1_000_000)
    });
}

#[test]
fn an_attachment_over_a_pause_counts_without_it() {
    let _turn = take_turns();
    undisturbed(|| {
        let (snapshot, spent) = record(exact(), || {
            let link = deep_link(0);
            hotloop::stop();
            busy(ms(30));
            exact().start();
            let _attached = link.attach();
            let first = busy(ms(10));
            hotloop::stop();
            busy(ms(30));
            exact().start();
            first + busy(ms(10))
        });
        close("attached", scope(&snapshot, "nest").total_ns, ns(spent), 2_000_000)
    });
}

thread_local! {
    /// Made before the thread's first scope, so dropped after the profiler has taken leave of the thread.
    static HELD: RefCell<Option<Late>> = const { RefCell::new(None) };
}

struct Late(Option<Scope>);

impl Drop for Late {
    fn drop(&mut self) {
        if let Some(scope) = &mut self.0 {
            scope.add_flops(1_000_000);
        }
        open!("too late");
    }
}

#[test]
fn guards_that_outlive_their_thread_touch_nothing() {
    let _turn = take_turns();
    let running = AtomicBool::new(true);
    let (snapshot, ()) = record(exact(), || {
        thread::scope(|threads| {
            threads.spawn(|| {
                while running.load(Relaxed) {
                    thread::spawn(|| {
                        open!("other");
                    })
                    .join()
                    .unwrap();
                }
            });
            for _ in 0..50 {
                let outlived = || {
                    HELD.with(|held| *held.borrow_mut() = Some(Late(None)));
                    HELD.with(|held| held.borrow_mut().as_mut().unwrap().0 = Some(guard!("outlived")));
                };
                thread::spawn(outlived).join().unwrap();
            }
            running.store(false, Relaxed);
        });
    });
    check_sums(&snapshot);
    assert_eq!(scope(&snapshot, "other").flops, 0);
    assert_eq!(scope(&snapshot, "outlived").calls, 50);
    assert!(snapshot.find("too late").is_none() && snapshot.lost.scopes_after_thread_end >= 50, "{:?}", snapshot.lost);
}

#[test]
fn calls_without_room_are_counted_as_such_and_nowhere_else() {
    let _turn = take_turns();
    fn dive(depth: u32) {
        open!("deep", index = depth);
        match depth {
            0 => {
                open!("too deep", flops = 1000);
            }
            _ => dive(depth - 1),
        }
    }
    let (snapshot, ()) = record(exact(), || dive(255));
    assert!(snapshot.find("too deep").is_none());
    assert_eq!((scope(&snapshot, "deep").calls, scope(&snapshot, "deep").flops), (256, 0));
    assert_eq!(snapshot.lost.calls_without_room, 1);
}

#[test]
fn indices_of_many_threads_are_bounded_together() {
    let _turn = take_turns();
    let work = |first: u64| {
        thread::spawn(move || {
            for index in first..first + 1000 {
                open!("request", index = index);
            }
        })
        .join()
        .unwrap();
    };
    let (snapshot, ()) = record(exact().percentiles(false), || (0..20).for_each(|thread| work(thread * 1000)));
    assert_eq!(scope(&snapshot, "request").calls, 20_000);
    assert_eq!(snapshot.scopes.len(), 4097);
    assert_eq!(snapshot.lost.calls_with_other_index, 20_000 - 4096);
    let (snapshot, ()) = record(exact(), || work(500_000));
    assert_eq!(snapshot.scopes.len(), 1000, "a reset makes room again");
}

#[test]
fn starts_stops_and_resets_in_a_storm() {
    let _turn = take_turns();
    let running = AtomicBool::new(true);
    let (_, ()) = record(Config::new(), || {
        thread::scope(|threads| {
            for _ in 0..3 {
                threads.spawn(|| {
                    while running.load(Relaxed) {
                        open!("storm", index = 3, flops = 1);
                        let link = hotloop::current();
                        open!("inside");
                        let _attached = link.attach();
                        open!("attached");
                    }
                });
            }
            for turn in 0..300_usize {
                match turn % 5 {
                    0 => hotloop::stop(),
                    1 => Config::new().timeline(Some(1024 << (turn % 3))).start(),
                    2 => hotloop::reset(),
                    3 => exact().start(),
                    _ => check_sums(&hotloop::snapshot()),
                }
            }
            running.store(false, Relaxed);
        });
    });
    let (snapshot, ()) = record(exact(), || {
        for _ in 0..1000 {
            open!("calm", flops = 3);
        }
    });
    assert_eq!((scope(&snapshot, "calm").calls, scope(&snapshot, "calm").flops), (1000, 3000));
}

#[test]
fn a_guard_that_outlives_its_attachment_closes_nothing_else() {
    let _turn = take_turns();
    undisturbed(|| {
        let (snapshot, spent) = record(exact(), || {
            let attached = deep_link(0).attach();
            let held = guard!("held");
            drop(attached);
            hotloop::reset();
            {
                open!("first");
            }
            let spent = {
                open!("second");
                drop(held);
                busy(ms(10))
            };
            open!("after");
            spent
        });
        check_sums(&snapshot);
        assert!(snapshot.lost.unbalanced_scopes <= 1);
        for name in ["first", "second", "after"] {
            let scope = snapshot.scopes.iter().find(|scope| scope.name.ends_with(name)).unwrap();
            assert_eq!((scope.calls, scope.depth), (1, 0), "{name}");
        }
        close("second", scope(&snapshot, "second").total_ns, ns(spent), 1_000_000)
    });
}

/// What the scopes below really spent, since the last reset.
static SPENT: AtomicU64 = AtomicU64::new(0);

fn spend(time: Duration) {
    SPENT.fetch_add(ns(busy(time)), Relaxed);
}

fn pause() {
    hotloop::stop();
    busy(ms(40));
    exact().start();
}

fn reset() {
    busy(ms(40));
    SPENT.store(0, Relaxed);
    hotloop::reset();
}

/// The same path twice on one thread, with something in between.
fn twice(link: Link, between: fn(), is_inner: bool) {
    let _attached = is_inner.then(|| link.attach());
    open!("twice");
    if is_inner {
        between();
    }
    spend(ms(5));
    if !is_inner {
        twice(link, between, true);
    }
}

#[test]
fn a_scope_set_aside_knows_of_pauses_and_resets() {
    let _turn = take_turns();
    for between in [pause, reset] {
        undisturbed(|| {
            SPENT.store(0, Relaxed);
            let (snapshot, ()) = record(exact(), || {
                open!("top");
                twice(hotloop::current(), between, false);
            });
            check_sums(&snapshot);
            let twice = scope(&snapshot, "twice");
            assert_eq!((twice.calls, twice.open_calls), (2, 0));
            close("both calls", twice.total_ns, SPENT.load(Relaxed), 1_000_000)
        });
    }
}

#[test]
fn a_scope_that_an_ended_thread_left_open_ended_with_it() {
    let _turn = take_turns();
    let (snapshot, ()) = record(exact(), || {
        thread::spawn(|| {
            std::mem::forget(guard!("leaked"));
            busy(ms(5));
        })
        .join()
        .unwrap();
    });
    let leaked = scope(&snapshot, "leaked");
    assert_eq!((leaked.calls, leaked.open_calls, leaked.timed_calls), (1, 0, 1));
    assert!(leaked.min_ns >= 4_900_000 && leaked.min_ns == leaked.max_ns && leaked.max_ns <= snapshot.wall_ns);
}

#[test]
fn one_disorder_does_not_spoil_attaching_from_sampled_scopes() {
    let _turn = take_turns();
    let (snapshot, ()) = record(Config::new(), || {
        let (first, second) = (guard!("first"), guard!("second"));
        drop(first);
        drop(second);
        let link = deep_link(0);
        for _ in 0..50_000 {
            open!("sampled");
            drop(link.attach());
            open!("child");
        }
    });
    let children: Vec<usize> =
        snapshot.scopes.iter().filter(|scope| scope.name.ends_with("child")).map(|scope| scope.depth).collect();
    assert_eq!(children, [1], "all below the sampled scope");
    assert_eq!(scope(&snapshot, "child").calls, 50_000);
    assert!(snapshot.lost.unbalanced_scopes <= 2);
}

#[test]
fn guards_that_are_forgotten_cost_no_other_scope() {
    let _turn = take_turns();
    for config in [exact(), Config::new()] {
        let (snapshot, ()) = record(config, || {
            open!("loop");
            for _ in 0..5_000 {
                std::mem::forget(guard!("forgotten"));
                open!("innocent");
            }
            open!("later");
        });
        let calls = ["forgotten", "innocent", "later"].map(|name| scope(&snapshot, name).calls);
        assert_eq!(calls, [5_000, 5_000, 1]);
        assert_eq!(snapshot.lost.calls_without_room, 0);
        assert!(snapshot.lost.leaked_scopes > 4_900, "{:?}", snapshot.lost);
    }
}
