//! Async functions, polled by hand.

use super::*;

/// Between two polls of [`poll_on_two_threads`].
const PAUSE: Duration = Duration::from_millis(20);

/// Polls on a thread, then on another one, in turns, with a pause between.
fn poll_on_two_threads<T: Send>(future: impl Future<Output = T> + Send) -> T {
    let future = Mutex::new(Box::pin(future));
    let turn = Mutex::new(0_usize);
    let result = Mutex::new(None);
    let worker = |own: usize| {
        while result.lock().unwrap().is_none() {
            let mut turn = turn.lock().unwrap();
            if *turn % 2 == own && result.lock().unwrap().is_none() {
                if *turn > 0 {
                    thread::sleep(PAUSE);
                }
                if let Poll::Ready(output) = poll(future.lock().unwrap().as_mut()) {
                    *result.lock().unwrap() = Some(output);
                }
                *turn += 1;
            }
            drop(turn);
            thread::yield_now();
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| worker(0));
        scope.spawn(|| worker(1));
    });
    result.into_inner().unwrap().unwrap()
}

#[track_caller]
fn find(snapshot: &Snapshot, name: &str) -> ScopeStats {
    super::find(snapshot, &format!("async_functions::{name}"))
}

#[profile(index = request)]
async fn four_polls(request: usize) -> usize {
    for _ in 0..3 {
        work(5 * MILLISECOND);
        pending().await;
    }
    work(5 * MILLISECOND);
    request
}

#[profile(index = layer)]
async fn signed_index(layer: i32) -> i32 {
    pending().await;
    layer
}

#[test]
fn negative_indices_of_futures_share_a_row() {
    let snapshot = profile_of(|| {
        for layer in [-1, -2, 3] {
            assert_eq!(poll_on_two_threads(signed_index(layer)), layer);
        }
    });
    assert_eq!(find(&snapshot, "signed_index").calls, 3);
    let other = snapshot.scopes.iter().find(|scope| scope.is_other_index).expect("the row of other indices");
    assert_eq!((other.calls, other.polls), (2, 4));
    // Once per call, however often it is polled.
    assert_eq!(snapshot.lost.calls_with_other_index, 2);
}

#[test]
fn a_future_that_wanders_is_one_call() {
    let snapshot = profile_of(|| assert_eq!(poll_on_two_threads(four_polls(7)), 7));
    let scope = find(&snapshot, "four_polls");
    assert_eq!((scope.calls, scope.polls), (1, 4));
    // It spins by the clock, also while it waits for a CPU.
    let busy = Duration::from_nanos(scope.total_ns + scope.waiting_ns);
    let elapsed = Duration::from_nanos(scope.elapsed_ns);
    assert!(busy >= 20 * MILLISECOND, "{busy:?}");
    // The clock's scale is known to a small part of a per cent.
    assert!(elapsed >= busy + PAUSE * 3 - MILLISECOND, "{busy:?} of {elapsed:?}");
    let with_index = snapshot.scopes.iter().filter(|scope| scope.index == Some(7));
    assert_eq!(with_index.map(|scope| scope.calls).sum::<u64>(), 1);
}

struct Server {
    name: String,
}

impl Server {
    #[profile("answer")]
    async fn answer(&self, mut question: String, _: u8) -> Result<&str, Box<dyn std::error::Error>> {
        if question.is_empty() {
            return Err("nothing asked".into());
        }
        pending().await;
        question.push('1');
        let _number: u32 = question.parse()?;
        Ok(&self.name)
    }

    #[profile]
    async fn callback(&self) -> impl Fn() -> usize {
        let length = self.name.len();
        move || length
    }

    #[profile]
    fn boxed(&self) -> Pin<Box<dyn Future<Output = usize> + Send + '_>> {
        Box::pin(async move {
            pending().await;
            self.name.len()
        })
    }
}

#[test]
fn all_kinds_of_signatures_and_ways_out_work() {
    let name = "server".to_owned();
    let server = Server { name };
    let snapshot = profile_of(|| {
        assert_eq!(block_on(server.answer("1".to_owned(), 0)).unwrap(), "server");
        assert!(block_on(server.answer(String::new(), 0)).is_err());
        assert!(block_on(server.answer("x".to_owned(), 0)).is_err());
        assert_eq!(block_on(server.callback())(), 6);
        assert_eq!(block_on(server.boxed()), 6);
    });
    let answer = find(&snapshot, "answer");
    assert_eq!((answer.calls, answer.polls), (3, 5));
    assert_eq!(find(&snapshot, "Server::callback").calls, 1);
    let boxed = find(&snapshot, "Server::boxed");
    assert_eq!((boxed.calls, boxed.polls), (1, 2));
}

#[profile]
async fn inner() {
    pending().await;
    pending().await;
}

#[profile]
async fn outer() {
    inner().await;
    sibling();
    inner().await;
}

#[profile]
fn sibling() {}

#[test]
fn awaited_futures_stand_below_their_caller() {
    let snapshot = profile_of(|| poll_on_two_threads(outer()));
    let outer = find(&snapshot, "outer");
    assert_eq!((outer.calls, outer.polls), (1, 5));
    assert_eq!(find(&snapshot, "inner").calls, 2);
    for name in ["inner", "sibling"] {
        let name = format!("async_functions::{name}");
        assert_eq!(parent_of(&snapshot, &name), Some(outer.name.clone()), "{name}");
    }
}

#[test]
fn a_cancelled_future_counts_until_it_was_dropped() {
    let snapshot = profile_of(|| {
        let mut future = Box::pin(four_polls(1));
        assert!(poll(future.as_mut()).is_pending());
        drop(future);
        drop(four_polls(2)); // never polled: never called
        sibling();
    });
    let scope = find(&snapshot, "four_polls");
    assert_eq!((scope.calls, scope.polls), (1, 1));
    assert!(scope.total_ns + scope.waiting_ns >= 5_000_000, "{}", scope.total_ns);
    assert_eq!(parent_of(&snapshot, "async_functions::sibling"), None);
}

#[profile]
async fn fails() {
    pending().await;
    panic!("on purpose");
}

#[test]
fn a_panic_in_a_poll_closes_the_scope() {
    let snapshot = profile_of(|| {
        assert!(catch_unwind(|| block_on(fails())).is_err());
        sibling();
    });
    assert_eq!(find(&snapshot, "fails").calls, 1);
    assert_eq!(parent_of(&snapshot, "async_functions::sibling"), None);
}

#[profile]
async fn with_scopes() {
    {
        hotloop::scope!("before");
    }
    pending().await;
    let guard = hotloop::guard!("dropped");
    drop(guard);
    pending().await;
    hotloop::scope!("after");
    drop(async { pending().await });
}

#[test]
fn scopes_between_awaits_stand_below_the_function() {
    let snapshot = profile_of(|| poll_on_two_threads(with_scopes()));
    for name in ["before", "dropped", "after"] {
        let name = format!("async_functions::{name}");
        assert_eq!(parent_of(&snapshot, &name), Some(find(&snapshot, "with_scopes").name), "{name}");
    }
}
