//! Programs whose truth is known, and what the profiler says of them.
#![cfg(feature = "enabled")]
#![allow(clippy::print_stderr, reason = "a test says what it skips")]

mod bounds;
mod budget;
mod control;
#[cfg(not(miri))]
mod environment;
mod json;
mod misuse;
mod on_cpu;
mod pool;
mod report;
mod threads;
mod timeline;
mod tree;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hotloop::{Config, ScopeStats, Snapshot};

use on_cpu::time_on_cpu;

/// The profiler is one per process: tests that use it take turns.
fn take_turns() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Times every call: what most tests want.
fn exact() -> Config {
    Config::new().budget(None)
}

/// Records what `work` does, from a clean slate.
fn record<R>(config: Config, work: impl FnOnce() -> R) -> (Snapshot, R) {
    hotloop::stop();
    hotloop::reset();
    config.start();
    let result = work();
    hotloop::stop();
    (hotloop::snapshot(), result)
}

/// The scope of this name, summed over the tree.
#[track_caller]
fn scope(snapshot: &Snapshot, name: &str) -> ScopeStats {
    match snapshot.find(name) {
        Some(scope) => scope,
        None => panic!("no scope {name} in\n{}", snapshot.report(50)),
    }
}

/// Works for at least this long and returns how long it really was: on a CPU, as scopes are timed.
fn busy(for_at_least: Duration) -> Duration {
    let start = time_on_cpu();
    while time_on_cpu() - start < for_at_least {
        std::hint::spin_loop();
    }
    time_on_cpu() - start
}

/// The time that was recorded, without that in which the only thread had no CPU.
fn wall_on_cpu(snapshot: &Snapshot) -> u64 {
    snapshot.wall_ns - snapshot.waiting_ns.unwrap_or(0)
}

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap()
}

/// Tries several times what a busy machine may disturb; disturbance never makes a wrong number right.
#[track_caller]
fn undisturbed(check: impl Fn() -> Result<(), String>) {
    let mut failures = Vec::new();
    for _ in 0..20 {
        match check() {
            Ok(()) => return,
            Err(failure) => failures.push(failure),
        }
        // What disturbs mostly lasts for some tens of milliseconds.
        std::thread::sleep(ms(50));
    }
    panic!("never right in 20 tries:\n{}", failures.join("\n"));
}

/// Whether `got` lies within `slack` of `expected`, both in nanoseconds.
fn close(what: &str, got: u64, expected: u64, slack: u64) -> Result<(), String> {
    if got.abs_diff(expected) <= slack {
        Ok(())
    } else {
        Err(format!("{what}: {got} ns, expected {expected} +- {slack}"))
    }
}

/// Self times sum to totals, children fit into parents, nothing exceeds the time there was.
#[track_caller]
fn check_sums(snapshot: &Snapshot) {
    for (place, scope) in snapshot.scopes.iter().enumerate() {
        let children = snapshot.scopes.iter().filter(|child| child.parent == Some(place));
        let below: u64 = children.map(|child| child.total_ns).sum();
        assert_eq!(scope.self_ns + below, scope.total_ns, "{}", scope.name);
        assert!(scope.parent.is_none_or(|parent| parent < place));
    }
    let parts: u64 = snapshot.scopes.iter().map(|scope| scope.self_ns).sum();
    let parts = parts + snapshot.outside_ns + snapshot.own_cost.total_ns + snapshot.waiting_ns.unwrap_or(0);
    let whole: u64 = snapshot.threads.iter().map(|thread| thread.wall_ns).sum();
    // Every scope is rounded to a whole nanosecond.
    let rounding = 2 * (snapshot.scopes.len() + snapshot.threads.len()) as u64;
    assert!(parts.abs_diff(whole) <= rounding, "parts {parts} ns, threads {whole} ns");
}
