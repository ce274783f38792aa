//! Every part once, whatever happens around it.

mod items;
#[cfg(all(target_os = "linux", not(miri)))]
mod processes;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use kernels::{Pool, usable_cpus};

use crate::effort::rounds;

/// On any machine this includes pools with more threads than CPUs.
const THREADS: &[usize] = if cfg!(miri) { &[0, 1, 2, 3] } else { &[0, 1, 2, 3, 8, 64] };
const PARTS: &[usize] = if cfg!(miri) { &[0, 1, 2, 3, 7] } else { &[0, 1, 2, 3, 7, 8, 63, 64, 65, 1000] };
/// Longer than any scheduler takes to let a waiting thread run; a wait as long as this has failed.
const FAR_TOO_LONG: Duration = Duration::from_secs(60);

/// Runs a region and checks that every part ran once and that its result is visible.
#[track_caller]
fn check_region(pool: &Pool, parts: usize) {
    let runs: Vec<AtomicUsize> = (0..parts).map(|_| AtomicUsize::new(0)).collect();
    pool.run(parts, |part| {
        runs[part].fetch_add(1, Relaxed);
    });
    assert!(runs.iter().all(|count| count.load(Relaxed) == 1), "{pool:?}, {parts} parts: {runs:?}");
}

/// A region in which each of two parts waits for the other to begin: it ends only if a worker comes.
fn meet(pool: &Pool) {
    meet_then(pool, || ());
}

/// The same, then the worker does something more.
fn meet_then(pool: &Pool, more: impl Fn() + Sync) {
    let caller = thread::current().id();
    let begun = AtomicUsize::new(0);
    pool.run(2, |_| {
        begun.fetch_add(1, Relaxed);
        let start = Instant::now();
        while begun.load(Relaxed) < 2 {
            assert!(start.elapsed() < FAR_TOO_LONG, "no worker came");
            thread::yield_now();
        }
        if thread::current().id() != caller {
            more();
        }
    });
}

/// What a panic says, where a string was thrown.
fn message(work: impl FnOnce()) -> Option<String> {
    let payload = catch_unwind(AssertUnwindSafe(work)).err()?;
    payload.downcast::<String>().ok().map(|text| *text)
}

/// Panics without the usual lines on the terminal.
fn throw(text: impl Into<String>) -> ! {
    resume_unwind(Box::new(text.into()))
}

#[test]
fn every_part_runs_exactly_once() {
    for &threads in THREADS {
        let pool = Pool::new(threads);
        assert_eq!(pool.threads(), threads.max(1));
        for &parts in PARTS {
            for _ in 0..rounds(10, 2) {
                check_region(&pool, parts);
            }
        }
    }
}

#[test]
fn plain_writes_of_all_parts_are_visible() {
    let pool = Pool::new(2);
    for round in 0..rounds(20_000, 20) as u64 {
        let mut rows = [[0_u64; 3]; 7];
        let cells: Vec<std::sync::Mutex<&mut [u64; 3]>> = rows.iter_mut().map(std::sync::Mutex::new).collect();
        pool.run(cells.len(), |part| **cells[part].lock().unwrap() = [round, part as u64, round ^ part as u64]);
        drop(cells);
        for (row, part) in rows.iter().zip(0..) {
            assert_eq!(*row, [round, part, round ^ part]);
        }
    }
}

#[test]
fn the_caller_has_the_first_part_and_workers_have_names() {
    let pool = Pool::new(3);
    let caller = thread::current().id();
    pool.run(50, |part| {
        let current = thread::current();
        match current.id() == caller {
            true => (),
            false => assert!(part > 0 && ["hotloop-1", "hotloop-2"].contains(&current.name().unwrap())),
        }
    });
}

#[test]
#[cfg_attr(miri, ignore = "about time")]
fn workers_come_at_once_after_a_silence_and_when_woken() {
    let pool = Pool::new(2);
    meet(&pool);
    // Silences on both sides of the moment when the worker parks, where a wake-up could be lost.
    for round in 0..400_u64 {
        let start = Instant::now();
        while start.elapsed() < Duration::from_micros(round % 300) {
            std::hint::spin_loop();
        }
        if round % 3 == 0 {
            pool.wake();
        }
        meet(&pool);
    }
    for _ in 0..10 {
        thread::sleep(Duration::from_millis(3));
        meet(&pool);
    }
}

#[test]
#[cfg_attr(miri, ignore = "about time")]
fn the_caller_waits_for_slow_parts_awake_and_asleep() {
    for threads in [2, usable_cpus() + 2] {
        let pool = Pool::new(threads);
        for micros in [0, 5, 30, 300, 1500, 5000, 20_000] {
            for _ in 0..5 {
                let done = AtomicBool::new(false);
                meet_then(&pool, || {
                    thread::sleep(Duration::from_micros(micros));
                    done.store(true, Relaxed);
                });
                assert!(done.into_inner(), "{threads} threads, {micros} us");
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "about time")]
fn more_threads_than_cpus_come_too() {
    let pool = Pool::new(usable_cpus() + 3);
    for round in 0..200 {
        if round % 10 == 0 {
            thread::sleep(Duration::from_micros(300));
        }
        meet(&pool);
    }
}

#[test]
fn a_panic_goes_on_at_the_caller_when_all_other_parts_are_done() {
    for threads in [1, 2, 3] {
        let pool = Pool::new(threads);
        for guilty in 0..rounds(8, 3) {
            let ran = AtomicUsize::new(0);
            let said = message(|| {
                pool.run(8, |part| match part == guilty {
                    true => throw(format!("part {part}")),
                    false => _ = ran.fetch_add(1, Relaxed),
                });
            });
            assert_eq!(said.as_deref(), Some(&*format!("part {guilty}")), "{threads} threads");
            assert_eq!(ran.into_inner(), 7, "{threads} threads");
            check_region(&pool, 8);
        }
        assert_eq!(message(|| pool.run(1, |_| throw("alone"))).as_deref(), Some("alone"));
    }
}

#[test]
fn of_many_panics_one_goes_on() {
    /// Panics when it is dropped.
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            throw("dropped");
        }
    }
    for threads in [1, 2, 8] {
        let pool = Pool::new(threads);
        for _ in 0..rounds(50, 2) {
            let said = message(|| pool.run(16, |part| throw(format!("part {part}"))));
            assert!(said.unwrap().starts_with("part "));
            let payload = catch_unwind(|| pool.run(16, |_| resume_unwind(Box::new(Bomb)))).unwrap_err();
            assert!(payload.is::<Bomb>());
            std::mem::forget(payload);
        }
        check_region(&pool, 16);
    }
}

#[test]
fn regions_inside_parts_run_on_their_own_thread() {
    let pool = Pool::new(3);
    let inner = AtomicUsize::new(0);
    for _ in 0..rounds(200, 3) {
        pool.run(5, |_| {
            let outer = thread::current().id();
            pool.run(4, |_| {
                assert_eq!(thread::current().id(), outer);
                pool.run(2, |_| _ = inner.fetch_add(1, Relaxed));
            });
        });
    }
    assert_eq!(inner.into_inner(), rounds(200, 3) * 5 * 4 * 2);
    let said = message(|| pool.run(3, |_| pool.run(3, |part| throw(format!("inner {part}")))));
    assert!(said.unwrap().starts_with("inner "));
    check_region(&pool, 3);
}

#[test]
fn many_callers_share_a_pool() {
    let pool = Pool::new(2);
    let (pool, total) = (&pool, &AtomicUsize::new(0));
    thread::scope(|scope| {
        for caller in 0..5 {
            scope.spawn(move || {
                for region in 0..rounds(4000, 10) {
                    let parts = (caller + region) % 6;
                    let sum = AtomicUsize::new(0);
                    pool.run(parts, |part| _ = sum.fetch_add(part + 1, Relaxed));
                    assert_eq!(sum.into_inner(), parts * (parts + 1) / 2);
                    total.fetch_add(1, Relaxed);
                }
            });
        }
    });
    assert_eq!(total.load(Relaxed), 5 * rounds(4000, 10));
}

#[test]
fn a_pool_can_be_dropped_at_any_moment() {
    for threads in [1, 2, 3, rounds(16, 4)] {
        for round in 0..rounds(30, 3) as u64 {
            let pool = Pool::new(threads);
            if round % 2 == 0 {
                check_region(&pool, 4);
            }
            // From "not even started" over "spinning" to "parked".
            thread::sleep(Duration::from_micros(round % 10 * 40));
            if round % 3 == 0 {
                pool.wake();
            }
            drop(pool);
        }
    }
}

#[test]
fn a_pool_moves_between_threads() {
    let pool = thread::spawn(|| Pool::new(2)).join().unwrap();
    check_region(&pool, 9);
    thread::spawn(move || check_region(&pool, 9)).join().unwrap();
}

#[test]
#[cfg_attr(miri, ignore = "about time")]
fn millions_of_regions_under_load_neither_hang_nor_lose_a_part() {
    let stop = &AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..usable_cpus() + 1 {
            scope.spawn(move || {
                while !stop.load(Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        for threads in [2, 3] {
            let pool = Pool::new(threads);
            let sum = AtomicUsize::new(0);
            let (mut expected, mut region) = (0, 0_usize);
            let start = Instant::now();
            while start.elapsed() < Duration::from_millis(1500) && region < 2_000_000 {
                let parts = region % 5;
                pool.run(parts, |part| _ = sum.fetch_add(part + region, Relaxed));
                expected += parts * region + parts * parts.saturating_sub(1) / 2;
                region += 1;
            }
            assert_eq!(sum.into_inner(), expected, "{threads} threads, {region} regions");
        }
        stop.store(true, Relaxed);
    });
}

#[test]
fn small_work_stays_on_one_thread() {
    let pool = Pool::new(4);
    for (nanoseconds, parts) in [
        (f64::NAN, 1),
        (f64::NEG_INFINITY, 1),
        (-5e9, 1),
        (0.0, 1),
        (1999.0, 1),
        (2000.0, 2),
        (3500.0, 3),
        (4000.0, 4),
        (1e9, 4),
        (f64::INFINITY, 4),
    ] {
        assert_eq!(pool.parts(nanoseconds), parts, "{nanoseconds} ns");
    }
    assert_eq!(Pool::new(1).parts(1e9), 1);
}

#[test]
fn the_best_pool_has_a_thread_per_usable_cpu() {
    assert!(usable_cpus() >= 1);
    assert_eq!(Pool::best().threads(), usable_cpus());
    assert_eq!(format!("{:?}", Pool::new(2)), "Pool { threads: 2, .. }");
}

#[test]
fn too_many_parts_are_refused() {
    let pool = Pool::new(2);
    assert!(catch_unwind(|| pool.run(u32::MAX as usize + 1, |_| ())).is_err());
    check_region(&pool, 2);
}
