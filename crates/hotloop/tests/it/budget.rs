//! Sampling: exact counts, fair times, a limit that is kept.

use std::ops::Range;
use std::time::Instant;

use hotloop::{Config, scope as open};

use crate::{check_sums, close, exact, ns, record, scope, take_turns, undisturbed};

/// Some tens of nanoseconds that the compiler cannot take away.
fn little(n: u32) -> u32 {
    (0..n).fold(n, |sum, value| std::hint::black_box(sum.wrapping_mul(31).wrapping_add(value)))
}

/// Calls whose duration grows with their number, as a growing context makes them.
fn growing(call: u32) {
    std::hint::black_box(little(40 + call / 4000));
}

#[test]
fn short_scopes_are_sampled_with_exact_counts_and_fair_times() {
    let _turn = take_turns();
    const CALLS: u32 = 400_000;
    const PART: u32 = 4_000;
    undisturbed(|| {
        let bare = |calls: Range<u32>| {
            let start = Instant::now();
            calls.for_each(growing);
            ns(start.elapsed())
        };
        // Each part the least disturbed: a sampled scope misses most of what interrupts the program, for that is rare.
        let part = |first| (0..5).map(|_| bare(first..first + PART)).min().unwrap();
        let truth = (0..CALLS).step_by(PART as usize).map(part).sum();
        let work = || {
            open!("around");
            for call in 0..CALLS {
                open!("short", flops = 2);
                growing(call);
            }
        };
        let (all, ()) = record(exact(), work);
        let (sampled, ()) = record(Config::new(), work);
        check_sums(&sampled);
        let short = scope(&sampled, "short");
        assert_eq!((short.calls, short.flops, short.is_sampled), (u64::from(CALLS), 2 * u64::from(CALLS), true));
        assert!(short.timed_calls < 200_000 && short.timed_calls > 1_000, "{} timed", short.timed_calls);
        assert!(!scope(&all, "short").is_sampled && !scope(&sampled, "around").is_sampled);
        close("sampled total", short.total_ns, truth, truth / 6)?;
        // Between pieces of work the CPU hides most of a reading, but not the counting: far from the ratio of a tight loop.
        let cost = sampled.own_cost.total_ns;
        if cost * 2 > all.own_cost.total_ns {
            return Err(format!("sampling costs {cost} ns, timing all {} ns", all.own_cost.total_ns));
        }
        Ok(())
    });
}

#[test]
fn the_limit_is_kept_where_counting_allows_it() {
    let _turn = take_turns();
    undisturbed(|| {
        let (snapshot, ()) = record(Config::new(), || {
            for _ in 0..200_000 {
                open!("half a microsecond");
                std::hint::black_box(little(900));
            }
        });
        let cost = &snapshot.own_cost;
        assert_eq!(cost.budget, Some(0.02));
        if cost.share_of_wall > 0.021 {
            return Err(format!("{} of the wall time, {cost:?}", cost.share_of_wall));
        }
        Ok(())
    });
}

#[test]
fn long_scopes_are_never_sampled() {
    let _turn = take_turns();
    let (snapshot, ()) = record(Config::new(), || {
        for _ in 0..2_000 {
            open!("long");
            std::hint::black_box(little(200_000));
            for _ in 0..500 {
                open!("short");
            }
        }
    });
    let (long, short) = (scope(&snapshot, "long"), scope(&snapshot, "short"));
    assert_eq!((long.calls, long.timed_calls), (2_000, 2_000));
    assert_eq!(short.calls, 1_000_000);
    assert!(short.is_sampled);
}

#[test]
fn without_a_budget_every_call_is_timed_again() {
    let _turn = take_turns();
    let work = || {
        for _ in 0..50_000 {
            open!("again");
        }
    };
    assert!(scope(&record(Config::new(), work).0, "again").is_sampled);
    assert_eq!(scope(&record(exact(), work).0, "again").timed_calls, 50_000);
}
