//! `tracing` spans as scopes.

#![cfg(all(feature = "enabled", feature = "tracing"))]
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use hotloop::{Config, ScopeStats, Snapshot, TracingLayer, tracing_layer};
use tracing::{Instrument, trace_span};
use tracing_subscriber::layer::SubscriberExt;

#[global_allocator]
static ALLOCATOR: hotloop::Allocator = hotloop::Allocator::system();

fn profile_of(program: impl FnOnce()) -> Snapshot {
    profile_with(tracing_layer(), program)
}

/// The profile of `program` with this layer. Profiles are of the whole process, so one is taken at a time.
fn profile_with(layer: TracingLayer, program: impl FnOnce()) -> Snapshot {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    hotloop::reset();
    Config::new().budget(None).start();
    tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), program);
    hotloop::stop();
    hotloop::snapshot()
}

#[track_caller]
fn find(snapshot: &Snapshot, name: &str) -> ScopeStats {
    let name = format!("tracing::{name}");
    let names: Vec<_> = snapshot.scopes.iter().map(|scope| &scope.name).collect();
    snapshot.find(&name).unwrap_or_else(|| panic!("no scope {name} in {names:?}"))
}

fn parent_of<'a>(snapshot: &'a Snapshot, scope: &ScopeStats) -> Option<&'a str> {
    scope.parent.map(|parent| snapshot.scopes[parent].name.as_str())
}

/// Sorted by index.
fn calls_by_index(snapshot: &Snapshot, name: &str) -> Vec<(Option<u64>, u64)> {
    let name = format!("tracing::{name}");
    let mut calls = BTreeMap::new();
    for scope in snapshot.scopes.iter().filter(|scope| scope.name == name) {
        *calls.entry(scope.index).or_default() += scope.calls;
    }
    calls.into_iter().collect()
}

#[test]
fn spans_are_scopes() {
    let snapshot = profile_of(|| {
        for layer in 0..3_usize {
            trace_span!("block", layer).in_scope(|| {
                trace_span!("attention").in_scope(|| {
                    hotloop::scope!("inside");
                });
            });
        }
    });
    assert_eq!(calls_by_index(&snapshot, "block"), [(Some(0), 1), (Some(1), 1), (Some(2), 1)]);
    let block = find(&snapshot, "block");
    assert!(block.total_ns > 0);
    assert_eq!((block.polls, block.elapsed_ns), (0, 0));
    assert!(block.file.ends_with("tracing.rs"));
    assert_eq!(find(&snapshot, "attention").calls, 3);
    for scope in snapshot.scopes.iter().filter(|scope| scope.name == "tracing::inside") {
        assert_eq!(parent_of(&snapshot, scope), Some("tracing::attention"));
    }
}

#[test]
fn the_index_is_the_first_of_the_known_fields() {
    let snapshot = profile_of(|| {
        drop(trace_span!("fields", i = 1, index = 2_i64, layer = 3_u8).entered());
        drop(trace_span!("fields", i = 4, index = 5).entered());
        drop(trace_span!("fields", size = 6, layer = -7).entered());
        drop(trace_span!("fields", layer = "eight").entered());
        let late = trace_span!("fields", layer = tracing::field::Empty);
        late.record("layer", 9);
        drop(late.entered());
    });
    let expected = [(None, 2), (Some(3), 1), (Some(5), 1), (Some(9), 1)];
    assert_eq!(calls_by_index(&snapshot, "fields"), expected);
}

#[test]
fn entries_can_be_polls_or_calls() {
    let enter_thrice = || {
        let span = trace_span!("again");
        for _ in 0..3 {
            drop(span.enter());
        }
    };
    let polls = find(&profile_of(enter_thrice), "again");
    assert_eq!((polls.calls, polls.polls), (1, 3));

    let calls = find(&profile_with(tracing_layer().each_entry_is_a_call(), enter_thrice), "again");
    assert_eq!((calls.calls, calls.polls), (3, 0));
}

/// Ready when it is polled again.
struct Pending(bool);

impl Future for Pending {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<()> {
        let was_polled = std::mem::replace(&mut self.0, true);
        if was_polled { Poll::Ready(()) } else { Poll::Pending }
    }
}

#[test]
fn an_instrumented_future_is_one_call() {
    const PAUSE: Duration = Duration::from_millis(20);
    let snapshot = profile_of(|| {
        let task = async {
            Pending(false).await;
            Pending(false).await;
        };
        let mut task = Box::pin(task.instrument(trace_span!("task")));
        let mut poll = || task.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        let subscriber = tracing::dispatcher::get_default(Clone::clone);
        assert!(poll().is_pending());
        thread::sleep(PAUSE);
        // On another thread, as an executor would.
        thread::scope(|scope| {
            let polled = scope.spawn(|| tracing::dispatcher::with_default(&subscriber, &mut poll));
            assert!(polled.join().unwrap().is_pending());
        });
        thread::sleep(PAUSE);
        assert!(poll().is_ready());
    });
    let task = find(&snapshot, "task");
    // Three polls, and `tracing` enters the span once more to drop the future.
    assert_eq!((task.calls, task.polls), (1, 4));
    let waited = Duration::from_nanos(task.elapsed_ns.saturating_sub(task.total_ns));
    assert!(waited >= PAUSE * 2 - Duration::from_millis(1), "{waited:?}");
}

#[test]
fn exits_may_come_in_any_order() {
    let snapshot = profile_of(|| {
        let [a, b, c] = [trace_span!("a"), trace_span!("b"), trace_span!("c")];
        let (in_a, in_b, in_c) = (a.enter(), b.enter(), c.enter());
        drop(in_b);
        {
            hotloop::scope!("after b");
        }
        drop(in_a);
        {
            hotloop::scope!("after a");
        }
        drop(in_c);
        hotloop::scope!("after all");
    });
    for name in ["a", "b", "c"] {
        assert_eq!(find(&snapshot, name).calls, 1, "{name}");
    }
    let path = |name: &str| {
        let name = format!("tracing::{name}");
        let mut at = snapshot.scopes.iter().position(|scope| scope.name == name);
        let mut path = Vec::new();
        while let Some(scope) = at.map(|at| &snapshot.scopes[at]) {
            path.push(scope.name.trim_start_matches("tracing::"));
            at = scope.parent;
        }
        path
    };
    assert_eq!(path("after b"), ["after b", "c", "a"]);
    assert_eq!(path("after a"), ["after a", "c"]);
    assert_eq!(path("after all"), ["after all"]);
}

#[test]
fn a_span_entered_twice_at_once_is_nested() {
    let snapshot = profile_of(|| {
        let span = trace_span!("twice");
        let outer = span.enter();
        drop(span.enter());
        {
            hotloop::scope!("still in it");
        }
        drop(outer);
        hotloop::scope!("after it");
    });
    assert_eq!(parent_of(&snapshot, &scope(&snapshot, "still in it")), Some("tracing::twice"));
    assert_eq!(parent_of(&snapshot, &scope(&snapshot, "after it")), None);
}

fn scope(snapshot: &Snapshot, name: &str) -> ScopeStats {
    let name = format!("tracing::{name}");
    snapshot.scopes.iter().find(|scope| scope.name == name).unwrap().clone()
}

#[test]
fn a_span_allocates_nothing_once_the_tables_have_grown() {
    let snapshot = profile_of(|| {
        let kept = trace_span!("kept");
        let spans = |rounds: u64| {
            for i in 0..rounds {
                kept.in_scope(|| trace_span!("made", i = i % 8).in_scope(|| {}));
            }
        };
        spans(1000);
        hotloop::scope!("steady");
        spans(1000);
    });
    let steady = find(&snapshot, "steady");
    assert_eq!(steady.allocs_total.allocs, 0);
}
