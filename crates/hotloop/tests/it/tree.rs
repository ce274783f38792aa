//! Nesting, recursion, names, unwinding: the tree and its times.

use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use hotloop::{guard, scope as open};

use crate::{busy, check_sums, close, exact, ms, ns, record, scope, take_turns, undisturbed, wall_on_cpu};

#[test]
fn nested_scopes_with_known_busy_times() {
    let _turn = take_turns();
    undisturbed(|| {
        let (snapshot, (own, first, second)) = record(exact(), || {
            open!("outer");
            let own = busy(ms(10));
            let first = {
                open!("first");
                busy(ms(20))
            };
            let second = {
                open!("second");
                busy(ms(5))
            };
            (own, first, second)
        });
        check_sums(&snapshot);
        let slack = 100_000;
        let outer = scope(&snapshot, "outer");
        assert_eq!((outer.calls, scope(&snapshot, "first").calls), (1, 1));
        close("self of outer", outer.self_ns, ns(own), slack)?;
        close("first", scope(&snapshot, "first").total_ns, ns(first), slack)?;
        close("second", scope(&snapshot, "second").total_ns, ns(second), slack)?;
        close("total of outer", outer.total_ns, ns(own + first + second), 2 * slack)?;
        close("wall", wall_on_cpu(&snapshot), ns(own + first + second), 10 * slack)
    });
}

#[test]
fn statistics_of_calls_with_known_times() {
    let _turn = take_turns();
    undisturbed(|| {
        let (snapshot, mut spent) = record(exact(), || {
            let call = |number| {
                open!("call");
                ns(busy(if number < 95 { ms(1) / 10 } else { ms(2) }))
            };
            (0..100).map(call).collect::<Vec<u64>>()
        });
        spent.sort_unstable();
        let call = scope(&snapshot, "call");
        assert_eq!((call.calls, call.timed_calls, call.is_sampled), (100, 100, false));
        let slack = |truth: u64| 5_000 + (truth as f64 * 1.1 * hotloop::Snapshot::PERCENTILE_ERROR) as u64;
        for (what, got, truth) in [
            ("min", call.min_ns, spent[0]),
            ("p50", call.p50_ns.unwrap(), spent[49]),
            ("p90", call.p90_ns.unwrap(), spent[89]),
            ("p99", call.p99_ns.unwrap(), spent[98]),
            ("max", call.max_ns, spent[99]),
            ("mean", call.mean_ns() as u64, spent.iter().sum::<u64>() / 100),
        ] {
            close(what, got, truth, slack(truth))?;
        }
        Ok(())
    });
}

#[test]
fn an_empty_scope_reads_nothing() {
    let _turn = take_turns();
    undisturbed(|| {
        let (snapshot, ()) = record(exact(), || {
            open!("around");
            for _ in 0..20_000 {
                open!("empty");
            }
        });
        check_sums(&snapshot);
        let empty = scope(&snapshot, "empty");
        assert_eq!(empty.calls, 20_000);
        // The parent's own work is the loop alone: the cost of 20,000 scopes (half a millisecond) is not in it.
        let per_turn = scope(&snapshot, "around").self_ns / 20_000;
        // The OS clock takes longer to read, and not always equally long.
        let bound = if snapshot.clock.ticks_per_ns == 1.0 { 12 } else { 2 };
        // Some counters advance in steps of 10 ns: one call reads as a whole number of steps, and only the mean is exact.
        let median_bound = bound.max((snapshot.clock.resolution_ns / 2.0).ceil() as u64);
        let (mean, median) = (empty.mean_ns(), empty.p50_ns.unwrap());
        if mean > bound as f64 || median > median_bound || per_turn > 8 + bound {
            return Err(format!("an empty scope reads {mean} ns, p50 {median} ns, its parent {per_turn} ns a turn"));
        }
        Ok(())
    });
}

fn recurse(depth: u32) {
    open!("recurse");
    busy(ms(1) / 5);
    if depth > 0 {
        recurse(depth - 1);
    }
}

#[test]
fn recursion_is_counted_once() {
    let _turn = take_turns();
    let (snapshot, ()) = record(exact(), || recurse(9));
    check_sums(&snapshot);
    let recurse = scope(&snapshot, "recurse");
    assert_eq!(recurse.calls, 10);
    assert!(recurse.total_ns <= snapshot.wall_ns, "{} ns in {} ns", recurse.total_ns, snapshot.wall_ns);
    assert!(recurse.self_ns >= 10 * 195_000 && recurse.self_ns <= recurse.total_ns);
    assert_eq!(snapshot.scopes.len(), 10, "one node for each level");
}

struct Attention;
struct FeedForward;

impl Attention {
    fn forward(&self) {
        hotloop::function!();
    }
}

impl FeedForward {
    fn forward(&self) {
        hotloop::function!();
        hotloop::function!();
    }
}

mod inner {
    pub fn forward() {
        hotloop::function!();
        hotloop::scope!("named");
    }
}

#[test]
fn names_are_qualified_by_module_and_type() {
    let _turn = take_turns();
    let (snapshot, ()) = record(exact(), || {
        Attention.forward();
        FeedForward.forward();
        inner::forward();
    });
    assert_eq!(scope(&snapshot, "it::tree::Attention::forward").calls, 1);
    assert_eq!(scope(&snapshot, "it::tree::FeedForward::forward").calls, 2);
    assert_eq!(scope(&snapshot, "it::tree::inner::forward").calls, 1);
    assert_eq!(scope(&snapshot, "it::tree::inner::named").calls, 1);
    assert_eq!(scope(&snapshot, "inner::named").line, scope(&snapshot, "named").line);
    assert!(scope(&snapshot, "named").file.ends_with("tree.rs"));
}

#[test]
fn several_scopes_in_one_block_nest() {
    let _turn = take_turns();
    let (snapshot, ()) = record(exact(), || {
        open!("a");
        open!("b");
        open!("c");
        open!("c");
    });
    let depths: Vec<(&str, usize)> = snapshot.scopes.iter().map(|scope| (scope.name.as_str(), scope.depth)).collect();
    assert_eq!(depths, [("it::tree::a", 0), ("it::tree::b", 1), ("it::tree::c", 2), ("it::tree::c", 3)]);
}

#[test]
fn panics_and_early_returns_close_scopes() {
    let _turn = take_turns();
    fn early(stop: bool) -> Option<()> {
        open!("early");
        (!stop).then_some(())?;
        Some(())
    }
    let (snapshot, ()) = record(exact(), || {
        open!("top");
        let unwound = catch_unwind(AssertUnwindSafe(|| {
            open!("panics");
            open!("deeper");
            std::panic::resume_unwind(Box::new("on purpose"));
        }));
        assert!(unwound.is_err());
        early(true);
        early(false);
        open!("after");
    });
    assert_eq!(scope(&snapshot, "early").calls, 2);
    assert_eq!(scope(&snapshot, "deeper").calls, 1);
    for name in ["early", "after"] {
        let place = snapshot.scopes.iter().find(|scope| scope.name.ends_with(name)).unwrap();
        assert_eq!(place.depth, 1, "{name} hangs below top, so all that panicked was closed");
    }
    assert_eq!(snapshot.lost.unbalanced_scopes, 0);
    assert!(snapshot.scopes.iter().all(|scope| scope.open_calls == 0));
}

#[test]
fn guards_dropped_out_of_order_do_not_corrupt() {
    let _turn = take_turns();
    let (snapshot, ()) = record(exact(), || {
        {
            let outer = guard!("outer");
            let inner = guard!("inner");
            drop(outer);
            drop(inner);
        }
        std::mem::forget(guard!("forgotten"));
        let around = guard!("around");
        std::mem::forget(guard!("forgotten inside"));
        drop(around);
        open!("after");
    });
    assert!(snapshot.lost.unbalanced_scopes >= 2, "{:?}", snapshot.lost);
    let after = scope(&snapshot, "after");
    assert_eq!(after.calls, 1);
    let place = snapshot.scopes.iter().find(|scope| scope.name.ends_with("after")).unwrap();
    assert_eq!(place.parent.map(|parent| snapshot.scopes[parent].name.as_str()), Some("it::tree::forgotten"));
    check_sums(&snapshot);
}

#[test]
fn indices_tell_activations_apart() {
    let _turn = take_turns();
    let (snapshot, ()) = record(exact(), || {
        for _ in 0..3 {
            for layer in 0..4_u8 {
                open!("layer", index = layer);
                open!("matmul");
            }
        }
    });
    let mut layers: Vec<(Option<u64>, u64)> = snapshot
        .scopes
        .iter()
        .filter(|scope| scope.name.ends_with("layer"))
        .map(|scope| (scope.index, scope.calls))
        .collect();
    layers.sort_unstable();
    assert_eq!(layers, [(Some(0), 3), (Some(1), 3), (Some(2), 3), (Some(3), 3)]);
    assert_eq!(scope(&snapshot, "layer").calls, 12);
    assert_eq!(scope(&snapshot, "layer").index, None);
    assert_eq!(scope(&snapshot, "matmul").calls, 12);
}

#[test]
fn work_becomes_rates() {
    let _turn = take_turns();
    let (snapshot, ()) = record(exact(), || {
        for n in 1..=4_usize {
            open!("qkv", flops = 1_000_000 * n, bytes = 500_000_u32, tokens = 2_i64);
            busy(ms(1));
        }
        let mut late = guard!("late");
        late.add_flops(10);
        late.add_flops(20);
        late.add_bytes(7);
        late.add_tokens(1);
    });
    let qkv = scope(&snapshot, "qkv");
    assert_eq!((qkv.flops, qkv.bytes, qkv.tokens), (10_000_000, 2_000_000, 8));
    assert_eq!(qkv.gflops(), Some(10_000_000.0 / qkv.total_ns as f64));
    assert_eq!(qkv.gbytes_per_s(), Some(2_000_000.0 / qkv.total_ns as f64));
    assert!((qkv.tokens_per_s().unwrap() / (8e9 / qkv.total_ns as f64) - 1.0).abs() < 1e-9);
    let late = scope(&snapshot, "late");
    assert_eq!((late.flops, late.bytes, late.tokens), (30, 7, 1));
}

/// A short loop in which each step waits for the one before, whose end the CPU does not foresee.
#[inline(never)]
fn chained_steps() {
    let (mut value, steps) = (black_box(1_u64), black_box(400));
    for _ in 0..steps {
        value = value.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
    }
    black_box(value);
}

/// The scopes have work in them, as where the own cost is measured: back to back, empty ones cost half as much again on
/// some CPUs, and half of it on others.
#[test]
fn single_calls_are_without_the_cost_of_the_scopes_inside_them() {
    let _turn = take_turns();
    undisturbed(|| {
        let (snapshot, truth) = record(exact(), || {
            let mut truth = Duration::MAX;
            for _ in 0..50 {
                let start = Instant::now();
                (0..2_000).for_each(|_| chained_steps());
                truth = truth.min(start.elapsed());
                open!("parent");
                for _ in 0..2_000 {
                    open!("child");
                    chained_steps();
                }
            }
            ns(truth) as f64
        });
        let parent = scope(&snapshot, "parent");
        let raw = 2_000.0 * snapshot.own_cost.per_scope_ns;
        let (mean, p50) = (parent.mean_ns(), parent.p50_ns.unwrap() as f64);
        assert!(parent.min_ns as f64 <= mean && mean <= parent.max_ns as f64, "{parent:?}");
        if (p50 - truth).abs() > raw / 3.0 || p50 > mean * 1.5 + 100.0 {
            return Err(format!("p50 {p50} ns, mean {mean} ns, truth {truth} ns; the profiler took {raw} ns"));
        }
        Ok(())
    });
}

mod twin {
    pub fn decode() {
        hotloop::scope!("decode");
    }
}

#[test]
fn names_that_end_alike_are_all_found() {
    let _turn = take_turns();
    let (snapshot, ()) = record(exact(), || {
        twin::decode();
        open!("decode");
    });
    assert_eq!(snapshot.find_all("decode").len(), 2);
    assert_eq!(snapshot.find_all("twin::decode").len(), 1);
    assert_eq!(snapshot.find_all("it::tree::decode").len(), 1);
    assert!(snapshot.find_all("code").is_empty() && snapshot.find("encode").is_none());
}
