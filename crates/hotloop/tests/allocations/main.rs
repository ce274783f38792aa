//! Allocations of known number and size, and what the profiler says of them.
#![cfg(feature = "enabled")]

use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;

use hotloop::{AllocStats, Config, ScopeStats, Snapshot, scope as open};

#[global_allocator]
static ALLOCATOR: hotloop::Allocator = hotloop::Allocator::system();

/// The profiler is one per process: tests that use it take turns.
fn take_turns() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn record<R>(work: impl FnOnce() -> R) -> Snapshot {
    hotloop::stop();
    hotloop::reset();
    Config::new().budget(None).start();
    work();
    hotloop::stop();
    hotloop::snapshot()
}

#[track_caller]
fn scope(snapshot: &Snapshot, name: &str) -> ScopeStats {
    snapshot.find(name).unwrap_or_else(|| panic!("no scope {name} in\n{}", snapshot.report(50)))
}

fn stats(allocs: u64, alloc_bytes: u64, frees: u64, free_bytes: u64) -> AllocStats {
    AllocStats { allocs, alloc_bytes, frees, free_bytes, reallocs: 0 }
}

/// An allocation of exactly this size.
fn block(bytes: usize) -> Vec<u8> {
    black_box(Vec::with_capacity(bytes))
}

#[test]
fn counts_and_bytes_are_exact_by_scope() {
    let _turn = take_turns();
    let snapshot = record(|| {
        open!("outer");
        let kept = block(1000);
        for _ in 0..10 {
            open!("inner");
            drop(block(100));
            drop(block(24));
        }
        let zeroed = black_box(vec![0_u8; 500]);
        drop((kept, zeroed));
    });
    let (outer, inner) = (scope(&snapshot, "outer"), scope(&snapshot, "inner"));
    assert_eq!(outer.allocs, stats(2, 1500, 2, 1500));
    assert_eq!(inner.allocs, stats(20, 1240, 20, 1240));
    assert_eq!(outer.allocs_total, stats(22, 2740, 22, 2740));
    assert_eq!(outer.peak_live_bytes, 1500);
    assert_eq!(inner.peak_live_bytes, 100);
    assert!(snapshot.allocations_counted);
}

#[test]
fn a_chain_of_reallocations_is_charged_for_its_growth() {
    let _turn = take_turns();
    let snapshot = record(|| {
        open!("grow");
        let mut grown = block(100);
        for bytes in [200, 400, 800, 1600] {
            grown.reserve_exact(bytes);
            grown = black_box(grown);
        }
        grown.shrink_to(50);
        {
            open!("elsewhere");
            drop(grown);
        }
    });
    let expected = AllocStats { allocs: 1, alloc_bytes: 1600, frees: 0, free_bytes: 1550, reallocs: 5 };
    assert_eq!(scope(&snapshot, "grow").allocs, expected);
    assert_eq!(scope(&snapshot, "elsewhere").allocs, stats(0, 0, 1, 50));
    assert_eq!(scope(&snapshot, "grow").peak_live_bytes, 1600);
}

#[test]
fn allocations_belong_to_the_thread_that_makes_them() {
    let _turn = take_turns();
    let snapshot = record(|| {
        let (to_other, go) = mpsc::channel::<()>();
        let (to_main, done) = mpsc::channel::<()>();
        let other = thread::spawn(move || {
            open!("busy thread");
            go.recv().unwrap();
            for _ in 0..100 {
                drop(block(1 << 20));
            }
            to_main.send(()).unwrap();
        });
        // Channels allocate when they first wait; that is done before the scope that must stay clean.
        thread::sleep(std::time::Duration::from_millis(20));
        to_other.send(()).unwrap();
        {
            open!("idle thread");
            while done.try_recv().is_err() {
                std::hint::spin_loop();
            }
        }
        other.join().unwrap();
    });
    let idle = scope(&snapshot, "idle thread").allocs;
    assert!(idle.alloc_bytes < 1000, "charged for another thread's 100 MiB: {idle:?}");
    let busy = scope(&snapshot, "busy thread").allocs;
    assert!(busy.allocs >= 100 && busy.alloc_bytes >= 100 << 20 && busy.alloc_bytes < (100 << 20) + 10_000, "{busy:?}");
}

#[test]
fn a_free_on_another_thread_is_charged_there() {
    let _turn = take_turns();
    let snapshot = record(|| {
        let made = {
            open!("makes");
            block(4096)
        };
        thread::spawn(move || {
            open!("frees");
            drop(made);
        })
        .join()
        .unwrap();
    });
    assert_eq!(scope(&snapshot, "makes").allocs, stats(1, 4096, 0, 0));
    assert_eq!(scope(&snapshot, "frees").allocs, stats(0, 0, 1, 4096));
    assert_eq!(scope(&snapshot, "frees").peak_live_bytes, 0, "never below zero, never wrapped");
}

#[test]
fn threads_without_scopes_pay_outside() {
    let _turn = take_turns();
    let snapshot = record(|| {
        open!("main");
        thread::spawn(|| drop(block(1 << 20))).join().unwrap();
    });
    let outside = snapshot.outside_allocs;
    assert!(outside.alloc_bytes >= 1 << 20 && outside.free_bytes >= 1 << 20, "{outside:?}");
    assert!(scope(&snapshot, "main").allocs.alloc_bytes < 1 << 20);
}

#[test]
fn peaks_are_of_one_call_and_above_its_entry() {
    let _turn = take_turns();
    let snapshot = record(|| {
        open!("holds");
        let base = block(10_000);
        for size in [300, 100, 200] {
            open!("call");
            let first = block(size);
            drop(block(50));
            drop(first);
        }
        let open_peak = scope(&hotloop::snapshot(), "holds").peak_live_bytes;
        assert!((10_000..60_000).contains(&open_peak), "seen while open: {open_peak}");
        drop(base);
    });
    assert_eq!(scope(&snapshot, "call").peak_live_bytes, 350);
}

#[test]
fn recording_itself_allocates_nothing_in_steady_state() {
    let _turn = take_turns();
    hotloop::stop();
    hotloop::reset();
    Config::new().timeline(Some(4096)).start();
    let work = || {
        for turn in 0..20_000_u32 {
            open!("steady", index = turn % 8, flops = 1);
            open!("below");
        }
    };
    work();
    hotloop::assert_no_alloc!(work());
    hotloop::stop();
    let snapshot = hotloop::snapshot();
    assert_eq!(scope(&snapshot, "steady").calls, 40_000);
    assert_eq!(scope(&snapshot, "steady").allocs_total, AllocStats::default());
}

#[test]
fn first_calls_do_not_charge_the_profilers_own_memory() {
    let _turn = take_turns();
    let snapshot = record(|| {
        open!("fresh");
        for index in 0..500_u32 {
            open!("child", index = index);
        }
    });
    assert_eq!(scope(&snapshot, "fresh").allocs_total, AllocStats::default());
}

fn panic_text(work: impl FnOnce()) -> String {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let panic = catch_unwind(AssertUnwindSafe(work)).expect_err("the assertion holds");
    std::panic::set_hook(hook);
    panic.downcast_ref::<String>().cloned().expect("a formatted message")
}

#[test]
fn assert_no_alloc_tells_the_two_apart() {
    let _turn = take_turns();
    hotloop::stop();
    let mut buffer = block(64);
    assert_eq!(
        hotloop::assert_no_alloc!({
            buffer.push(1);
            7
        }),
        7
    );
    let text = panic_text(|| hotloop::assert_no_alloc!(drop(block(10))));
    assert_eq!(text, "1 allocation or reallocation where none are allowed");
    let text = panic_text(|| hotloop::assert_no_alloc!(buffer.reserve_exact(1000)));
    assert!(text.starts_with("1 allocation "), "{text}");
    // Another thread's allocations are its own affair.
    let (to_other, go) = mpsc::sync_channel::<()>(1);
    let other = thread::spawn(move || {
        go.recv().unwrap();
        drop(block(1000));
    });
    hotloop::assert_no_alloc!(thread::yield_now());
    to_other.send(()).unwrap();
    other.join().unwrap();
}

fn returns(early: bool) -> usize {
    hotloop::assert_no_alloc!({
        if early {
            return 5;
        }
    });
    6
}

fn always_returns() -> usize {
    hotloop::assert_no_alloc!({ return 7 })
}

fn propagates(text: &str) -> Result<usize, std::num::ParseIntError> {
    let number: usize = hotloop::assert_no_alloc!(text.parse()?);
    Ok(number + 1)
}

fn breaks() -> (usize, usize) {
    let mut turns = 0;
    let found = loop {
        hotloop::assert_no_alloc!({
            turns += 1;
            if turns < 3 {
                continue;
            }
            break turns * 10;
        });
    };
    (turns, found)
}

fn returns_what_it_allocated() -> Vec<u8> {
    hotloop::assert_no_alloc!({ return block(10) });
}

#[test]
fn assert_no_alloc_is_left_as_any_block() {
    let _turn = take_turns();
    hotloop::stop();
    assert_eq!((returns(true), returns(false), always_returns()), (5, 6, 7));
    assert_eq!((propagates("41"), propagates("x").is_err()), (Ok(42), true));
    assert_eq!(breaks(), (3, 30));
    let text = panic_text(|| drop(returns_what_it_allocated()));
    assert!(text.starts_with("1 allocation or reallocation where none are allowed, before the block"), "{text}");
    assert!(text.contains("allocations/main.rs:") && text.ends_with("was left early"), "{text}");
    assert_eq!(panic_text(|| hotloop::assert_no_alloc!(panic!("{:?}", block(10)))), "[]", "the first panic stays");
    // All watches have ended: the next one counts from nothing.
    hotloop::assert_no_alloc!(hotloop::assert_no_alloc!(()));
}

#[test]
fn assert_no_alloc_panics_where_it_stands() {
    let _turn = take_turns();
    let place = std::sync::Arc::new(Mutex::new(None));
    let seen = place.clone();
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        *seen.lock().unwrap() = panic.location().map(|place| (place.file().to_owned(), place.line()));
    }));
    let line = line!() + 1;
    let result = catch_unwind(|| hotloop::assert_no_alloc!(drop(block(10))));
    std::panic::set_hook(hook);
    assert!(result.is_err());
    assert_eq!(place.lock().unwrap().take(), Some((file!().to_owned(), line)));
}

#[test]
fn assertions_about_scopes_name_what_is_wrong() {
    let _turn = take_turns();
    hotloop::stop();
    hotloop::reset();
    Config::new().budget(None).start();
    for _ in 0..3 {
        open!("decode");
        drop(block(10));
    }
    hotloop::stop();
    hotloop::assert_allocs!("decode" <= 3);
    let text = panic_text(|| hotloop::assert_allocs!("decode" <= 2));
    assert!(
        text.contains("`allocations::decode` made 3 allocations or reallocations (30 bytes) in 3 calls; at most 2"),
        "{text}"
    );
    let text = panic_text(|| hotloop::assert_allocs!("encode" <= 2));
    assert!(text.contains("no scope `encode` was recorded; recorded were: allocations::decode"), "{text}");
    use std::time::Duration;
    hotloop::assert_time!("decode", p99 <= Duration::from_secs(1));
    hotloop::assert_time!("decode", total <= Duration::from_secs(1));
    let text = panic_text(|| hotloop::assert_time!("decode", max <= Duration::ZERO));
    assert!(text.contains("(max of 3 calls); at most 0ns are allowed"), "{text}");
    let text = panic_text(|| hotloop::assert_time!("decode", p75 <= Duration::ZERO));
    assert!(text.contains("`p75` of scope `allocations::decode` is not measured"), "{text}");
}

#[test]
fn exact_again_after_a_storm_of_starts_stops_and_resets() {
    let _turn = take_turns();
    hotloop::stop();
    hotloop::reset();
    Config::new().start();
    fn one(turn: u64) {
        open!("worker", index = turn % 50, flops = 3);
        {
            open!("allocates");
            drop(block(32));
        }
        open!("tail");
    }
    let link = {
        open!("main");
        hotloop::current()
    };
    let running = AtomicBool::new(true);
    let attached = |turn| {
        let _attached = link.attach();
        one(turn);
    };
    thread::scope(|threads| {
        let workers: Vec<_> = (0..3)
            .map(|k| {
                let (running, attached) = (&running, &attached);
                threads.spawn(move || {
                    let mut turn = 0;
                    while running.load(Relaxed) {
                        turn += 1;
                        if k == 0 { attached(turn) } else { one(turn) }
                    }
                })
            })
            .collect();
        for k in 0..2_usize {
            let running = &running;
            threads.spawn(move || {
                let mut turn = k;
                while running.load(Relaxed) {
                    turn += 1;
                    match turn % 4 {
                        0 => hotloop::reset(),
                        1 => hotloop::stop(),
                        2 => Config::new().timeline((turn % 3 == 0).then_some(4096)).start(),
                        _ => drop(hotloop::snapshot().report(5)),
                    }
                }
            });
        }
        thread::sleep(std::time::Duration::from_millis(1500));
        running.store(false, Relaxed);
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    });
    let snapshot = record(|| {
        thread::scope(|threads| {
            for k in 0..3 {
                let attached = &attached;
                threads.spawn(move || (0..2_000).for_each(|turn| if k == 0 { attached(turn) } else { one(turn) }));
            }
        });
    });
    let (worker, allocates) = (scope(&snapshot, "worker"), scope(&snapshot, "allocates"));
    assert_eq!((worker.calls, worker.flops, scope(&snapshot, "tail").calls), (6_000, 18_000, 6_000));
    assert_eq!((allocates.calls, allocates.allocs), (6_000, stats(6_000, 192_000, 6_000, 192_000)));
}
