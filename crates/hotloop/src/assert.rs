//! Assertions for tests: allocations and times of scopes.

use std::panic::Location;
use std::time::Duration;

use crate::alloc::{self, AllocationCount};
use crate::snapshot::{ScopeStats, Snapshot};

/// Runs a block and panics if the calling thread allocates in it. Works whether or not the profiler is started.
///
/// ```
/// # #[global_allocator] static ALLOCATOR: hotloop::Allocator = hotloop::Allocator::system();
/// let mut sum = 0;
/// hotloop::assert_no_alloc!({ sum += 1 });
/// ```
///
/// `return`, `?`, `break` and `continue` in the block do what they do around it; what was allocated until then is checked
/// as well. A panic in the block stays the panic that it is, whatever was allocated.
#[macro_export]
macro_rules! assert_no_alloc {
    ($block:expr) => {{
        let check = $crate::__private::NoAlloc::begin();
        // A block that always leaves early is in order.
        #[allow(clippy::diverging_sub_expression)]
        let result = $block;
        #[allow(unreachable_code)]
        check.end();
        result
    }};
}

/// Panics if a scope (and all below it) made more allocations, over all its calls, than the number given.
///
/// ```
/// # #[global_allocator] static ALLOCATOR: hotloop::Allocator = hotloop::Allocator::system();
/// hotloop::start();
/// {
///     hotloop::scope!("decode");
/// }
/// hotloop::assert_allocs!("decode" <= 0);
/// ```
#[macro_export]
macro_rules! assert_allocs {
    ($scope:literal <= $most:expr) => {
        $crate::__private::check_allocs(&$crate::snapshot(), $scope, $most)
    };
}

/// Panics if a scope took longer than the [`Duration`] given: `mean`, `min`, `max`, `p50`, `p90`, `p99` or `total`.
///
/// ```
/// # use std::time::Duration;
/// hotloop::start();
/// {
///     hotloop::scope!("decode");
/// }
/// hotloop::assert_time!("decode", p99 <= Duration::from_millis(5));
/// ```
#[macro_export]
macro_rules! assert_time {
    ($scope:literal, $statistic:ident <= $most:expr) => {
        $crate::__private::check_time(&$crate::snapshot(), $scope, ::core::stringify!($statistic), $most)
    };
}

const NOT_ENABLED: &str = "hotloop is built without its feature `enabled`, so this cannot be checked; build with `--features hotloop/enabled`";
const NOT_INSTALLED: &str = "hotloop::Allocator is not the global allocator of this program, so allocations cannot be checked; add\n\
     #[global_allocator] static ALLOCATOR: hotloop::Allocator = hotloop::Allocator::system();";

#[track_caller]
fn require_enabled() {
    if !crate::ENABLED {
        panic!("{NOT_ENABLED}");
    }
}

#[track_caller]
fn require_allocator() {
    require_enabled();
    assert!(alloc::is_installed(), "{NOT_INSTALLED}");
}

/// The work of [`assert_no_alloc!`](crate::assert_no_alloc): lives as long as the block is being run.
#[derive(Debug)]
#[must_use]
pub struct NoAlloc {
    watch: AllocationCount,
    begun_at: &'static Location<'static>,
    has_ended: bool,
}

impl NoAlloc {
    /// The block begins.
    #[track_caller]
    pub fn begin() -> NoAlloc {
        require_allocator();
        NoAlloc { watch: AllocationCount::begin(), begun_at: Location::caller(), has_ended: false }
    }

    /// The block was run to its end. Apart from leaving it early, because only here the panic can have the place of the
    /// assertion as its own.
    #[track_caller]
    pub fn end(mut self) {
        self.has_ended = true;
        let allocations = self.watch.allocations();
        assert!(allocations == 0, "{allocations} {} where none are allowed", plural(allocations));
    }
}

impl Drop for NoAlloc {
    fn drop(&mut self) {
        let allocations = self.watch.allocations();
        // A second panic would abort the program, and nobody would read the first.
        if self.has_ended || allocations == 0 || std::thread::panicking() {
            return;
        }
        panic!(
            "{allocations} {} where none are allowed, before the block of assert_no_alloc! at {} was left early",
            plural(allocations),
            self.begun_at
        );
    }
}

/// The work of [`assert_allocs!`](crate::assert_allocs).
#[track_caller]
pub fn check_allocs(snapshot: &Snapshot, name: &str, most: u64) {
    require_allocator();
    let scope = find(snapshot, name);
    let made = scope.allocs_total.allocs + scope.allocs_total.reallocs;
    assert!(
        made <= most,
        "scope `{}` made {made} {} ({} bytes) in {} calls; at most {most} are allowed",
        scope.name,
        plural(made),
        scope.allocs_total.alloc_bytes,
        scope.calls,
    );
}

/// The work of [`assert_time!`](crate::assert_time).
#[track_caller]
pub fn check_time(snapshot: &Snapshot, name: &str, statistic: &str, most: Duration) {
    require_enabled();
    let scope = find(snapshot, name);
    let Some(took) = statistic_of(&scope, statistic) else {
        panic!(
            "`{statistic}` of scope `{}` is not measured; known are mean, min, max, p50, p90, p99, total",
            scope.name
        );
    };
    assert!(
        took <= most,
        "scope `{}` took {took:?} ({statistic} of {} calls); at most {most:?} are allowed",
        scope.name,
        scope.calls,
    );
}

fn plural(n: u64) -> &'static str {
    if n == 1 { "allocation or reallocation" } else { "allocations or reallocations" }
}

fn statistic_of(scope: &ScopeStats, statistic: &str) -> Option<Duration> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time, never negative")]
    let ns = match statistic {
        "mean" => Some(scope.mean_ns() as u64),
        "min" => Some(scope.min_ns),
        "max" => Some(scope.max_ns),
        "p50" => scope.p50_ns,
        "p90" => scope.p90_ns,
        "p99" => scope.p99_ns,
        "total" => Some(scope.total_ns),
        _ => None,
    };
    ns.map(Duration::from_nanos)
}

#[track_caller]
fn find(snapshot: &Snapshot, name: &str) -> ScopeStats {
    let names = |scopes: &[ScopeStats]| scopes.iter().map(|scope| scope.name.as_str()).collect::<Vec<_>>().join(", ");
    let mut found = snapshot.find_all(name);
    match (found.len(), found.pop()) {
        (1, Some(scope)) => scope,
        (_, Some(last)) => {
            found.push(last);
            panic!("several scopes are called `{name}`, name one of them in full: {}", names(&found))
        }
        (_, None) if snapshot.scopes.is_empty() => {
            panic!("no scope `{name}` was recorded, nor any other: was hotloop::start() called before?")
        }
        (_, None) => panic!("no scope `{name}` was recorded; recorded were: {}", names(&snapshot.by_name())),
    }
}
