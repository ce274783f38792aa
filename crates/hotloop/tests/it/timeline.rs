//! The timeline: bounded, the latest kept, the rest counted.

use hotloop::scope as open;

use crate::{busy, exact, ms, record, take_turns};

#[test]
fn keeps_the_latest_and_counts_the_lost() {
    let _turn = take_turns();
    let (snapshot, ()) = record(exact().timeline(Some(2048)), || {
        for turn in 0..10_000_u32 {
            open!("event", index = turn % 4);
        }
    });
    let [thread] = &snapshot.timeline[..] else { panic!("{} threads", snapshot.timeline.len()) };
    assert_eq!(thread.events.len(), 2047);
    assert_eq!(snapshot.lost.timeline_events, 10_000 - 2047);
    let starts: Vec<u64> = thread.events.iter().map(|event| event.start_ns).collect();
    assert!(starts.is_sorted(), "in the order of time");
    assert_eq!(snapshot.scopes[thread.events.last().unwrap().scope].index, Some(9_999 % 4));
}

#[test]
fn events_nest_in_time_as_they_do_in_the_tree() {
    let _turn = take_turns();
    let (snapshot, ()) = record(exact().timeline(Some(1024)), || {
        open!("outer");
        for _ in 0..3 {
            open!("inner");
            busy(ms(1));
        }
    });
    let events = &snapshot.timeline[0].events;
    assert_eq!(events.len(), 4, "an event for each call, at its end");
    let outer = events.last().unwrap();
    assert!(snapshot.scopes[outer.scope].name.ends_with("outer"));
    for inner in &events[..3] {
        assert_eq!(snapshot.scopes[inner.scope].parent, Some(outer.scope));
        assert!(inner.duration_ns >= 1_000_000);
        assert!(inner.start_ns >= outer.start_ns);
        assert!(inner.start_ns + inner.duration_ns <= outer.start_ns + outer.duration_ns + 1);
    }
}

#[test]
fn ended_threads_leave_their_events() {
    let _turn = take_turns();
    let (snapshot, ()) = record(exact().timeline(Some(1024)), || {
        for _ in 0..3 {
            std::thread::spawn(|| {
                open!("in a thread");
            })
            .join()
            .unwrap();
        }
    });
    assert_eq!(snapshot.timeline.len(), 3);
    assert!(snapshot.timeline.iter().all(|thread| thread.events.len() == 1));
    let ids: Vec<u64> = snapshot.timeline.iter().map(|thread| thread.thread).collect();
    assert_eq!(ids, snapshot.threads.iter().map(|thread| thread.id).collect::<Vec<_>>());
}

#[test]
fn without_a_timeline_there_is_none() {
    let _turn = take_turns();
    let (snapshot, ()) = record(exact(), || {
        open!("event");
    });
    assert!(snapshot.timeline.is_empty());
    assert_eq!(snapshot.lost.timeline_events, 0);
}

#[test]
fn a_pause_leaves_no_gap_and_no_disorder() {
    let _turn = take_turns();
    let config = exact().timeline(Some(1024));
    let (snapshot, ()) = record(config, || {
        open!("outer");
        {
            open!("before");
            busy(ms(2));
        }
        hotloop::stop();
        busy(ms(50));
        config.start();
        open!("after");
        busy(ms(2));
    });
    let event = |name: &str| {
        let events = &snapshot.timeline[0].events;
        *events.iter().find(|event| snapshot.scopes[event.scope].name.ends_with(name)).unwrap()
    };
    let (outer, before, after) = (event("outer"), event("before"), event("after"));
    assert!(outer.start_ns <= before.start_ns && before.start_ns + before.duration_ns <= after.start_ns + 1);
    assert!(after.start_ns + after.duration_ns <= outer.start_ns + outer.duration_ns + 1);
    assert!(outer.duration_ns < 40_000_000, "the pause is not in it: {outer:?}");
}

#[test]
fn another_size_keeps_the_percentiles() {
    let _turn = take_turns();
    let (snapshot, ()) = record(exact(), || {
        for _ in 0..300 {
            open!("early");
        }
        exact().timeline(Some(1 << 14)).start();
        open!("late");
    });
    let early = snapshot.find("early").unwrap();
    assert!(early.p50_ns.is_some() && early.timed_calls == 300);
}
