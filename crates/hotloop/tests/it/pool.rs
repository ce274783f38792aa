//! Work that a scope causes on other threads.

use std::future::Future;
use std::pin::pin;
use std::sync::mpsc;
use std::task::{Context, Waker};
use std::thread;
use std::time::Duration;

use hotloop::scope as open;

use crate::{busy, check_sums, close, exact, ms, ns, record, scope, take_turns, undisturbed};

fn parent_of(snapshot: &hotloop::Snapshot, name: &str) -> Option<String> {
    let scope = snapshot.scopes.iter().find(|scope| scope.name.ends_with(name))?;
    Some(snapshot.scopes[scope.parent?].name.clone())
}

#[test]
fn work_on_a_pool_hangs_below_its_cause() {
    let _turn = take_turns();
    undisturbed(|| {
        let (snapshot, (here, there)) = record(exact(), || {
            open!("request");
            open!("forward");
            let link = hotloop::current();
            fn half() -> Duration {
                open!("half");
                busy(ms(20))
            }
            let worker = thread::spawn(move || {
                let _attached = link.attach();
                half()
            });
            (half(), worker.join().unwrap())
        });
        check_sums(&snapshot);
        assert_eq!(parent_of(&snapshot, "half").as_deref(), Some("it::pool::forward"));
        let half = scope(&snapshot, "half");
        assert_eq!((half.calls, half.threads), (2, 2));
        assert_eq!(scope(&snapshot, "forward").calls, 1, "attaching is no call");
        close("both halves", half.total_ns, ns(here + there), 1_000_000)?;
        let forward = scope(&snapshot, "forward");
        if forward.total_ns < half.total_ns {
            return Err(format!("forward {} < its halves {}", forward.total_ns, half.total_ns));
        }
        Ok(())
    });
}

#[test]
fn links_outlive_their_scope_and_thread() {
    let _turn = take_turns();
    let (snapshot, ()) = record(exact(), || {
        let link = thread::spawn(|| {
            open!("cause");
            hotloop::current()
        })
        .join()
        .unwrap();
        for _ in 0..100 {
            thread::spawn(move || {
                let _attached = link.attach();
                open!("effect");
            })
            .join()
            .unwrap();
        }
        let _attached = link.attach();
        open!("effect");
    });
    check_sums(&snapshot);
    assert_eq!(scope(&snapshot, "effect").calls, 101);
    assert_eq!(snapshot.scopes.iter().filter(|scope| scope.name.ends_with("effect")).count(), 1);
    assert_eq!(parent_of(&snapshot, "effect").as_deref(), Some("it::pool::cause"));
}

#[test]
fn attaching_to_an_open_scope_of_the_same_thread_counts_its_time_once() {
    let _turn = take_turns();
    undisturbed(|| {
        let (snapshot, spent) = record(exact(), || {
            open!("own");
            let link = hotloop::current();
            open!("between");
            let _attached = link.attach();
            busy(ms(10))
        });
        check_sums(&snapshot);
        close("own", scope(&snapshot, "own").total_ns, ns(spent), 1_000_000)
    });
}

#[test]
fn a_link_taken_outside_or_while_stopped_leads_nowhere() {
    let _turn = take_turns();
    hotloop::stop();
    let stopped = hotloop::current();
    let (snapshot, ()) = record(exact(), || {
        let outside = hotloop::current();
        let _first = stopped.attach();
        let _second = outside.attach();
        open!("alone");
    });
    assert_eq!(snapshot.scopes.len(), 1);
}

#[test]
fn a_wrapped_future_hangs_below_its_cause() {
    let _turn = take_turns();
    let (snapshot, ()) = record(exact(), || {
        let (to_executor, tasks) = mpsc::channel::<std::pin::Pin<Box<dyn Future<Output = ()> + Send>>>();
        let executor = thread::spawn(move || {
            for task in tasks {
                let mut task = pin!(task);
                let _ = task.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            }
        });
        open!("handler");
        let task = hotloop::current().wrap(async {
            open!("task");
        });
        to_executor.send(Box::pin(task)).unwrap();
        drop(to_executor);
        executor.join().unwrap();
    });
    assert_eq!(parent_of(&snapshot, "task").as_deref(), Some("it::pool::handler"));
}
