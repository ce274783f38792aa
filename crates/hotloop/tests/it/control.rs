//! Start, stop, reset; and the clock.

use std::process::Command;

use hotloop::{ClockSource, scope as open};

use crate::{busy, check_sums, close, exact, ms, ns, record, scope, take_turns, undisturbed, wall_on_cpu};

#[test]
fn nothing_is_recorded_before_start_and_after_stop() {
    let _turn = take_turns();
    let (snapshot, ()) = record(exact(), || ());
    assert!(snapshot.scopes.is_empty());
    {
        open!("not started");
    }
    assert!(!hotloop::is_started());
    assert!(hotloop::snapshot().scopes.is_empty());
}

#[test]
fn a_pause_counts_nowhere() {
    let _turn = take_turns();
    undisturbed(|| {
        let (snapshot, spent) = record(exact(), || {
            open!("paused twice");
            open!("inner");
            let mut spent = busy(ms(5));
            for _ in 0..2 {
                hotloop::stop();
                busy(ms(30));
                exact().start();
                spent += busy(ms(5));
            }
            spent
        });
        check_sums(&snapshot);
        close("wall", wall_on_cpu(&snapshot), ns(spent), 3_000_000)?;
        close("outer", scope(&snapshot, "paused twice").total_ns, ns(spent), 3_000_000)?;
        close("inner", scope(&snapshot, "inner").total_ns, ns(spent), 3_000_000)
    });
}

#[test]
fn scopes_that_end_while_stopped_count_until_the_stop() {
    let _turn = take_turns();
    undisturbed(|| {
        let (snapshot, spent) = record(exact(), || {
            open!("outer");
            open!("inner");
            let spent = busy(ms(5));
            hotloop::stop();
            busy(ms(20));
            spent
        });
        check_sums(&snapshot);
        for name in ["outer", "inner"] {
            assert_eq!(scope(&snapshot, name).open_calls, 0);
            close(name, scope(&snapshot, name).total_ns, ns(spent), 1_000_000)?;
        }
        Ok(())
    });
}

#[test]
fn reset_forgets_all_but_what_is_open() {
    let _turn = take_turns();
    undisturbed(|| {
        let (snapshot, spent) = record(exact(), || {
            {
                open!("before");
            }
            open!("across");
            busy(ms(20));
            hotloop::reset();
            let spent = busy(ms(5));
            open!("after");
            spent
        });
        check_sums(&snapshot);
        assert!(snapshot.find("before").is_none());
        assert_eq!((scope(&snapshot, "across").calls, scope(&snapshot, "after").calls), (1, 1));
        close("across", scope(&snapshot, "across").total_ns, ns(spent), 1_000_000)?;
        close("wall", wall_on_cpu(&snapshot), ns(spent), 1_000_000)
    });
}

#[test]
fn reset_reaches_threads_that_sit_in_a_scope() {
    let _turn = take_turns();
    let (_, ()) = record(exact(), || {
        let (to_worker, go) = std::sync::mpsc::channel::<()>();
        let (to_main, done) = std::sync::mpsc::channel();
        let worker = std::thread::spawn(move || {
            open!("sits");
            {
                open!("done before");
            }
            to_main.send(()).unwrap();
            go.recv().unwrap();
        });
        done.recv().unwrap();
        hotloop::reset();
        let snapshot = hotloop::snapshot();
        check_sums(&snapshot);
        assert!(snapshot.find("done before").is_none(), "forgotten though its thread has not noticed the reset");
        assert_eq!(scope(&snapshot, "sits").open_calls, 1);
        to_worker.send(()).unwrap();
        worker.join().unwrap();
        assert_eq!(scope(&hotloop::snapshot(), "sits").calls, 1);
    });
}

/// Runs one test of this binary again, by the operating system's clock.
#[test]
fn the_clock_can_be_the_operating_systems() {
    let _turn = take_turns();
    let (snapshot, ()) = record(exact(), || {
        open!("timed");
    });
    assert!(snapshot.clock.ticks_per_ns > 0.0 && !snapshot.clock.why.is_empty());
    if std::env::var_os("HOTLOOP_CLOCK").is_some() {
        assert_eq!((snapshot.clock.source, snapshot.clock.ticks_per_ns), (ClockSource::Os, 1.0));
        assert_eq!(snapshot.clock.why, "HOTLOOP_CLOCK=os asks for it");
        return;
    }
    let names = [
        "control::a_pause_counts_nowhere",
        "control::the_clock_can_be_the_operating_systems",
        "threads::two_threads_in_one_scope",
        "tree::an_empty_scope_reads_nothing",
        "tree::nested_scopes_with_known_busy_times",
    ];
    let mut again = Command::new(std::env::current_exe().unwrap());
    let again = again.arg("--exact").args(names).env("HOTLOOP_CLOCK", "os").output().unwrap();
    let output = String::from_utf8_lossy(&again.stdout);
    assert!(again.status.success() && output.contains(" 5 passed"), "{output}");
}
