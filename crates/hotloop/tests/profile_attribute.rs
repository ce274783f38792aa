//! Every form of `#[profile]`, used as a program would.

#![cfg(feature = "enabled")]
#![forbid(unsafe_code)]

use std::cell::Cell;
use std::future::Future;
use std::num::ParseIntError;
use std::panic::catch_unwind;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use hotloop::{Config, ScopeStats, Snapshot, profile};

/// The profile of `program`. Profiles are of the whole process, so one is taken at a time.
fn profile_of(program: impl FnOnce()) -> Snapshot {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    hotloop::reset();
    Config::new().budget(None).start();
    program();
    hotloop::stop();
    hotloop::snapshot()
}

#[track_caller]
fn find(snapshot: &Snapshot, name: &str) -> ScopeStats {
    let name = format!("{}::{name}", module_path!());
    let names: Vec<_> = snapshot.scopes.iter().map(|scope| &scope.name).collect();
    snapshot.find(&name).unwrap_or_else(|| panic!("no scope {name} in {names:?}"))
}

#[track_caller]
fn parent_of(snapshot: &Snapshot, name: &str) -> Option<String> {
    let name = format!("{}::{name}", module_path!());
    let scope = snapshot.scopes.iter().find(|scope| scope.name == name).expect(&name);
    scope.parent.map(|parent| snapshot.scopes[parent].name.clone())
}

fn work(duration: Duration) {
    let start = Instant::now();
    while start.elapsed() < duration {
        std::hint::spin_loop();
    }
}

const MILLISECOND: Duration = Duration::from_millis(1);

mod functions {
    use super::*;

    #[profile]
    fn plain() {
        work(MILLISECOND);
    }

    #[test]
    fn a_call_is_counted_and_timed() {
        let snapshot = profile_of(|| {
            plain();
            plain();
        });
        let plain = find(&snapshot, "plain");
        assert_eq!(plain.calls, 2);
        assert!(plain.total_ns + plain.waiting_ns >= 2_000_000, "{}", plain.total_ns);
        assert!(plain.file.ends_with("profile_attribute.rs"), "{}", plain.file);
    }

    #[track_caller]
    fn find(snapshot: &Snapshot, name: &str) -> ScopeStats {
        super::find(snapshot, &format!("functions::{name}"))
    }

    #[profile]
    fn patterns((a, b): (u32, u32), [first, .., last]: [u32; 3], _: &str, mut d: u32) -> u32 {
        d += 1;
        a + b + first + last + d
    }

    #[profile]
    fn generic<T, const N: usize>(items: [T; N], sum: impl Fn(T) -> u32) -> u32
    where
        T: Copy,
    {
        items.map(sum).iter().sum()
    }

    #[profile]
    fn returns_closure<F: Fn(u32) -> u32>(f: F) -> impl Fn(u32) -> u32 {
        move |x| f(f(x))
    }

    #[profile]
    extern "C" fn foreign(x: i32) -> i32 {
        x + 1
    }

    #[profile]
    fn inner_attribute() -> u32 {
        #![allow(unused_variables)]
        let unused = 1;
        2
    }

    #[test]
    fn all_kinds_of_signatures_work() {
        let snapshot = profile_of(|| {
            assert_eq!(patterns((1, 2), [3, 4, 5], "", 6), 18);
            assert_eq!(generic([1_u8, 2], u32::from), 3);
            assert_eq!(generic(["a"], |_| 1), 1);
            assert_eq!(returns_closure(|x| 2 * x)(1), 4);
            assert_eq!(foreign(1), 2);
            assert_eq!(inner_attribute(), 2);
        });
        for name in ["patterns", "returns_closure", "foreign", "inner_attribute"] {
            assert_eq!(find(&snapshot, name).calls, 1, "{name}");
        }
        assert_eq!(find(&snapshot, "generic").calls, 2);
    }

    #[profile]
    fn parse(text: &str) -> Result<u32, ParseIntError> {
        if text.is_empty() {
            return Ok(0);
        }
        let number: u32 = text.parse()?;
        Ok(number + 1)
    }

    #[profile]
    fn fails() {
        panic!("on purpose");
    }

    #[test]
    fn every_way_out_closes_the_scope() {
        let snapshot = profile_of(|| {
            assert_eq!(parse(""), Ok(0));
            assert!(parse("x").is_err());
            assert_eq!(parse("1"), Ok(2));
            assert!(catch_unwind(fails).is_err());
            plain();
        });
        assert_eq!(find(&snapshot, "parse").calls, 3);
        assert_eq!(find(&snapshot, "fails").calls, 1);
        assert_eq!(parent_of(&snapshot, "functions::plain"), None);
    }

    #[profile]
    fn outer() {
        plain();
    }

    #[test]
    fn a_call_stands_below_its_caller() {
        let snapshot = profile_of(outer);
        assert_eq!(parent_of(&snapshot, "functions::plain"), Some(find(&snapshot, "outer").name));
    }
}

mod methods {
    use super::*;

    struct Attention;
    struct FeedForward {
        calls: u32,
    }

    trait Layer {
        fn run(&self) -> u32;
        fn name(&self) -> String {
            String::new()
        }
    }

    impl Attention {
        #[profile]
        fn forward(&self) -> u32 {
            1
        }
    }

    impl FeedForward {
        #[profile]
        fn forward(&mut self) -> &mut Self {
            self.calls += 1;
            self
        }

        #[profile]
        fn consume(self) -> u32 {
            self.calls
        }
    }

    impl Layer for Attention {
        #[profile]
        fn run(&self) -> u32 {
            self.forward()
        }
    }

    impl Layer for FeedForward {
        #[profile]
        fn run(&self) -> u32 {
            self.calls
        }
    }

    #[test]
    fn methods_of_two_types_are_two_scopes() {
        let snapshot = profile_of(|| {
            let mut feed_forward = FeedForward { calls: 0 };
            Attention.forward();
            assert_eq!(feed_forward.forward().forward().calls, 2);
            assert_eq!(feed_forward.consume(), 2);
        });
        assert_eq!(find(&snapshot, "methods::Attention::forward").calls, 1);
        assert_eq!(find(&snapshot, "methods::FeedForward::forward").calls, 2);
        assert_eq!(find(&snapshot, "methods::FeedForward::consume").calls, 1);
    }

    #[test]
    fn methods_of_a_trait_are_scopes_of_their_type() {
        let snapshot = profile_of(|| {
            assert_eq!(Attention.run(), 1);
            assert_eq!(FeedForward { calls: 2 }.run(), 2);
            assert_eq!(Attention.name(), "");
        });
        for name in ["Attention", "FeedForward"] {
            let is_it = |scope: &&ScopeStats| scope.name.contains(name) && scope.name.ends_with("::run");
            let calls: Vec<_> = snapshot.scopes.iter().filter(is_it).map(|scope| scope.calls).collect();
            assert_eq!(calls, [1], "{name}");
        }
    }
}

mod arguments {
    use super::*;

    const BY_CONSTANT: &str = "by constant";

    thread_local! {
        static EVALUATIONS: Cell<u32> = const { Cell::new(0) };
    }

    fn evaluated<A, B>(value: u64) -> u64 {
        EVALUATIONS.set(EVALUATIONS.get() + 1);
        value + size_of::<A>() as u64 + size_of::<B>() as u64
    }

    #[profile("by literal")]
    fn named_by_literal() {}

    #[profile(BY_CONSTANT, index = layer)]
    fn named_by_constant(layer: u8) {
        let _ = layer;
    }

    #[profile(index = evaluated::<(), ()>(3), flops = 2 * x.len(), bytes = size_of_val(x), tokens = 1_u8,)]
    fn counted(x: &[f32]) -> usize {
        x.len()
    }

    macro_rules! make {
        ($visibility:vis $function:ident $body:block $name:literal) => {
            #[profile($name, index = 1)]
            $visibility fn $function() -> u8 $body
        };
        ($item:item) => {
            #[profile]
            $item
        };
    }
    make!(pub(super) from_parts { 3 } "from parts");
    make!(
        fn from_item() -> u8 {
            4
        }
    );

    #[track_caller]
    fn find(snapshot: &Snapshot, name: &str) -> ScopeStats {
        super::find(snapshot, &format!("arguments::{name}"))
    }

    #[test]
    fn a_name_is_a_literal_or_a_constant() {
        let snapshot = profile_of(|| {
            named_by_literal();
            named_by_constant(3);
            named_by_constant(4);
        });
        assert_eq!(find(&snapshot, "by literal").calls, 1);
        assert_eq!(find(&snapshot, "by constant").calls, 2);
        let mut indices: Vec<_> = snapshot.scopes.iter().filter_map(|scope| scope.index).collect();
        indices.sort_unstable();
        assert_eq!(indices, [3, 4]);
    }

    #[test]
    fn work_is_added_up() {
        let snapshot = profile_of(|| {
            counted(&[1.0; 5]);
            counted(&[1.0; 6]);
        });
        let counted = find(&snapshot, "counted");
        assert_eq!((counted.flops, counted.bytes, counted.tokens), (22, 44, 2));
        assert_eq!(EVALUATIONS.get(), 2);
    }

    #[test]
    fn nothing_is_evaluated_without_a_profile() {
        let mut evaluations = 0;
        profile_of(|| {
            hotloop::stop();
            counted(&[]);
            evaluations = EVALUATIONS.get();
        });
        assert_eq!(evaluations, 0);
    }

    #[test]
    fn functions_made_by_macros_can_have_it() {
        let snapshot = profile_of(|| {
            assert_eq!(from_parts(), 3);
            assert_eq!(from_item(), 4);
        });
        assert_eq!(find(&snapshot, "from parts").calls, 1);
        assert_eq!(find(&snapshot, "from_item").calls, 1);
    }
}

/// Ready when it is polled again.
struct Pending(bool);

fn pending() -> Pending {
    Pending(false)
}

impl Future for Pending {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<()> {
        let was_polled = std::mem::replace(&mut self.0, true);
        if was_polled { Poll::Ready(()) } else { Poll::Pending }
    }
}

fn poll<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    loop {
        if let Poll::Ready(output) = poll(future.as_mut()) {
            return output;
        }
    }
}

#[path = "profile_attribute/async_functions.rs"]
mod async_functions;
